"""What one run leaves for the next: a folder with secrets, the database and the last logs."""

import fcntl
import json
import os
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from apps.local.errors import LocalError
from apps.retrieval.configuration import LOGIN_ROLES

# The seeded customers whom people may try the assistant as.
CUSTOMERS = ("c-1001", "c-1002", "c-1003", "c-1004", "c-1005")


@dataclass(frozen=True)
class Secrets:
    """Random values, made at the first run and kept: the database was made with them."""

    superuser: str
    passwords: dict[str, str]
    assertion_key: str
    staff_token: str
    tokens: dict[str, str]

    @classmethod
    def fresh(cls) -> "Secrets":
        """New random values; `tokens` is {customer: bearer token}."""
        return cls(
            superuser=secrets.token_hex(16),
            passwords={role: secrets.token_hex(16) for role in LOGIN_ROLES},
            assertion_key=secrets.token_hex(32),
            staff_token=secrets.token_urlsafe(18),
            tokens={customer: secrets.token_urlsafe(18) for customer in CUSTOMERS},
        )


class State:
    """The folder, locked while this process lives."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / "logs").mkdir(exist_ok=True)
            self._lock = _lock(folder / "lock")
        except OSError as error:
            raise LocalError(f"{folder}: {error.strerror}; choose another with --state") from None
        self.folder = folder

    def secrets(self) -> tuple[Secrets, bool]:
        """(the kept secrets, False), or (new ones, True) when there were none."""
        path = self.folder / "secrets.json"
        try:
            kept = Secrets(**json.loads(path.read_text()))
            # A newer version may know a role that the one which made the file did not.
            passwords = {**Secrets.fresh().passwords, **kept.passwords}
        except FileNotFoundError:
            new = Secrets.fresh()
            _write(path, new)
            return new, True
        except (ValueError, TypeError):
            raise LocalError(f"{path} is damaged; remove {self.folder} to start afresh") from None
        if passwords != kept.passwords:
            kept = replace(kept, passwords=passwords)
            _write(path, kept)
        return kept, False

    def log(self, name: str) -> Path:
        """Where the service `name` writes; each run begins it anew."""
        return self.folder / "logs" / f"{name}.log"


def default_folder() -> Path:
    """$XDG_STATE_HOME/switchyard/local, or the same below ~/.local/state."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "switchyard" / "local"


def _lock(path: Path) -> IO[str]:
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LocalError(
            f"another run uses {path.parent}; stop it, or choose another folder with --state"
        ) from None
    return file


def _write(path: Path, secrets: Secrets) -> None:
    part = path.with_suffix(".part")
    with open(part, "w", opener=_private) as file:
        json.dump(asdict(secrets), file, indent=1)
    part.replace(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
