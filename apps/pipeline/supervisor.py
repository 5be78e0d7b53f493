"""Start Triton, watch its models by real inferences, answer the kubelet, end it properly."""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from apps.embedder.errors import BadModel
from apps.embedder.model import Manifest, default_model
from apps.pipeline import backend, health_http, processes
from apps.pipeline.health import Health
from apps.pipeline.intents.train import ensure
from apps.pipeline.metrics import progress
from apps.pipeline.probe import MODELS, ProbeFailed, Prober
from apps.pipeline.settings import Settings, SettingsError

LOOK_EVERY_S = 1.0
STOP_TIMEOUT_S = 20.0
# Longer than a token takes on a busy machine.
QUIET_S = 1.5
# Long enough for the kubelet to read from /livez why we are about to end.
DYING_S = 8.0
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def main() -> int:
    """Run until SIGTERM (0), or until the server or one of its models dies (1)."""
    begun = time.monotonic()
    try:
        settings = Settings.read(os.environ)
        backend.check_shared_memory()
        os.environ["INTENT_WEIGHTS"] = str(ensure())
        folder_of_model = default_model()
        os.environ["EMBEDDER_MODEL"] = str(folder_of_model)
        os.environ["EMBEDDER_NAME"] = Manifest.read(folder_of_model).name
        with tempfile.TemporaryDirectory(prefix="switchyard-pipeline-") as folder:
            return _run(settings, Path(folder), begun)
    except (SettingsError, backend.BackendError, BadModel, ValueError, OSError) as error:
        print(f"pipeline: {error}", file=sys.stderr)
        return 2


def _run(settings: Settings, folder: Path, begun: float) -> int:
    prefix = f"switchyard_{os.getpid()}_"
    stop = threading.Event()
    health = Health(MODELS)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        page = health_http.serve(health, settings.host, settings.health_port)
    except OSError as error:
        raise SettingsError(f"HEALTH_PORT {settings.health_port}: {error.strerror}") from None
    server = subprocess.Popen(
        backend.command(settings, backend.prepare(folder), prefix),
        env=backend.environment(os.environ),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_die_with_parent,
    )
    try:
        return Watch(server, health, settings, begun).until(stop)
    finally:
        health.stopping = True
        _end(server, settings.metrics_port)
        page.shutdown()
        for region in Path("/dev/shm").glob(f"{prefix}*"):  # noqa: S108
            region.unlink(missing_ok=True)


class Watch:
    """Looks at one server every second and tells `health` what it saw."""

    def __init__(
        self,
        server: "subprocess.Popen[bytes]",
        health: Health,
        settings: Settings,
        begun: float,
    ) -> None:
        self._server = server
        self._health = health
        self._prober = Prober(f"127.0.0.1:{settings.grpc_port}")
        self._metrics_port = settings.metrics_port
        self._begun = begun
        self._counts: dict[str, float] = {}
        self._stubs: dict[int, str] = {}

    def until(self, stop: threading.Event) -> int:
        """Watch until asked to stop (0) or until something died for good (1)."""
        dying_since: float | None = None
        while not stop.wait(LOOK_EVERY_S):
            if (code := self._server.poll()) is not None:
                print(f"pipeline: tritonserver ended with status {code}", file=sys.stderr)
                return 1
            self._look()
            if not (why := self._health.dead()):
                dying_since = None
                continue
            if dying_since is None:
                dying_since = time.monotonic()
                print(f"pipeline: {why}", file=sys.stderr)
            elif time.monotonic() - dying_since > DYING_S:
                return 1
        return 0

    def _look(self) -> None:
        now = time.monotonic()
        counts = progress(self._metrics_port)
        for model in MODELS:
            if counts.get(model, 0) > self._counts.get(model, 0):
                self._health.success(model, now)
        self._counts.update(counts)
        if self._stubs:
            self._health.lost = processes.lost(self._stubs, self._server.pid)
        for model in self._health.quiet(now) if counts else []:
            self._probe(model)
        if counts and not self._stubs and not self._health.not_started():
            self._stubs = processes.stubs(self._server.pid)
            print(f"pipeline: ready after {time.monotonic() - self._begun:.1f} s", flush=True)

    def _probe(self, model: str) -> None:
        try:
            self._prober.ask(model)
        except ProbeFailed as error:
            self._health.failure(model, str(error))
        else:
            self._health.success(model, time.monotonic())


def _end(server: "subprocess.Popen[bytes]", metrics_port: int) -> None:
    """Let the server finish what it has begun, then end it and the models' processes.

    After SIGTERM it takes no new request. It is not left to unload one model after the other:
    that keeps the gateways' connections open for seconds in which they are only refused.
    """
    if server.poll() is None:
        server.terminate()
        end = time.monotonic() + STOP_TIMEOUT_S
        rose = time.monotonic()
        counts = progress(metrics_port)
        while server.poll() is None and (now := time.monotonic()) < min(end, rose + QUIET_S):
            time.sleep(0.1)
            before, counts = counts, progress(metrics_port)
            if any(counts[model] > before.get(model, 0) for model in counts):
                rose = now
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
