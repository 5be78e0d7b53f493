"""Writing: one call a request, which costs microseconds and never fails its caller."""

import fcntl
import json
import logging
import mmap
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from observability.native import Native
from observability.ring import layout

log = logging.getLogger(__name__)

RETRY_S = 5.0


class Ring:
    """The ring at `path`; made where it is missing, put aside as PATH.old where it is of
    another format or cut short. Threads and processes may write at once."""

    def __init__(
        self, path: Path, points: Native, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = path
        self._points = points
        self._clock = clock
        self._lock = threading.Lock()
        self._file: tuple[os.stat_result, mmap.mmap] | None = None
        self._again = float("-inf")
        self.lost = 0
        """Lines of this process that could not be written."""
        self._memory()  # whoever follows the file finds it before the first line

    def append(self, fields: Mapping[str, Any]) -> bool:
        """Write one line. False, and counted, where that is impossible now."""
        memory = self._memory()
        if memory is None:
            self.lost += 1
            return False
        number = self._points.take_number(memory, layout.COUNTER) + 1
        write(memory, layout.Line(number, encode(fields)))
        return True

    def _memory(self) -> mmap.mmap | None:
        """The mapped file, opened again if somebody removed it or cut it short: to touch
        memory behind a file's end would end the process."""
        file = self._file
        if file is not None and _is_whole(self._path, file[0]):
            return file[1]
        with self._lock:
            if self._file is file and self._clock() >= self._again:
                self._open()
            return self._file[1] if self._file else None

    def _open(self) -> None:
        # Another thread may still write into the old memory: it is dropped, not closed.
        self._file = None
        try:
            self._file = _open(self._path)
        except OSError as error:
            self._again = self._clock() + RETRY_S
            log.warning("%s: %s; requests leave no line there", self._path, error.strerror)


def _is_whole(path: Path, opened: os.stat_result) -> bool:
    try:
        now = os.stat(path)
    except OSError:
        return False
    return os.path.samestat(now, opened) and now.st_size == layout.FILE_BYTES


def encode(fields: Mapping[str, Any]) -> bytes:
    """JSON that fits; of a line that does not, the longest fields are left out and named."""
    kept, cut = dict(fields), list[str]()
    while len(line := _json(kept | ({"cut": cut} if cut else {}))) > layout.LINE_BYTES:
        longest = max(kept, key=lambda name: len(_json(kept[name])))
        del kept[longest]
        cut.append(longest[:40])
    return line


def write(memory: mmap.mmap | bytearray, line: layout.Line) -> None:
    """Put a line in its place, so that it is whole or empty whenever this ends."""
    crc, rest = layout.place(line)
    start = layout.offset(line.number)
    text = start + len(crc)
    memory[start:text] = bytes(len(crc))
    memory[text : text + len(rest)] = rest
    memory[start:text] = crc


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode("utf-8", "replace")


def _open(path: Path) -> tuple[os.stat_result, mmap.mmap]:
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            _make(path)
            continue
        try:
            status = os.fstat(descriptor)
            ours = layout.is_head(os.pread(descriptor, layout.HEAD_BYTES, 0))
            if ours and status.st_size == layout.FILE_BYTES:
                return status, mmap.mmap(descriptor, layout.FILE_BYTES)
            _put_aside(path, descriptor)
        finally:
            os.close(descriptor)


def _make(path: Path) -> None:
    """The file appears whole, with its room on the disk, or not at all."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_native_id()}")
    try:
        descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, layout.FILE_BYTES)
            os.pwrite(descriptor, layout.head(), 0)
        finally:
            os.close(descriptor)
        os.link(fresh, path)
    except FileExistsError:
        # Another process was quicker: its file is as good.
        pass
    finally:
        fresh.unlink(missing_ok=True)


def _put_aside(path: Path, descriptor: int) -> None:
    """Rename the file behind `descriptor`; of several processes that want to, one does."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        same = os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return
    if same:
        os.replace(path, path.with_name(f"{path.name}.old"))
        log.warning("%s has another format or is cut short; it is %s.old now", path, path.name)
