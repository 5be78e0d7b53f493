"""How the commands speak to whoever runs them."""

import sys


def say(line: str) -> None:
    """A line of progress, apart from the results."""
    print(line, file=sys.stderr, flush=True)
