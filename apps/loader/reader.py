"""Has files read by a process of its own, which may run out of time or memory or crash."""

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from apps.loader import wire
from apps.loader.errors import Unreadable
from apps.loader.file import Reading
from apps.loader.limits import MIB, Limits
from apps.loader.picture import Picture, drawn
from apps.loader.worker import MODULE

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
LARGE = 4 * MIB
"""Of an answer: it takes some sixteen times as much to understand."""
_OUT_OF_MEMORY = 3
_READ = 1 << 20


class Reader:
    """Reads file after file; use it in a `with` block."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: Any) -> None:
        self._end()

    @property
    def pid(self) -> int | None:
        """The reading process, if there is one now."""
        return self._process.pid if self._process else None

    def read(self, path: Path) -> Reading:
        """The file at `path`, or raises `Unreadable`; the next file is read in any case."""
        return self._told({"path": str(path.resolve())}, wire.decode)

    def picture(self, path: Path, page: int) -> Picture:
        """A page (from 1) of a file that was read, or raises `Unreadable`."""
        return self._told({"path": str(path.resolve()), "page": page}, drawn)

    def _told(self, request: dict[str, Any], meaning: Callable[[bytes], T]) -> T:
        line = self._ask(request)
        try:
            return meaning(line)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # Whoever opens strangers' files may have become a stranger's.
            self._end()
            raise Unreadable(
                "crashed", "the reader's answer is none; print the file anew"
            ) from None

    def _ask(self, request: dict[str, Any]) -> bytes:
        process = self._process or self._start()
        deadline = time.monotonic() + self.limits.seconds
        assert process.stdin is not None
        try:
            line = json.dumps(request | {"limits": asdict(self.limits)})
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        return self._line(process, deadline)

    def _line(self, process: "subprocess.Popen[bytes]", deadline: float) -> bytes:
        """The answer; a process that is too slow or gone is buried."""
        assert process.stdout is not None
        parts: list[bytes] = []
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not parts or not parts[-1].endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    self._end()
                    raise Unreadable(
                        "too slow", f"not read within {self.limits.seconds:g} s; print it anew"
                    )
                part = os.read(process.stdout.fileno(), _READ)
                if not part:
                    raise self._ended()
                parts.append(part)
                if sum(map(len, parts)) > self.limits.answer:
                    self._end()
                    raise Unreadable("too large", "it has too many pieces of text; split it")
        line = b"".join(parts)
        if len(line) > LARGE:
            # It is as large itself: the two are not in memory together.
            self._end()
        return line

    def _start(self) -> "subprocess.Popen[bytes]":
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE, str(self.limits.memory)],
            cwd=ROOT,
            env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self._process

    def _ended(self) -> Unreadable:
        """Why the process is gone; the next `read` starts another."""
        process, self._process = self._process, None
        assert process is not None
        code = process.wait()
        _close(process)
        if code == _OUT_OF_MEMORY:
            share = f"more than {self.limits.memory // MIB} MiB"
            return Unreadable("too much memory", f"{share} to read it; split it or print it anew")
        return Unreadable("crashed", f"the reader ended with {code}; print the file anew")

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            _close(self._process)
            self._process = None


def _close(process: "subprocess.Popen[bytes]") -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue
