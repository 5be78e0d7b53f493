"""`top`: the slowest requests."""

import time
from argparse import Namespace

from observability.cli.reading import read
from observability.export.notes import notes
from observability.export.text import table

_AGAIN_S = 1.0
_CLEAR = "\x1b[H\x1b[2J"


def run(arguments: Namespace) -> int:
    """Print the table, with --follow again and again."""
    while True:
        session, loss = read(arguments.files)
        lines = [line + "\n" for line in notes(session)]
        text = table(session.requests.values(), loss) + "".join(lines)
        if not arguments.follow:
            print(text, end="")
            return 0
        print(_CLEAR + text, end="", flush=True)
        time.sleep(_AGAIN_S)
