"""An engine in a process of its own, told what to do over a pipe."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


class Contestant:
    """A running `python -m MODULE FILE THREADS`; `loaded` is what it said once it was ready."""

    def __init__(
        self,
        name: str,
        python: Path,
        module: str,
        model: Path,
        threads: int,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [python, "-m", module, model, str(threads)],
            cwd=ROOT,
            env=os.environ | dict(environment or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.loaded = self.answer()

    def tell(self, do: str, **how: Any) -> None:
        """Begin a task; its result comes from `answer`."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"do": do, **how}) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The result of the task that was told last. Errors: SystemExit if the process is gone."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended with status {self._process.wait()}")
        result: dict[str, Any] = json.loads(line)
        return result

    def ask(self, do: str, **how: Any) -> dict[str, Any]:
        """A task and its result."""
        self.tell(do, **how)
        return self.answer()

    def __enter__(self) -> "Contestant":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind:
            self._process.kill()
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
