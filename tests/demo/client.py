"""Clients that ask the assistant, run inside a pod; one JSON line an answer on stdout.

Reads its orders from the file named by its only argument:

    {"host": "assistant.split.cluster.local.", "port": 80, "seconds": 120,
     "clients": [{"name": "shop", "kind": "fresh", "rate": 20, "token": "...",
                  "query": "...", "expect": "regex"}]}

Kinds: `fresh` looks up and connects for every request; `pinned` looked up once
and never again, but connects for every request; `pooled` keeps one connection
until the server closes it; `lookup` only asks DNS (of `servers`, or the pod's
own resolver) and reports the address.

The standard library alone: the file is mounted into whatever image has Python.
"""

from __future__ import annotations

import http.client
import json
import re
import secrets
import socket
import struct
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

WORKERS = 48
# A lookup that is not answered is asked again from a new port, as EAI_AGAIN says.
LOOKUPS = 4
TIMEOUT_S = 10.0

_print_lock = threading.Lock()


def report(**fields: Any) -> None:
    with _print_lock:
        sys.stdout.write(json.dumps(fields, ensure_ascii=False) + "\n")
        sys.stdout.flush()


class Client:
    def __init__(self, orders: dict[str, Any], spec: dict[str, Any]) -> None:
        self.name: str = spec["name"]
        self.kind: str = spec["kind"]
        self.rate: float = spec["rate"]
        self.spec = spec
        self.host: str = orders["host"]
        self.port: int = orders["port"]
        self.pinned = self.resolve() if self.kind == "pinned" else ""
        self.pool: http.client.HTTPConnection | None = None
        self.pool_lock = threading.Lock()

    def resolve(self) -> str:
        for left in reversed(range(LOOKUPS)):
            try:
                found = socket.getaddrinfo(self.host, self.port, socket.AF_INET, socket.SOCK_STREAM)
                return str(found[0][4][0])
            except socket.gaierror as unanswered:
                if unanswered.errno != socket.EAI_AGAIN or not left:
                    raise
                report(client="", repeated_lookup=True, ok=True, t0=time.time())
        raise AssertionError("the last try returns or raises")

    def ask(self) -> None:
        started = time.time()
        seen: dict[str, Any] = {"client": self.name, "t0": started}
        try:
            if self.kind == "lookup":
                self.look_up(seen)
            elif self.kind == "pooled":
                with self.pool_lock:
                    self.ask_pooled(seen)
            else:
                address = self.pinned or self.resolve()
                seen["address"] = address
                connection = http.client.HTTPConnection(address, self.port, timeout=TIMEOUT_S)
                try:
                    self.exchange(connection, seen)
                finally:
                    connection.close()
        except (OSError, http.client.HTTPException, ValueError) as failure:
            seen |= {"ok": False, "why": f"{type(failure).__name__}: {failure}"[:200]}
        seen["t1"] = time.time()
        report(**seen)

    def look_up(self, seen: dict[str, Any]) -> None:
        for server in self.spec.get("servers") or [""]:
            address = query(server, self.host) if server else self.resolve()
            report(client=self.name, t0=time.time(), server=server, address=address, ok=True)
        seen |= {"ok": True}

    def ask_pooled(self, seen: dict[str, Any]) -> None:
        if self.pool is None:
            address = self.resolve()
            self.pool = http.client.HTTPConnection(address, self.port, timeout=TIMEOUT_S)
        seen["address"] = self.pool.host
        try:
            self.exchange(self.pool, seen)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            # An idle connection that the server closed: any client tries again once.
            self.pool.close()
            self.pool = http.client.HTTPConnection(self.resolve(), self.port, timeout=TIMEOUT_S)
            self.exchange(self.pool, seen)
        if self.pool.sock is None:
            self.pool = None

    def exchange(self, connection: http.client.HTTPConnection, seen: dict[str, Any]) -> None:
        body = {
            "query": self.spec["query"],
            "session": f"{self.name}-{secrets.token_hex(6)}",
            "message_id": secrets.token_hex(8),
        }
        headers = {
            "authorization": f"Bearer {self.spec['token']}",
            "content-type": "application/json",
            "host": self.host.rstrip("."),
        }
        connection.request("POST", "/v1/chat", json.dumps(body).encode(), headers)
        seen["connected"] = time.time()
        response = connection.getresponse()
        raw = response.read(1 << 20)
        seen |= {"http": response.status, "lane": response.getheader("x-switchyard-lane")}
        reply = json.loads(raw)
        right = response.status == 200 and re.search(self.spec["expect"], reply.get("reply", ""))
        seen["ok"] = bool(right) and reply.get("status") == "ok"
        if not seen["ok"]:
            seen["why"] = raw[:300].decode("utf8", "replace")


def query(server: str, name: str) -> str:
    """The first A record that one DNS server answers for `name` (RFC 1035)."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.rstrip(".").split("."))
    number = secrets.randbelow(65536)
    packet = struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + labels + b"\0" + b"\0\1\0\1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.settimeout(2)
        link.connect((server, 53))
        link.send(packet)
        answer = link.recv(4096)
    if answer[:2] != packet[:2]:
        raise ValueError(f"{server} answered another question")
    return address_in(answer, 12 + len(labels) + 5)


def address_in(answer: bytes, offset: int) -> str:
    for _ in range(struct.unpack(">H", answer[6:8])[0]):
        while answer[offset] and answer[offset] < 0xC0:
            offset += answer[offset] + 1
        offset += 2 if answer[offset] >= 0xC0 else 1
        kind, _class, _ttl, length = struct.unpack(">HHIH", answer[offset : offset + 10])
        offset += 10
        if kind == 1:
            return socket.inet_ntoa(answer[offset : offset + 4])
        offset += length
    raise ValueError("no address in the answer")


def drive(client: Client, pool: ThreadPoolExecutor, end: float) -> None:
    """Ask at the client's rate whatever the answers take (an open loop)."""
    due = time.time()
    while due < end:
        time.sleep(max(0.0, due - time.time()))
        pool.submit(client.ask)
        due += 1 / client.rate


def reach(orders: dict[str, Any], seconds: float = 20.0) -> None:
    """Wait until this new pod is let through: policies learn of a pod a moment after it runs."""
    servers = {name for spec in orders["clients"] for name in spec.get("servers") or []}
    end = time.time() + seconds
    while True:
        try:
            for server in servers:
                query(server, orders["host"])
            address = (orders["host"], orders["port"])
            socket.create_connection(address, timeout=2).close()
            return
        except OSError:
            if time.time() > end:
                raise
            time.sleep(0.2)


def main() -> None:
    orders = json.loads(Path(sys.argv[1]).read_text())
    reach(orders)
    clients = [Client(orders, spec) for spec in orders["clients"]]
    end = time.time() + orders["seconds"]
    report(client="", started=True)
    with ThreadPoolExecutor(WORKERS) as pool:
        threads = [threading.Thread(target=drive, args=(c, pool, end)) for c in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
