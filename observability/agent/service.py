"""What the agent answers over HTTP: /livez, /metrics, and /scenarios for a release's analysis."""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

from observability.agent.totals import Totals

_TIMEOUT_S = 10
_ALIVE = (200, "text/plain", "alive\n")
_STUCK = (503, "text/plain", "the agent's loop stands still\n")


class Service:
    """Serves `totals`, under `lock`, until closed. `alive` says whether the agent still turns."""

    def __init__(self, port: int, totals: Totals, lock: Lock, alive: Callable[[], bool]) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = _TIMEOUT_S

            def do_GET(self) -> None:
                if self.path == "/livez":
                    self._answer(*(_ALIVE if alive() else _STUCK))
                elif self.path == "/metrics":
                    with lock:
                        text = totals.metrics()
                    self._answer(200, "text/plain; version=0.0.4", text)
                elif self.path == "/scenarios":
                    with lock:
                        rows = totals.scenarios()
                    self._answer(200, "application/json", json.dumps({"scenarios": rows}) + "\n")
                else:
                    self._answer(404, "text/plain", "there are /livez, /metrics and /scenarios\n")

            def log_message(self, format: str, *args: object) -> None:
                """Probes and scrapes are no news."""

            def _answer(self, code: int, kind: str, text: str) -> None:
                body = text.encode()
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("", port), Handler)
        self.port = self._server.server_address[1]
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
