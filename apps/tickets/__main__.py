"""`python -m apps.tickets`: serve the tickets on HOST:PORT (apps/tickets/settings.py)."""

import os
import sys

import uvicorn

from apps.tickets.app import create_app
from apps.tickets.settings import BadSettings, Settings


def main() -> None:
    """Serve until SIGTERM; requests under way are finished first."""
    try:
        settings = Settings.from_environment(os.environ)
    except BadSettings as error:
        sys.exit(f"tickets: {error}")
    uvicorn.run(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        access_log=False,
        server_header=False,
        limit_concurrency=256,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
    )


if __name__ == "__main__":
    main()
