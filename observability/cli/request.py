"""`request`: one request's whole story."""

from argparse import Namespace

from observability.cli.reading import read
from observability.export.text import story


def run(arguments: Namespace) -> int:
    """Print the story."""
    session, loss = read(arguments.files)
    request = session.request(arguments.id)
    print(story(request, loss, session.watts(request)), end="")
    return 0
