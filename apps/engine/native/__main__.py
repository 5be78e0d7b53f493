"""`python -m apps.engine.native`: compile the engine's kernels where they changed."""

import sys

from apps.engine.native import EXTENSION
from observability.extension import main

if __name__ == "__main__":
    sys.exit(main(EXTENSION))
