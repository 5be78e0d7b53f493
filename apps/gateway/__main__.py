"""`python -m apps.gateway`: serve until told to stop. Configuration by environment only."""

import asyncio
import logging
import sys

from observability import probes

probes.start()  # first, so that it sees the gateway's modules while they are imported

from apps.gateway.service import Service  # noqa: E402
from apps.gateway.settings import BadSettings, read  # noqa: E402


async def _serve() -> None:
    await Service(read()).run()


def main() -> int:
    """0 after a graceful stop, 2 for a setting that is wrong, 1 for an address in use."""
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    try:
        asyncio.run(_serve())
    except BadSettings as error:
        print(f"gateway: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"gateway: cannot listen: {error}; choose another PORT or HOST", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
