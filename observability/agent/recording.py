"""A recording: JSON lines in a file of bounded size, losses among them."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

from observability.agent.clock import boot_id, now_ns, realtime_offset_ns
from observability.agent.events import Record
from observability.bpf.errors import TraceError
from observability.bpf.program import Counts

FORMAT = 1
# Made once: for each line a new one would cost a quarter more.
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode


def header(release: str = "") -> Record:
    """The first line of a file: which boot, and how its times become dates."""
    return {
        "layer": "header",
        "format": FORMAT,
        "boot": boot_id(),
        "t_ns": now_ns(),
        "realtime_offset_ns": realtime_offset_ns(),
        "node": os.uname().nodename,
        "kernel": os.uname().release,
        "release": release,
    }


def loss(counts: Counts, read: int, buffer: str) -> Record:
    """What did not get through, so far. When all is read, lost + read = sent."""
    return {
        "layer": "loss",
        "t_ns": now_ns(),
        "buffer": buffer,
        "sent": counts.sent,
        "read": read,
        "lost": counts.lost,
        "unread": counts.unread,
        "unmatched": counts.unmatched,
    }


class RecordingFile:
    """Appends to `path`; when it is `limit` bytes long it becomes `path`.1 and a new one begins.

    A full disk costs lines, which are counted in `dropped`, never the process."""

    def __init__(self, path: Path, limit: int) -> None:
        """Errors: `TraceError` when the file cannot be made."""
        self._path = path
        self._limit = limit
        self.dropped = 0
        try:
            self._begin()
        except OSError as error:
            raise TraceError(f"cannot write {path}: {error.strerror}") from None

    def write(self, records: Iterable[Record]) -> None:
        """Append the records, and let readers see them."""
        lines = [_ENCODE(record).encode() + b"\n" for record in records]
        if not lines:
            return
        try:
            if self._size >= self._limit:
                self._file.close()
                self._path.replace(self._path.with_name(self._path.name + ".1"))
                self._begin()
            self._append(b"".join(lines))
        except OSError:
            self.dropped += len(lines)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _begin(self) -> None:
        # Unbuffered: what a full disk refuses must not wait in memory and fail again.
        self._file = self._path.open("wb", buffering=0)
        self._size = 0
        self._append(json.dumps(header(), separators=(",", ":")).encode() + b"\n")

    def _append(self, data: bytes) -> None:
        written = self._file.write(data)
        if written < len(data):
            # Half a line would spoil the next one.
            self._file.truncate(self._size)
            self._file.seek(self._size)
            raise OSError("the disk is full")
        self._size += written
