"""A gateway of a few lines: the same ports and shapes, and answers that a test can spoil."""

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LANE, RELEASE = os.environ["LANE"], os.environ.get("RELEASE", "")
TEXT, SLOW_S = os.environ.get("TEXT", "your ticket is open"), float(os.environ.get("SLOW_S", "0"))
BOOT = f"{os.getpid()}-{time.time()}"
samples, lock = [], threading.Lock()


def note(first_ms, synthetic):
    with lock:
        samples.append(
            {
                "seq": len(samples) + 1, "t": time.time(), "client": "c", "synthetic": synthetic,
                "intent": "other", "status": "ok", "http": 200,
                "first_ms": first_ms, "total_ms": first_ms,
            }
        )  # fmt: skip


class Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10

    def send(self, body, kind="application/json"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Switchyard-Lane", LANE)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Public(Quiet):
    def do_GET(self):
        began = time.monotonic()
        time.sleep(SLOW_S)
        self.send(json.dumps({"lane": LANE, "release": RELEASE}).encode())
        note((time.monotonic() - began) * 1000, False)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        meta = {"intent": "other", "language": "en", "facts": [], "ticket": None, "lane": LANE}
        events = [("meta", meta), ("delta", {"text": TEXT}), ("done", {"status": "ok"})]
        body = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in events)
        self.send(body.encode(), "text/event-stream")
        note(1, True)


class Admin(Quiet):
    def do_GET(self):
        if self.path.startswith("/samples"):
            after = int(self.path.partition("after=")[2].partition("&")[0])
            with lock:
                page = samples[after : after + 2000]
            self.send(
                json.dumps({"boot": BOOT, "next": after + len(page), "samples": page}).encode()
            )
        else:
            self.send(b"{}")

    def do_POST(self):
        self.send(b"{}")


if __name__ == "__main__":
    admin = ThreadingHTTPServer(("", 8081), Admin)
    threading.Thread(target=admin.serve_forever, daemon=True).start()
    ThreadingHTTPServer(("", 8080), Public).serve_forever()
