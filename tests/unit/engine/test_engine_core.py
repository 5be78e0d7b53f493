"""The core's contract: what a step gives does not depend on how it came to be."""

import errno
import multiprocessing
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from apps.engine.core import PAGE, Core
from apps.engine.errors import BadArtefact, BadRequest, Forked
from apps.engine.model import Model
from apps.engine.native import load
from apps.engine.quant import F32
from apps.engine.slices import Slice
from tests.unit.engine.reference import F64, reference_logits
from tests.unit.engine.tiny_gguf import gguf, tiny_metadata, tiny_tensors, write

COUNT = 300  # three segments of attention, two native steps
PAGES = range(-(-COUNT // PAGE))
ISAS = load().available()


@pytest.fixture(scope="module")
def tokens(tiny: Model) -> list[int]:
    random = np.random.default_rng(7)
    found: list[int] = random.integers(0, tiny.config.vocabulary, COUNT).tolist()
    return found


@pytest.fixture(scope="module")
def truth(tiny: Model, tokens: list[int]) -> F64:
    return reference_logits(tiny, [tokens])[0]


@pytest.fixture(scope="module", params=ISAS)
def core(request: pytest.FixtureRequest, tiny: Model) -> Iterator[Core]:
    core = Core(tiny, pool_tokens=1024, threads=2, isa=request.param)
    yield core
    core.close()


@pytest.fixture(scope="module")
def whole(core: Core, tokens: list[int]) -> F32:
    """All logits of the tokens, computed in one call."""
    return core.forward([Slice(tokens, 0, PAGES, "every")])


def test_logits_are_near_the_reference(whole: F32, truth: F64) -> None:
    error = np.sqrt(((whole - truth) ** 2).mean() / (truth**2).mean())
    assert error < 0.02
    assert (whole.argmax(axis=1) == truth.argmax(axis=1)).mean() > 0.95


@pytest.mark.parametrize("seed", range(4))
def test_no_cut_of_a_prompt_changes_a_bit(
    core: Core, tokens: list[int], whole: F32, seed: int
) -> None:
    random = np.random.default_rng(seed)
    at, rows = 0, []
    while at < COUNT:
        count = int(random.choice([1, 1, 2, 3, 8, 9, 16, 17, 40, 129]))
        part = tokens[at : at + count]
        rows.append(core.forward([Slice(part, at, PAGES, "every")]))
        at += len(part)
    assert (np.concatenate(rows) == whole).all()


def test_no_page_number_changes_a_bit(core: Core, tokens: list[int], whole: F32) -> None:
    pages = np.random.default_rng(1).permutation(core.pages)[: len(PAGES)].tolist()
    assert (core.forward([Slice(tokens, 0, pages, "every")]) == whole).all()


def test_no_neighbour_in_the_step_changes_a_bit(core: Core, tokens: list[int], whole: F32) -> None:
    mine, other, third = PAGES, range(20, 40), range(40, 60)
    core.forward([Slice(tokens[:200], 0, mine, "none"), Slice(tokens[:7], 0, third, "none")])
    step = [
        Slice(tokens[::-1][:33], 0, other),
        Slice(tokens[200:201], 200, mine),
        Slice(tokens[7:9], 7, third, "every"),
    ]
    logits = core.forward(step)
    assert (logits[1] == whole[200]).all()
    assert (logits[2:] == whole[7:9]).all()


@pytest.mark.parametrize("threads", [1, 3, 5])
def test_no_number_of_threads_changes_a_bit(
    core: Core, tiny: Model, tokens: list[int], whole: F32, threads: int
) -> None:
    other = Core(tiny, pool_tokens=512, threads=threads, isa=core.isa)
    for length in (COUNT, 40):
        logits = other.forward([Slice(tokens[:length], 0, PAGES, "every")])
        assert (logits == whole[:length]).all()
    other.close()


def test_a_position_that_is_computed_again_gives_the_same_bits(
    core: Core, tokens: list[int], whole: F32
) -> None:
    core.forward([Slice(tokens, 0, PAGES, "none")])
    again = core.forward([Slice(tokens[150:], 150, PAGES, "every")])
    assert (again == whole[150:]).all()


def test_rows_of_logits_come_as_wanted_and_in_order(
    core: Core, tokens: list[int], whole: F32
) -> None:
    other = range(20, 40)
    logits = core.forward([Slice(tokens, 0, PAGES), Slice(tokens[:3], 0, other, "every")])
    assert logits.shape == (4, core.model.config.vocabulary)
    assert (logits == whole[[COUNT - 1, 0, 1, 2]]).all()
    assert core.forward([Slice(tokens, 0, PAGES, "none")]).shape[0] == 0
    assert core.forward([]).shape == (0, core.model.config.vocabulary)


def test_instruction_sets_agree_within_float32s_rounding(tiny: Model, tokens: list[int]) -> None:
    results = []
    for isa in ISAS:
        core = Core(tiny, pool_tokens=512, threads=2, isa=isa)
        results.append(core.forward([Slice(tokens[:64], 0, PAGES, "every")]))
        core.close()
    # A rounding may fall to the other side of an int8, so one step of it is allowed.
    for other in results[1:]:
        assert np.sqrt(((results[0] - other) ** 2).mean()) < 0.01 * results[0].std()


def test_a_head_of_its_own_and_other_sizes_are_computed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", gguf(tiny_metadata(), tiny_tensors(3, tied=False)))
    model = Model.open(path)
    core = Core(model, pool_tokens=64, threads=1)
    text = list(range(40))
    logits = core.forward([Slice(text, 0, range(3), "every")])
    truth = reference_logits(model, [text])[0]
    assert np.sqrt(((logits - truth) ** 2).mean()) < 0.02 * truth.std()
    core.close()


def test_weights_are_used_where_they_lie_and_memory_is_stated(packaged: Model) -> None:
    code = (
        "from apps.engine.core import Core\n"
        "from apps.engine.slices import Slice\n"
        "from apps.engine.model import Model, default_path\n"
        "from pathlib import Path\n"
        "def anonymous():\n"
        "    text = Path('/proc/self/status').read_text()\n"
        "    return int(text.split('RssAnon:')[1].split()[0]) * 1024\n"
        "model = Model.open(default_path()); before = anonymous()\n"
        "core = Core(model, pool_tokens=2048)\n"
        "core.forward([Slice([1] * 2048, 0, range(128), 'none')])\n"
        "print(anonymous() - before, core.anonymous_bytes, anonymous())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    grown, stated, all_of_it = map(int, done.stdout.split())
    # Every page of the pool was written, so all that is stated is there, and little else.
    assert stated * 0.8 < grown < stated + (8 << 20)
    assert stated < 70e6
    assert all_of_it < 150e6


def test_start_up_reports_each_phase(core: Core) -> None:
    names = [phase.name for phase in core.start_up.phases]
    assert names == ["read ahead", "plan", "touch", "warm up"]
    assert core.start_up.seconds == sum(phase.seconds for phase in core.start_up.phases)
    assert all(phase.minor_faults >= 0 <= phase.major_faults for phase in core.start_up.phases)


def test_progress_ends_with_the_whole_file(tiny: Model) -> None:
    lines: list[str] = []
    Core(tiny, pool_tokens=64, threads=1, progress=lines.append).close()
    assert lines[0] == "model in memory: 100%"
    assert lines[-1].startswith("ready in ")
    for phase in ("read ahead", "plan", "touch", "warm up"):
        assert re.search(rf"{phase} \d.\d+ s \(\d+ page faults, \d+ from the disk\)", lines[-1])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Slice([], 0, [0]), "at least one"),
        (Slice([1], -1, [0]), "position -1"),
        (Slice([1], 512, range(40)), "within 0 to 511"),
        (Slice([1] * 17, 0, [0]), "1 pages of 16 do not cover 17"),
        (Slice([1], 0, []), "0 pages of 16"),
        (Slice([1], 0, [64]), "from 0 to 63"),
        (Slice([1], 0, [-1]), "from 0 to 63"),
        (Slice([1 << 20], 0, [0]), "token ids go from 0"),
        (Slice([-1], 0, [0]), "token ids go from 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_slice_that_cannot_be_is_refused_before_anything_runs(
    core: Core, bad: Slice, message: str
) -> None:
    with pytest.raises(BadRequest, match=message):
        core.forward([Slice([1], 0, [0]), bad])


@pytest.mark.parametrize("isa", ["amx", "avx10"])
def test_an_instruction_set_that_is_not_there_is_refused(tiny: Model, isa: str) -> None:
    with pytest.raises(BadRequest, match=f"{isa}.*this CPU has .*portable"):
        Core(tiny, isa=isa)


def test_the_environment_can_force_a_lower_instruction_set(
    tiny: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_ISA", "portable")
    core = Core(tiny, pool_tokens=64, threads=1)
    assert core.isa == "portable"
    core.close()


@pytest.mark.parametrize("pool", [0, 15, 1 << 30])
def test_a_pool_that_cannot_be_is_refused(tiny: Model, pool: int) -> None:
    with pytest.raises(BadRequest, match="a pool of"):
        Core(tiny, pool_tokens=pool)


def test_memory_that_the_kernel_refuses_is_one_line(
    tiny: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr("apps.engine.core.mmap.mmap", refused)
    with pytest.raises(BadRequest, match=r"MB for a pool of 64 tokens cannot be had.*; choose"):
        Core(tiny, pool_tokens=64)


def in_child(core: Core, answers: "multiprocessing.Queue[str]") -> None:
    try:
        core.forward([Slice([1], 0, [0])])
    except Forked as error:
        answers.put(str(error))
    core.close()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_is_refused_and_ends(core: Core) -> None:
    context = multiprocessing.get_context("fork")
    answers: multiprocessing.Queue[str] = context.Queue()
    child = context.Process(target=in_child, args=(core, answers))
    child.start()
    assert "after the fork" in answers.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    assert os.getpid() != child.pid
    core.forward([Slice([1], 0, [0])])


def test_a_closed_core_says_so(tiny: Model) -> None:
    core = Core(tiny, pool_tokens=64, threads=2)
    core.close()
    core.close()
    with pytest.raises(RuntimeError, match="closed"):
        core.forward([Slice([1], 0, [0])])


def test_a_tensor_of_another_kind_names_operation_wanted_and_found(
    tmp_path: Path, tiny: Model
) -> None:
    tensors = tiny_tensors()
    norm = tensors["blk.1.ffn_norm.weight"]
    half = np.frombuffer(norm.data, "<f4").astype("<f2").tobytes()
    tensors["blk.1.ffn_norm.weight"] = type(norm)(norm.shape, 1, half)
    path = write(tmp_path / "a.gguf", gguf(tiny_metadata(), tensors))
    with pytest.raises(BadArtefact, match=r"ffn_norm.weight' takes F32 \[64\].*has F16 \[64\]"):
        Core(Model.open(path), pool_tokens=64)
