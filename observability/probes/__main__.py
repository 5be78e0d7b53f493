"""`python -m observability.probes exercise`: a known workload for whoever checks a tracer.

Every point is fired COUNT times for the request "exercise", by the way that functions take,
so a tracer that sees all of them proves its whole path: attached, and known to be attached.
"""

import argparse
import sys

from observability import native
from observability.extension import ExtensionMissing
from observability.probes.request import REQUEST_ID, begin

NAME, TYPE = b"exercise.function", b"exercise.Type"


def exercise(points: native.Native, count: int) -> None:
    """Fire each point `count` times."""
    points.requests_from(REQUEST_ID.get)
    with begin("exercise"):
        for number in range(count):
            points.entry(NAME, 0)
            points.leave(NAME, 0, native.RETURNED)
            points.created(TYPE, number + 1, 64)
            points.destroyed(TYPE, number + 1)
            points.chain(TYPE, number + 1, b"Type <- exercise")
            points.token(b"exercise", number, 0, 0)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m observability.probes",
        description="Fire every probe point COUNT times, once a line is read.",
        epilog="example: echo | python -m observability.probes exercise --count 23",
    )
    parser.add_argument("action", choices=["exercise"])
    parser.add_argument("--count", type=int, default=23, help="how often (default: 23)")
    chosen = parser.parse_args()
    try:
        points = native.load()
    except ExtensionMissing as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    # The tracer attaches to a process that has the module mapped already.
    print("ready", flush=True)
    sys.stdin.readline()
    exercise(points, chosen.count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
