"""`flame`: folded stacks."""

import sys
from argparse import Namespace

from observability.cli.reading import read
from observability.export.folded import folded


def run(arguments: Namespace) -> int:
    """Print the stacks; what is missing goes to the terminal."""
    session, loss = read(arguments.files)
    print(folded(session.requests.values(), arguments.weight), end="")
    print(loss, file=sys.stderr)
    return 0
