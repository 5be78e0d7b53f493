"""The parts of the assistant in the order in which they need each other."""

import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from apps.local.documents import Documents
from apps.local.errors import LocalError
from apps.local.service import Service
from apps.local.state import Secrets, State
from apps.retrieval.local import LocalServer
from apps.retrieval.migrate import migrate
from apps.retrieval.server import ServerError

HOST = "127.0.0.1"


class Assistant:
    """Runs while the `with` block does. `say` takes one line a step."""

    def __init__(self, state: State, port: int, say: Callable[[str], None]) -> None:
        self._state = state
        self._say = say
        self._stack = ExitStack()
        self._services: list[Service] = []
        self.url = f"http://{HOST}:{port}"
        self._port = port
        self.secrets, self._first = state.secrets()

    def __enter__(self) -> "Assistant":
        require_free(self._port)
        try:
            with ExitStack() as stack:
                self._start(stack)
                self._stack = stack.pop_all()
        except ServerError as error:
            raise LocalError(str(error)) from None
        return self

    def __exit__(self, *_: Any) -> None:
        self._stack.close()

    def check(self) -> None:
        """Raise LocalError if a part has ended."""
        for service in self._services:
            service.check()
        if not running(self._database_pid):
            raise LocalError(f"PostgreSQL ended; read {self._database_log}")

    def _start(self, stack: ExitStack) -> None:
        database = self._database(stack)
        ports = dict(
            zip(("tickets", "grpc", "health", "metrics", "admin"), _free_ports(5), strict=True)
        )
        tickets = f"http://{HOST}:{ports['tickets']}"
        documents = stack.enter_context(
            Documents(self._state.folder / "reports", database["loader"], self._state.log("loader"))
        )
        self._run(
            stack,
            "tickets",
            {
                "DATABASE_URL": database["tickets"],
                "STAFF_TOKEN": self.secrets.staff_token,
                "PORT": str(ports["tickets"]),
            },
            f"{tickets}/readyz",
        )
        self._run(
            stack,
            "pipeline",
            {
                "DATABASE_URL": database["assistant"],
                "TICKETS_URL": tickets,
                "GRPC_PORT": str(ports["grpc"]),
                "HEALTH_PORT": str(ports["health"]),
                "METRICS_PORT": str(ports["metrics"]),
            },
            f"http://{HOST}:{ports['health']}/readyz",
        )
        self._run(
            stack,
            "gateway",
            {
                "DATABASE_URL": database["gateway"],
                "PIPELINE_ADDRESS": f"{HOST}:{ports['grpc']}",
                "PORT": str(self._port),
                "ADMIN_PORT": str(ports["admin"]),
            },
            f"http://{HOST}:{ports['admin']}/readyz",
        )
        self._run(stack, "loader.uploads", {"DATABASE_URL": database["loader"]}, "")
        self._say(f"reports: {documents.wait()}")
        self.tickets_url = tickets

    def _database(self, stack: ExitStack) -> dict[str, str]:
        """A running, migrated database: {role: URL}."""
        kept: Secrets = self.secrets
        server = LocalServer(self._state.folder / "postgres", kept.superuser)
        if self._first and (server.folder / "data").exists():
            raise LocalError(f"{server.folder} has data whose passwords are lost; remove it")
        stack.enter_context(server)
        self._database_pid, self._database_log = server.pid, server.log
        self._say(f"PostgreSQL on {HOST}:{server.port}, data in {server.folder}")
        applied = migrate(
            server.url("postgres", kept.superuser),
            kept.passwords,
            bytes.fromhex(kept.assertion_key),
            {token: customer for customer, token in kept.tokens.items()},
        )
        self._say(f"schema and customers ({len(applied)} new migrations)")
        return {role: server.url(role, password) for role, password in kept.passwords.items()}

    def _run(self, stack: ExitStack, name: str, settings: dict[str, str], ready: str) -> None:
        common = {"LANE": "local", "HOST": HOST, "ASSERTION_KEY": self.secrets.assertion_key}
        service = Service(name, {**common, **settings}, ready, self._state.log(name))
        stack.callback(service.stop)
        self._services.append(service)
        service.wait()
        self._say(f"{name}, log in {self._state.log(name)}")


def running(pid: int) -> bool:
    """Whether our child `pid` has not ended yet; one that has stays a zombie until waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def require_free(port: int) -> None:
    """Raise LocalError if something listens on `port` already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise LocalError(f"port {port}: {error.strerror}; choose another with --port") from None


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind((HOST, 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
