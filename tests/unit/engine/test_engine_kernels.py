"""Every compiled kernel, format and instruction set against numpy in float64."""

import numpy as np
import numpy.typing as npt
import pytest

from apps.engine.native import load
from apps.engine.plan import Kind
from tests.unit.engine.native_operation import NAMES, Operation
from tests.unit.engine.reference import F64, unpack
from tests.unit.engine.tiny_gguf import F16, F32, Q4_0, Q4_1, Q8_0, Raw, random_tensor

Floats = npt.NDArray[np.float32]
EPSILON = float(np.finfo(np.float32).eps)
ISAS = load().available()
BLOCKS, PLAIN = (Q4_0, Q4_1, Q8_0), (F16, F32)
SHAPES = [(1, 32), (5, 96), (16, 64), (17, 32), (40, 576)]
ODD_SHAPES = [(1, 1), (5, 7), (17, 33), (3, 100), (40, 64)]
COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17)

every_isa = pytest.mark.parametrize("isa", ISAS)


def true_values(raw: Raw) -> F64:
    return unpack(NAMES[raw.code], np.frombuffer(raw.data, np.uint8), tuple(raw.shape))


def whole_numbers(random: np.random.Generator, count: int, columns: int) -> Floats:
    """Activations that int8 holds exactly: whole, each block's largest being 127."""
    x = random.integers(-127, 128, (count, columns)).astype(np.float32)
    x[:, ::32] = 127
    return x


def rms(x: Floats) -> F64:
    root: F64 = np.sqrt((x.astype(np.float64) ** 2).mean(axis=1, keepdims=True))
    return root


def product(isa: str, raws: list[Raw], x: Floats, *, threads: int = 2) -> Floats:
    """The raws, side by side, times the rows of x over their root mean square."""
    operation = Operation(len(x))
    width = sum(raw.shape[0] for raw in raws)
    source = operation.normed(x)
    at = operation.plan.rows(width)
    starts = np.cumsum([0, *(raw.shape[0] for raw in raws)]).tolist()
    parts = [(operation.tensor(raw), start) for raw, start in zip(raws, starts, strict=False)]
    operation.plan.add(Kind.PRODUCT, *parts, source=source, target=at, target_width=width)
    return operation.run(isa, threads=threads)(at, (len(x), width))


def rounding(weights: F64, x: F64) -> F64:
    """How far float32 sums of these products may be off: a unit a block and a few more."""
    bound: F64 = (weights.shape[1] / 16 + 8) * EPSILON * (abs(x) @ abs(weights).T)
    return bound


@every_isa
@pytest.mark.parametrize("code", BLOCKS, ids=NAMES.get)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_product_of_what_int8_holds_is_off_by_float32s_rounding_only(
    isa: str, code: int, shape: tuple[int, int]
) -> None:
    random = np.random.default_rng(shape[0] * shape[1] + code)
    raw = random_tensor(random, shape, code, 1.0)
    for count in COUNTS:
        x = whole_numbers(random, count, shape[1])
        exact = x / rms(x)
        wanted = exact @ true_values(raw).T
        assert (abs(product(isa, [raw], x) - wanted) <= rounding(true_values(raw), exact)).all()


@every_isa
@pytest.mark.parametrize("code", BLOCKS, ids=NAMES.get)
def test_other_activations_are_off_by_half_a_step_of_int8(isa: str, code: int) -> None:
    random = np.random.default_rng(code)
    raw = random_tensor(random, (40, 576), code, 1.0)
    weights = true_values(raw)
    x = (random.standard_normal((9, 576)) * 10 ** random.uniform(-3, 3, (9, 576))).astype("f4")
    exact = x / rms(x)
    steps = abs(exact).reshape(9, -1, 32).max(axis=2) / 127
    bound = (steps / 2) @ abs(weights).reshape(40, -1, 32).sum(axis=2).T * 1.001
    error = abs(product(isa, [raw], x) - exact @ weights.T)
    assert (error <= bound + rounding(weights, exact)).all()


@every_isa
@pytest.mark.parametrize("code", PLAIN, ids=NAMES.get)
@pytest.mark.parametrize("shape", ODD_SHAPES, ids=str)
def test_a_product_of_floats_is_off_by_float32s_rounding_only(
    isa: str, code: int, shape: tuple[int, int]
) -> None:
    random = np.random.default_rng(shape[0] * shape[1] + code)
    raw = random_tensor(random, shape, code, 1.0)
    for count in COUNTS:
        x = random.standard_normal((count, shape[1])).astype(np.float32)
        exact = x / rms(x)
        wanted = exact @ true_values(raw).T
        assert (abs(product(isa, [raw], x) - wanted) <= rounding(true_values(raw), exact)).all()


def extreme(code: int, quant: int) -> Raw:
    """17 rows of two blocks: the stored byte `quant` everywhere, scales from tiny to huge."""
    scales = np.resize([6e-8, 1.0, -1.0, 60000.0, 65504.0, 6.1e-5, 0.0], (34, 1)).astype("<f2")
    parts = [scales.view(np.uint8)]
    if code == Q4_1:
        parts.append(np.resize([-65504.0, 65504.0, -6e-8], (34, 1)).astype("<f2").view(np.uint8))
    parts.append(np.full((34, 32 if code == Q8_0 else 16), quant, np.uint8))
    return Raw((17, 64), code, np.concatenate(parts, axis=1).tobytes())


@every_isa
@pytest.mark.parametrize("code", BLOCKS, ids=NAMES.get)
@pytest.mark.parametrize("quant", [0x00, 0xFF, 0x80, 0x7F, 0xF0])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_numbers_of_a_format_do_not_saturate(
    isa: str, code: int, quant: int, sign: int
) -> None:
    raw = extreme(code, quant)
    for count in (1, 9):
        x = np.full((count, 64), 127.0 * sign, np.float32)
        exact = x / rms(x)
        wanted = exact @ true_values(raw).T
        assert (abs(product(isa, [raw], x) - wanted) <= rounding(true_values(raw), exact)).all()


@every_isa
@pytest.mark.parametrize("code", NAMES, ids=NAMES.get)
def test_a_row_is_the_same_to_the_bit_whatever_is_computed_beside_it(isa: str, code: int) -> None:
    random = np.random.default_rng(code)
    raws = [random_tensor(random, (rows, 96), code, 1.0) for rows in (40, 17, 3)]
    x = random.standard_normal((40, 96)).astype(np.float32)
    alone = np.concatenate([product(isa, raws, x[row : row + 1]) for row in range(len(x))])
    for count in (*COUNTS, 40):
        for threads in (1, 3):
            assert (product(isa, raws, x[:count], threads=threads) == alone[:count]).all()


@pytest.mark.parametrize("code", NAMES, ids=NAMES.get)
def test_instruction_sets_agree(code: int) -> None:
    random = np.random.default_rng(code)
    raw = random_tensor(random, (40, 576), code, 1.0)
    x = random.standard_normal((9, 576)).astype(np.float32)
    bound = 2 * rounding(true_values(raw), x / rms(x))
    results = [product(isa, [raw], x) for isa in ISAS]
    for other in results[1:]:
        assert (abs(results[0] - other) <= bound).all()


@every_isa
@pytest.mark.parametrize("code", NAMES, ids=NAMES.get)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_comes_out_as_none(isa: str, code: int, bad: float) -> None:
    random = np.random.default_rng(code)
    raw = random_tensor(random, (17, 64), code, 1.0)
    x = random.standard_normal((3, 64)).astype(np.float32)
    x[1, 40] = bad
    got = product(isa, [raw], x)
    assert not np.isfinite(got[1]).any()
    assert np.isfinite(got[[0, 2]]).all()


@every_isa
def test_a_product_can_add_to_what_is_there(isa: str) -> None:
    random = np.random.default_rng(1)
    raw = random_tensor(random, (17, 64), Q4_1, 1.0)
    x = whole_numbers(random, 9, 64)
    before = random.standard_normal((9, 17)).astype(np.float32)
    operation = Operation(9)
    source, at = operation.normed(x), operation.input(before)
    part = (operation.tensor(raw), 0)
    operation.plan.add(Kind.PRODUCT, part, source=source, target=at, target_width=17, add=1)
    got = operation.run(isa)(at, (9, 17))
    assert (got == before + product(isa, [raw], x)).all()


@every_isa
@pytest.mark.parametrize("columns", [1, 15, 16, 17, 33, 576])
def test_norm(isa: str, columns: int) -> None:
    random = np.random.default_rng(columns)
    weight = random.standard_normal(columns).astype(np.float32)
    x = random.standard_normal((5, columns)).astype(np.float32)
    x *= np.array([[1], [1e-6], [1e6], [0], [1]], np.float32)
    operation = Operation(5)
    at = operation.plan.activations(columns)
    part = (operation.tensor(Raw((columns,), F32, weight.tobytes())), 0)
    source = operation.input(x)
    operation.plan.add(
        Kind.NORM, part, source=source, source_width=columns, target=at, constant=1e-5
    )
    width = -(-columns // 16) * 16
    got = operation.run(isa)(at, (5, width))
    wanted = x / np.sqrt((x.astype(np.float64) ** 2).mean(axis=1, keepdims=True) + 1e-5) * weight
    np.testing.assert_allclose(got[:, :columns], wanted, rtol=1e-5, atol=1e-30)
    assert (got[:, columns:] == 0).all()


@every_isa
@pytest.mark.parametrize("columns", [1, 16, 31, 96])
def test_gate(isa: str, columns: int) -> None:
    random = np.random.default_rng(columns)
    gate = random.standard_normal((7, columns)) * 10.0 ** np.arange(-3, 4)[:, None]
    up = random.standard_normal((7, columns))
    operation = Operation(7)
    at = operation.plan.activations(columns)
    source = operation.input(np.concatenate([gate, up], axis=1).astype(np.float32))
    operation.plan.add(Kind.GATE, source=source, source_width=2 * columns, target=at)
    got = operation.run(isa)(at, (7, -(-columns // 16) * 16))
    with np.errstate(over="ignore"):
        wanted = gate / (1 + np.exp(-gate)) * up
    # e^88 stands for all that is larger; what it divides is below 1e-33.
    np.testing.assert_allclose(got[:, :columns], wanted, rtol=2e-5, atol=1e-33)


@every_isa
@pytest.mark.parametrize("code", NAMES, ids=NAMES.get)
def test_embed_gives_the_stored_row(isa: str, code: int) -> None:
    raw = random_tensor(np.random.default_rng(code), (5, 96), code, 1.0)
    operation = Operation(3, vocabulary=5)
    at = operation.plan.rows(96)
    part = (operation.tensor(raw), 0)
    operation.plan.add(Kind.EMBED, part, target=at, target_width=96)
    got = operation.run(isa)(at, (3, 96))
    np.testing.assert_allclose(got, np.tile(true_values(raw)[0], (3, 1)), rtol=3e-7, atol=3e-7)


@every_isa
def test_rotate_turns_pairs_and_keeps_keys_and_values_as_f16(isa: str) -> None:
    random = np.random.default_rng(3)
    x = random.standard_normal((3, 4, 18)).astype(np.float32)
    x[1, 3, :3] = [1e6, -1e6, np.nan]
    operation = Operation(3, heads=2, kv_heads=1, head=18, rotated=16, positions=20, pages=2)
    angles = np.arange(20)[:, None] * 0.7 ** np.arange(8)
    turns = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    operation.turns = turns.astype(np.float32)
    at = operation.input(x.reshape(3, -1))
    operation.plan.add(Kind.ROTATE, source=at, source_width=72)
    positions = [4, 5, 6]
    got = operation.run(isa, positions=positions)(at, (3, 4, 18))
    wanted = x.astype(np.float64)
    pairs = x[:, :3, :16].astype(np.float64).reshape(3, 3, 8, 2)
    cosine, sine = turns[positions, None, :, 0], turns[positions, None, :, 1]
    wanted[:, :3, :16:2] = pairs[..., 0] * cosine - pairs[..., 1] * sine
    wanted[:, :3, 1:16:2] = pairs[..., 0] * sine + pairs[..., 1] * cosine
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    page = operation.pages[: 2 * 16 * 18].view(np.float16)
    keys, values = page[: 16 * 18].reshape(18, 16), page[16 * 18 :].reshape(16, 18)
    assert (got[:, 2].astype(np.float16) == keys[:, positions].T).all()
    largest = np.clip(got[:, 3], -65504, 65504).astype(np.float16)
    np.testing.assert_array_equal(values[positions], largest)
    others = [slot for slot in range(16) if slot not in positions]
    assert (keys[:, others] == 0).all()
    assert (values[others] == 0).all()
