"""`python -m observability.native`: compile the probe points where they changed."""

import sys

from observability.extension import main
from observability.native import EXTENSION

if __name__ == "__main__":
    sys.exit(main(EXTENSION))
