import struct

import numpy as np
import pytest

from apps.engine.errors import BadArtefact
from apps.engine.quant import FORMATS
from apps.engine.tensor import Tensor
from tests.unit.engine.reference import unpack
from tests.unit.engine.tiny_gguf import F16, F32, Q4_0, Q4_1, Q8_0, random_tensor


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
def test_each_block_format_gives_the_values_of_its_definition(code: int) -> None:
    raw = random_tensor(np.random.default_rng(code), (3, 64), code, 1.0)
    size = FORMATS[code].bytes
    blocks = [raw.data[at : at + size] for at in range(0, len(raw.data), size)]
    wanted = np.array([by_hand(code, block) for block in blocks]).reshape(3, 64)
    data = np.frombuffer(raw.data, np.uint8)
    out = np.empty((3, 64), np.float32)
    Tensor("t", FORMATS[code], (3, 64), 0, data).read(out)
    np.testing.assert_allclose(out, wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(unpack(FORMATS[code].name, data, (3, 64)), wanted, rtol=1e-12)


@pytest.mark.parametrize(("code", "kind"), [(F32, "<f4"), (F16, "<f2")])
def test_plain_formats_are_only_widened(code: int, kind: str) -> None:
    values = np.array([[0.0, -1.5, 65504.0], [1e-7, 0.1, -3.0]]).astype(kind)
    out = np.empty((2, 3), np.float32)
    Tensor("t", FORMATS[code], (2, 3), 0, np.frombuffer(values.tobytes(), np.uint8)).read(out)
    assert (out == values.astype(np.float32)).all()


def test_a_place_of_another_shape_names_the_tensor() -> None:
    tensor = Tensor("blk.0.up", FORMATS[F32], (2, 3), 0, np.zeros(24, np.uint8))
    with pytest.raises(BadArtefact, match=r"blk\.0\.up"):
        tensor.read(np.empty((3, 2), np.float32))
