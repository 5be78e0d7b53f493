"""Lines of progress, apart from the results."""

import sys


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
