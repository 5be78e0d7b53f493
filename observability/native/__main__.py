"""`python -m observability.native`: compile the probe points where they changed."""

import argparse
import sys
from pathlib import Path

from observability.native.build import MODULE, BuildError, build, is_current


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m observability.native", description="Compile the probe points."
    )
    parser.add_argument(
        "--out", type=Path, default=MODULE, help="where to (default: beside the sources)"
    )
    chosen = parser.parse_args()
    if is_current(chosen.out):
        return 0
    print(f"compiling {chosen.out.name}", file=sys.stderr, flush=True)
    try:
        build(chosen.out)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
