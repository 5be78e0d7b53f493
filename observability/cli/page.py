"""`page`: the diagnostic page."""

from argparse import Namespace

from observability.cli.reading import read
from observability.view.page import page


def run(arguments: Namespace) -> int:
    """Write the page."""
    session, loss = read(arguments.files)
    arguments.out.write_text(page(session, loss), encoding="utf-8")
    print(f"{arguments.out}: {len(session.requests)} requests; {loss}")
    return 0
