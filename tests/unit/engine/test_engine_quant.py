import struct

import numpy as np
import pytest

from apps.engine.quant import FORMATS
from tests.unit.engine.reference import unpack
from tests.unit.engine.tiny_gguf import Q4_0, Q4_1, Q8_0, random_tensor


def half(data: bytes) -> float:
    value: float = struct.unpack("<e", data)[0]
    return value


def by_hand(code: int, block: bytes) -> list[float]:
    """The 32 weights of one block, one at a time, as the format's definition says."""
    if code == Q8_0:
        return [half(block[:2]) * q for q in struct.unpack("<32b", block[2:])]
    packed = block[-16:]
    nibbles = [byte & 15 for byte in packed] + [byte >> 4 for byte in packed]
    if code == Q4_0:
        return [half(block[:2]) * (q - 8) for q in nibbles]
    return [half(block[:2]) * q + half(block[2:4]) for q in nibbles]


@pytest.mark.parametrize("code", [Q4_0, Q4_1, Q8_0])
def test_the_references_values_are_those_of_the_formats_definition(code: int) -> None:
    raw = random_tensor(np.random.default_rng(code), (3, 64), code, 1.0)
    size = FORMATS[code].bytes
    blocks = [raw.data[at : at + size] for at in range(0, len(raw.data), size)]
    wanted = np.array([by_hand(code, block) for block in blocks]).reshape(3, 64)
    data = np.frombuffer(raw.data, np.uint8)
    np.testing.assert_allclose(unpack(FORMATS[code].name, data, (3, 64)), wanted, rtol=1e-12)
