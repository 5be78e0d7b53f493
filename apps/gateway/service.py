"""All parts of a gateway put together, started in order and stopped in order."""

import asyncio
import contextlib
import json
import logging
import signal
import socket
import sys
import time
from collections.abc import Iterator

import uvicorn
from starlette.types import Scope

from apps.gateway.admin import AdminPort, admin_app
from apps.gateway.chat import Chat
from apps.gateway.conversation import Conversation
from apps.gateway.directory import Directory, DirectoryDown
from apps.gateway.documents import Documents
from apps.gateway.front import CHAT, DOCUMENTS, Front
from apps.gateway.health import Health
from apps.gateway.listener import Listener
from apps.gateway.pipeline import Ended, Pipeline, PipelineFailed
from apps.gateway.pressure import Pressure
from apps.gateway.protocol import Connection
from apps.gateway.record import Journal
from apps.gateway.request import MAX_HEAD_BYTES
from apps.gateway.samples import Samples
from apps.gateway.settings import Settings
from apps.gateway.static import page_routes
from apps.gateway.stops import Running, Stops
from apps.retrieval.assertion import sign
from observability.native import Native, available
from observability.ring import Requests, Ring
from observability.tokens import TokenAccounting

log = logging.getLogger(__name__)

IDLE_S = 10
FINISH_S = 20
PROBE_S = 1.5


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to us (two of them share the process) and wakes
    once a second for its date header, not ten times."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Close the listener; requests in progress get FINISH_S."""
        self._stopping.set()

    async def main_loop(self) -> None:
        while not self._stopping.is_set():
            await self.on_tick(0)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), 1.0)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Service:
    """One gateway process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._health = Health()
        self._stops = Stops()
        samples = Samples(settings.assertion_key)
        points = available()
        requests = None
        if points and settings.ring:
            requests = Requests(Ring(settings.ring, points), settings.release)
        self._directory = Directory(settings.database_url)
        self._pipeline = Pipeline(settings.pipeline_address)
        self._pressure = Pressure(settings.gpu_state_url) if settings.gpu_state_url else None
        conversation = Conversation(
            self._pipeline,
            self._stops,
            max_tokens=settings.answer_max_tokens,
            streams=settings.answer_streams,
            deadline_s=settings.deadline_s,
            pressed=self._pressed,
        )
        chat = Chat(
            self._directory,
            conversation,
            self._stops,
            self._health,
            lane=settings.lane,
            assertion_key=settings.assertion_key,
        )
        front = Front(
            {
                CHAT: ("POST", _accounted(chat, points)),
                DOCUMENTS: ("POST", Documents(self._directory)),
                **page_routes(),
            },
            self._health,
            Journal(settings.lane, samples, requests=requests),
            lane=settings.lane,
            max_in_flight=settings.max_in_flight,
        )
        admin = admin_app(self._health, samples, (self._pipeline_answers, self._database_answers))
        self._public = _Server(_config(front))
        self._admin = _Server(_config(AdminPort(admin, front)))

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT, then finish what is in flight."""
        settings = self._settings
        public = socket.create_server((settings.host, settings.port), backlog=1024)
        admin = socket.create_server((settings.host, settings.admin_port), backlog=128)
        self._announce(public, admin)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, lambda: self._stop(settings.lame_duck_s))
        loop.add_signal_handler(signal.SIGINT, lambda: self._stop(0))
        await self._directory.open()
        helpers = [
            asyncio.create_task(Listener(settings.database_url, self._stops).run()),
            asyncio.create_task(self._start()),
        ]
        if self._pressure:
            self._pressure.start()
        admin_task = asyncio.create_task(self._admin.serve([admin]))
        try:
            await self._public.serve([public])
        finally:
            for helper in helpers:
                helper.cancel()
            self._admin.stop()
            await admin_task
            await self._pipeline.close()
            await self._directory.close()

    def _announce(self, public: socket.socket, admin: socket.socket) -> None:
        line = {
            "event": "listening",
            "lane": self._settings.lane,
            "port": public.getsockname()[1],
            "admin_port": admin.getsockname()[1],
        }
        print(json.dumps(line), file=sys.stderr, flush=True)

    def _stop(self, lame_duck_s: float) -> None:
        """Fail readiness first; go on serving until the endpoints have been told."""
        if self._health.stopping:
            return
        self._health.stopping = True
        loop = asyncio.get_running_loop()
        loop.call_later(lame_duck_s, self._public.stop)

    def _pressed(self) -> bool:
        return self._pressure is not None and self._pressure.pressed

    async def _start(self) -> None:
        """Started once a real inference and a real query have succeeded."""
        while not (await self._pipeline_answers() and await self._database_answers()):
            await asyncio.sleep(0.3)
        self._health.started = True

    async def _pipeline_answers(self) -> bool:
        assertion = sign(self._settings.assertion_key, "probe", "probe", int(time.time()) + IDLE_S)
        try:
            await self._pipeline.route(
                "hello", assertion, "probe", "probe", timeout_s=PROBE_S, running=Running()
            )
        except (PipelineFailed, Ended):
            return False
        return True

    async def _database_answers(self) -> bool:
        try:
            await self._directory.ping()
        except DirectoryDown:
            return False
        return True


def _accounted(chat: Chat, points: Native | None) -> TokenAccounting:
    def name(scope: Scope) -> str:
        return str(scope["record"].request_id)

    fire = points.token if points else None
    return TokenAccounting(chat, name=name, fire=fire, reports=True)


def _config(app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=FINISH_S,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )
