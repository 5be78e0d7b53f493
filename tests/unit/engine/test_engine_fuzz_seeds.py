"""Every seed of the fuzz targets, and what a few thousand changes make of them."""

import random
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"


def changed(data: bytes, draw: random.Random) -> bytes:
    parts = bytearray(data)
    for _ in range(draw.randrange(1, 4)):
        place = draw.randrange(len(parts) + 1)
        kind = draw.randrange(3)
        if kind == 0:
            parts[place : place + 1] = [draw.randrange(256)]
        elif kind == 1:
            del parts[place : place + draw.randrange(1, 9)]
        else:
            parts[place:place] = draw.randbytes(draw.randrange(1, 9))
    return bytes(parts)


@pytest.mark.parametrize("name", [*TARGETS])
def test_seeds_and_their_neighbours_are_read_or_refused(name: str) -> None:
    seeds = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    assert seeds
    draw = random.Random(6)
    for seed in seeds:
        TARGETS[name](seed)
        for _ in range(1000 // len(seeds)):
            TARGETS[name](changed(seed, draw))
