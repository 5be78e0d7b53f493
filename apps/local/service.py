"""One part of the assistant as a child process: started, waited for, watched, stopped."""

import ctypes
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from apps.local.errors import LocalError

ROOT = Path(__file__).parents[2]
READY_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 30.0
_POLL_S = 0.1
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class Service:
    """`python -m apps.NAME` with `settings` added to the environment, logging to `log`.

    `ready` is the URL that says so, "" for a part that serves no port.
    """

    def __init__(self, name: str, settings: Mapping[str, str], ready: str, log: Path) -> None:
        self.name = name
        self._ready = ready
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"apps.{name}"],
                cwd=ROOT,
                env={**os.environ, **settings},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C is for us alone: we stop the parts in order.
                start_new_session=True,
                preexec_fn=stop_with_parent,
            )

    def wait(self) -> None:
        """Return when the service says that it is ready; raises LocalError."""
        end = time.monotonic() + READY_TIMEOUT_S
        self.check()
        while self._ready and not _ok(self._ready):
            self.check()
            if time.monotonic() > end:
                late = f"is not ready after {READY_TIMEOUT_S:g} s"
                raise LocalError(f"{self.name} {late}; read {self._log}")
            time.sleep(_POLL_S)

    def check(self) -> None:
        """Raise LocalError if the service has ended; its last line often says why."""
        code = self._process.poll()
        if code is not None:
            lines = self._log.read_text(errors="replace").strip().splitlines() or ["no output"]
            raise LocalError(f"{self.name} ended ({code}): {lines[-1]}; read {self._log}")

    def stop(self) -> None:
        """Ask it to end, wait, and end it if it will not."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _ok(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:  # noqa: S310
            return bool(response.status == 200)
    except (OSError, urllib.error.HTTPError):
        return False


def stop_with_parent() -> None:
    """For a child process: end when the parent does, however that ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
