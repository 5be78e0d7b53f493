"""The files named on a command line, read."""

from collections.abc import Iterable
from pathlib import Path

from observability.session.reading import Reading, older_first
from observability.session.session import Loss, Session


def read(files: Iterable[Path]) -> tuple[Session, Loss]:
    """All files as one session, and what it misses. Errors: `TraceError`."""
    reading = Reading(path for file in files for path in older_first(file))
    session = Session(reading)
    return session, session.loss(reading.bad)
