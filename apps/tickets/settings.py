"""The service's settings, from the environment. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

MIN_STAFF_TOKEN = 16


class BadSettings(Exception):
    """A setting is missing or wrong; `str()` is one line with its name."""


@dataclass(frozen=True)
class Settings:
    """Where to listen, the lane's name, the database (role `tickets`), the staff's token."""

    host: str
    port: int
    lane: str
    database_url: str
    staff_token: str

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> "Settings":
        """Read HOST, PORT, LANE, DATABASE_URL and STAFF_TOKEN, or raise `BadSettings`."""
        port = env.get("PORT", "8080")
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise BadSettings(f"PORT must be a port number, not {port!r}")
        if not env.get("DATABASE_URL"):
            raise BadSettings("DATABASE_URL must name the database, with the role tickets")
        if len(env.get("STAFF_TOKEN", "")) < MIN_STAFF_TOKEN:
            raise BadSettings(f"STAFF_TOKEN must hold {MIN_STAFF_TOKEN} characters or more")
        return cls(
            env.get("HOST", "127.0.0.1"),
            int(port),
            env.get("LANE", "local"),
            env["DATABASE_URL"],
            env["STAFF_TOKEN"],
        )
