"""The kubelet's three questions over HTTP: 200 with "ok", or 503 with one line that says why."""

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

from apps.pipeline.health import Health


def serve(health: Health, host: str, port: int) -> ThreadingHTTPServer:
    """Listen and answer in threads of their own; `shutdown()` ends it."""
    questions: dict[str, Callable[[], str]] = {
        "/startupz": health.not_started,
        "/readyz": lambda: health.not_ready(time.monotonic()),
        "/livez": health.dead,
    }
    handler = type("Handler", (_Handler,), {"questions": questions})
    server = _Server((host, port), handler)
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 32


class _Handler(BaseHTTPRequestHandler):
    questions: ClassVar[dict[str, Callable[[], str]]] = {}
    timeout = 5
    server_version = "switchyard"
    sys_version = ""

    def do_GET(self) -> None:
        question = self.questions.get(self.path)
        if question is None:
            return self._say(404, f"ask one of {' '.join(self.questions)}")
        why = question()
        return self._say(503 if why else 200, why or "ok")

    def log_message(self, format: str, *arguments: object) -> None:
        """Probes come every few seconds; their log would hide everything else."""

    def _say(self, status: int, line: str) -> None:
        body = f"{line}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
