"""Schema migrations: numbered SQL files, applied once each, never changed afterwards. Pure."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from apps.retrieval.expansion import contraction

FOLDER = Path(__file__).parent / "schema"
_NAME = re.compile(r"([0-9]{3})_[a-z0-9_]+")


class MigrationError(Exception):
    """The schema cannot be brought up to date; `str()` is one line with what to do next."""


@dataclass(frozen=True)
class Migration:
    """One step: `NNN_name`, its SQL text and the SHA-256 (hex) of that text."""

    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The hash by which a later change of the file is noticed."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def load(folder: Path = FOLDER) -> list[Migration]:
    """Return the folder's migrations in order; numbers run 1, 2, 3 … without a gap."""
    return ordered({path.stem: path.read_text("utf-8") for path in folder.glob("*.sql")})


def ordered(files: Mapping[str, str]) -> list[Migration]:
    """Return the migrations of {`NNN_name`: SQL}, or raise `MigrationError` on a bad name or one
    that does not only add."""
    result: list[Migration] = []
    for name in sorted(files):
        match = _NAME.fullmatch(name)
        if match is None or int(match[1]) != len(result) + 1:
            wanted = f"{len(result) + 1:03d}_name.sql"
            raise MigrationError(f"the schema file {name}.sql is out of order; name it {wanted}")
        if what := contraction(files[name]):
            raise MigrationError(
                f"{name}.sql {what}, which the release before it cannot live with;"
                " only add, and take away once no lane needs it"
            )
        result.append(Migration(int(match[1]), name, files[name]))
    return result


def pending(
    migrations: Iterable[Migration], applied: Mapping[int, tuple[str, str]]
) -> list[Migration]:
    """Return what is still to apply, given {number: (name, sha256)} of what was applied.

    A database ahead of these files is fine: the schema only expands, so an older release
    runs on it.
    """
    todo = []
    for migration in migrations:
        if migration.number not in applied:
            todo.append(migration)
        elif applied[migration.number] != (migration.name, migration.sha256):
            raise MigrationError(
                f"{migration.name}.sql changed after it was applied as "
                f"{applied[migration.number][0]}; restore it and add a new file"
            )
    return todo
