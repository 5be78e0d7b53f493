"""Our embedder as a subject."""

import sys
from pathlib import Path

from apps.embedder import Embedder
from tests.bench.embedders.subject import Subject, serve


def load() -> Subject:
    embedder = Embedder.open(Path(sys.argv[1]), int(sys.argv[2]))
    return lambda texts: embedder.embed(texts, "passage").vectors


if __name__ == "__main__":
    serve(load)
