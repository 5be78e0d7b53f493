"""What is known of each component's process, kept in `run/pids/NAME.json`."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from deploy.cluster import files
from deploy.cluster.processes import Process


@dataclass
class Record:
    """One component's process, the wish it answers, and how often it was started again."""

    process: Process
    stamp: str
    turn: int
    restarts: int


def read_records(run: Path) -> dict[str, Record]:
    """Records by component name; a half-written or foreign file counts as none."""
    found = {}
    for path in sorted((run / "pids").glob("*.json")):
        with suppress(ValueError, KeyError, TypeError, FileNotFoundError):
            fields = json.loads(path.read_text())
            found[path.stem] = Record(**{**fields, "process": Process(**fields["process"])})
    return found


def write_record(run: Path, name: str, record: Record) -> None:
    """Replace the record of `name` at once, so that no reader sees half of it."""
    files.write(run / "pids" / f"{name}.json", json.dumps(asdict(record)))


def drop_record(run: Path, name: str) -> None:
    (run / "pids" / f"{name}.json").unlink(missing_ok=True)
