"""`python -m rollout`."""

import time

_BEGAN = time.monotonic()

import sys  # noqa: E402 (the clock starts before anything is imported)

from rollout.cli import main  # noqa: E402

sys.exit(main(sys.argv[1:], _BEGAN))
