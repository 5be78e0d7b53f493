"""What the agent answers over HTTP: /livez, /metrics, /scenarios for a release's analysis, and
/gpu for gateways."""

import json
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

from observability.agent.clock import realtime_offset_ns
from observability.agent.events import Record
from observability.agent.totals import Totals
from observability.gpu.pressure import pressure

_TIMEOUT_S = 10
_ALIVE = (200, "text/plain", "alive\n")
_NOWHERE = "there are /livez, /metrics, /scenarios and /gpu\n"
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
                    self._json({"scenarios": rows})
                elif self.path == "/gpu":
                    with lock:
                        readings = totals.gpus()
                    self._json(pressure(readings, _read_at(readings)))
                else:
                    self._answer(404, "text/plain", _NOWHERE)

            def log_message(self, format: str, *args: object) -> None:
                """Probes and scrapes are no news."""

            def _json(self, value: object) -> None:
                self._answer(200, "application/json", json.dumps(value) + "\n")

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


def _read_at(readings: list[Record]) -> float:
    """Unix seconds of the oldest of the last readings; without a GPU there is nothing to wait
    for, and it is now."""
    if not readings:
        return time.time()
    oldest = min(int(record["t_ns"]) for record in readings)
    return (oldest + realtime_offset_ns()) / 1e9
