"""Recordings and rings, as records; a damaged line costs itself alone."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from observability import ring
from observability.agent.events import Record, ring_record
from observability.bpf.errors import TraceError
from observability.ring.layout import HEAD_BYTES, is_head


class Reading:
    """The records of some files: recordings, rings, and what `observability.ring` prints of one.

    `bad` counts the lines that were none; the last line of a file that is being written may be
    half, which is no fault."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = list(paths)
        self.bad = 0

    def __iter__(self) -> Iterator[Record]:
        """Errors: `TraceError` for a file that cannot be read."""
        for path in self._paths:
            try:
                yield from self._file(path)
            except OSError as error:
                raise TraceError(f"cannot read {path}: {error.strerror}") from None

    def _file(self, path: Path) -> Iterator[Record]:
        with path.open("rb") as file:
            if is_head(file.read(HEAD_BYTES)):
                contents = ring.read(path)
                self.bad += contents.damaged
                yield from self._lines(line.text + b"\n" for line in contents.lines)
            else:
                file.seek(0)
                yield from self._lines(file)

    def _lines(self, lines: Iterable[bytes]) -> Iterator[Record]:
        for line in lines:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                self.bad += line.endswith(b"\n")
                continue
            if not isinstance(record, dict):
                self.bad += 1
                continue
            if "layer" in record:
                yield record
            # A ring's line has no layer: it is the request's own word about itself.
            elif of_ring := ring_record(line):
                yield of_ring
            else:
                self.bad += 1


def older_first(path: Path) -> list[Path]:
    """The files of a recording: the one that was put aside when it was full, then `path`."""
    aside = path.with_name(path.name + ".1")
    return [aside, path] if aside.exists() else [path]
