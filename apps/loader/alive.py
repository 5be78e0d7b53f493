"""`python -m apps.loader.alive`: whether the process that loads uploads here still turns.

Exit status 0 if it has shown a sign of life within the last ten minutes, longer than any one
upload may take. It waits for the database as well as for uploads, so this says nothing of either.
"""

import sys
import tempfile
import time
from pathlib import Path

SIGN = Path(tempfile.gettempdir()) / "uploads-alive"
LASTS_S = 600.0


def show() -> None:
    """Leave a sign of life."""
    SIGN.touch()


def is_shown() -> bool:
    """Whether there is a recent one."""
    return SIGN.exists() and time.time() - SIGN.stat().st_mtime < LASTS_S


if __name__ == "__main__":
    sys.exit(0 if is_shown() else 1)
