"""A docker-registry of a test's own, on a free port."""

import contextlib
import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """`host:port`; its data is in `folder`/data, its configuration in `folder`/registry.yml."""
    address = f"127.0.0.1:{free_port()}"
    storage = {"filesystem": {"rootdirectory": str(folder / "data")}, "delete": {"enabled": True}}
    settings = {"version": 0.1, "log": {"level": "error"}, "storage": storage}
    (folder / "registry.yml").write_text(json.dumps({**settings, "http": {"addr": address}}))
    with (folder / "log").open("w") as log:
        command = ["docker-registry", "serve", str(folder / "registry.yml")]
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://{address}/v2/", timeout=1).close()
                break
            time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait(10)
