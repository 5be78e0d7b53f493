"""`python -m apps.embedder`: serve embeddings over HTTP (OpenAI's embeddings API)."""

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from apps.embedder.app import create_app
from apps.embedder.embedder import Embedder
from apps.embedder.errors import EmbedderError
from apps.embedder.model import default_model
from apps.gateway.protocol import Connection


class _Server(uvicorn.Server):
    """A uvicorn server that ends as it was told to, where uvicorn's own dies by the signal."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, self.handle_exit)
        yield


def main(words: list[str] | None = None) -> int:
    """0 after a graceful stop, 2 for a setting or a model that is wrong."""
    argparse.ArgumentParser(
        prog="python -m apps.embedder",
        description="Serve embeddings over HTTP (OpenAI's embeddings API) on HOST:PORT"
        " (127.0.0.1:8080) until SIGTERM. EMBEDDER_MODEL names the folder of another model.",
        epilog="example: PORT=8090 python -m apps.embedder",
    ).parse_args(words)
    host, port = os.environ.get("HOST", "127.0.0.1"), os.environ.get("PORT", "8080")
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        print(f"embedder: PORT must be a port number, not {port!r}", file=sys.stderr)
        return 2
    try:
        embedder = Embedder.open(default_model())
    except (EmbedderError, OSError) as error:
        print(f"embedder: {error}", file=sys.stderr)
        return 2
    with embedder:
        # The first run of a graph is the slowest; it is nobody's.
        embedder.embed(["ready?"], "query")
        _Server(
            uvicorn.Config(
                create_app(embedder),
                host=host,
                port=int(port),
                http=Connection,
                ws="none",
                lifespan="off",
                access_log=False,
                server_header=False,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=10,
            )
        ).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
