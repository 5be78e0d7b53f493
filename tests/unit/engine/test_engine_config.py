from math import inf, log, nan, pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.engine.config import Config, read_config
from apps.engine.errors import BadArtefact
from apps.engine.gguf import Gguf
from apps.engine.model import Model
from tests.unit.engine.tiny_gguf import F32, Raw, gguf, tiny_metadata, tiny_tensors, write


def config(path: Path, tensors: dict[str, Raw] | None = None, **changes: Any) -> Config:
    """What is read of the tiny model with some keys changed; None takes a key away."""
    metadata = tiny_metadata() | {key.replace("__", "."): item for key, item in changes.items()}
    kept = {key: item for key, item in metadata.items() if item is not None}
    return read_config(Gguf(write(path / "changed.gguf", gguf(kept, tensors or {}))))


def factors(*values: float) -> dict[str, Raw]:
    return {"rope_freqs.weight": Raw((len(values),), F32, np.float32(values).tobytes())}


def test_an_unscaled_head_turns_by_powers_of_the_base(tmp_path: Path) -> None:
    rotary = config(tmp_path).rotary
    assert rotary.magnitude == 1
    assert rotary.frequencies == pytest.approx([1000 ** -(i / 8) for i in range(8)])


def test_a_part_of_a_head_may_turn(tmp_path: Path) -> None:
    rotary = config(tmp_path, llama__rope__dimension_count=8).rotary
    assert rotary.frequencies == pytest.approx([1000 ** -(i / 4) for i in range(4)])


def test_linear_scaling_slows_every_pair_down(tmp_path: Path) -> None:
    plain = config(tmp_path).rotary
    rotary = config(
        tmp_path, llama__rope__scaling__type="linear", llama__rope__scaling__factor=4.0
    ).rotary
    assert rotary.frequencies == pytest.approx([one / 4 for one in plain.frequencies])
    assert rotary.magnitude == 1


def test_the_factors_of_llama_3_divide_the_frequencies(tmp_path: Path) -> None:
    # As Llama 3.1 defines them: long waves eight times longer, short ones as they are.
    base, original, low, high, by = 500_000.0, 8192, 1.0, 4.0, 8.0
    plain = [base ** -(i / 8) for i in range(8)]
    divisors = []
    for one in plain:
        turns = original * one / (2 * pi)
        smooth = min(max((turns - low) / (high - low), 0), 1)
        divisors.append(1 / ((1 - smooth) / by + smooth))
    rotary = config(tmp_path, factors(*divisors), llama__rope__freq_base=base).rotary
    expected = [one / by_ for one, by_ in zip(plain, divisors, strict=True)]
    assert rotary.frequencies == pytest.approx(expected, rel=1e-6)
    assert rotary.frequencies[0] == 1
    assert rotary.frequencies[-1] == pytest.approx(plain[-1] / by)


def test_yarn_keeps_fast_pairs_and_slows_the_rest(tmp_path: Path) -> None:
    head, original, factor = 128, 4096, 16.0
    keys = {
        "llama__attention__key_length": head,
        "llama__attention__value_length": head,
        "llama__rope__freq_base": 10_000.0,
        "llama__rope__scaling__type": "yarn",
        "llama__rope__scaling__factor": factor,
        "llama__rope__scaling__original_context_length": original,
    }
    rotary = config(tmp_path, **keys).rotary
    plain = np.array([10_000 ** -(i / 64) for i in range(64)])
    left = (np.array(rotary.frequencies) / plain - 1 / factor) / (1 - 1 / factor)
    turns = original * plain / (2 * pi)
    # The published ramp between 32 turns and 1, its ends on whole pairs: 20 and 46 here.
    assert left[turns > 33] == pytest.approx(1)
    assert left[turns < 0.9] == pytest.approx(0, abs=1e-12)
    assert left[20:47] == pytest.approx(np.linspace(1, 0, 27), abs=1e-9)
    assert rotary.magnitude == pytest.approx(1 + 0.1 * log(16))


def test_grouped_queries_and_a_head_of_its_own_width(tmp_path: Path) -> None:
    read = config(tmp_path, llama__attention__key_length=32, llama__attention__head_count_kv=1)
    assert (read.heads, read.kv_heads, read.head) == (4, 1, 32)
    assert config(tmp_path, llama__attention__head_count_kv=None).kv_heads == 4


def test_factors_are_one_of_the_graphs_tensors(tmp_path: Path) -> None:
    whole = tiny_tensors() | factors(*[2.0] * 8)
    model = Model.open(write(tmp_path / "a.gguf", gguf(tiny_metadata(), whole)))
    assert model.config.rotary.frequencies[0] == 0.5


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"general__architecture": "gpt2"}, "architecture 'gpt2'"),
        ({"general__architecture": None}, "'general.architecture' is missing"),
        ({"llama__block_count": 0}, "'llama.block_count' is 0"),
        ({"llama__block_count": None}, "'llama.block_count' is missing"),
        ({"llama__embedding_length": 1 << 30}, "'llama.embedding_length' is 1073741824"),
        ({"llama__embedding_length": 66}, "4 heads do not divide the width 66"),
        ({"llama__attention__head_count": [4, 4]}, "'llama.attention.head_count' is of type"),
        ({"llama__attention__head_count_kv": 3}, "3 KV heads"),
        ({"llama__attention__value_length": 8}, "'llama.attention.value_length' is 8"),
        ({"llama__attention__layer_norm_rms_epsilon": 0.0}, "rms_epsilon' is 0"),
        ({"llama__attention__layer_norm_rms_epsilon": nan}, "rms_epsilon' is nan"),
        ({"llama__expert_count": 8}, "'llama.expert_count' is 8"),
        ({"llama__expert_count": [8]}, "'llama.expert_count' is"),
        ({"llama__attention__sliding_window": 4096}, "'llama.attention.sliding_window' is 4096"),
        ({"llama__logit_scale": 0.5}, "'llama.logit_scale' is 0.5"),
        ({"llama__vocab_size": 9}, "'llama.vocab_size' is 9"),
        ({"llama__rope__dimension_count": 7}, "7 of a head's 16 values"),
        ({"llama__rope__dimension_count": 18}, "18 of a head's 16 values"),
        ({"llama__rope__freq_base": 0.0}, "'llama.rope.freq_base' is 0"),
        ({"llama__rope__freq_base": inf}, "'llama.rope.freq_base' is inf"),
        ({"llama__rope__scaling__type": "longrope"}, "RoPE scaling 'longrope'"),
        ({"llama__rope__scaling__type": "linear"}, "'llama.rope.scaling.factor' is missing"),
        (
            {"llama__rope__scaling__type": "yarn", "llama__rope__scaling__factor": nan},
            "'llama.rope.scaling.factor' is nan",
        ),
        (
            {
                "llama__rope__scaling__type": "yarn",
                "llama__rope__scaling__factor": 2.0,
                "llama__rope__scaling__original_context_length": 0,
            },
            "original_context_length' is 0",
        ),
    ],
)
def test_what_is_no_plain_graph_is_refused_by_its_key(
    tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(BadArtefact) as caught:
        config(tmp_path, **changes)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("values", [[0.0] * 8, [nan] * 8, [1.0] * 7])
def test_impossible_factors_are_refused_by_the_tensors_name(
    tmp_path: Path, values: list[float]
) -> None:
    with pytest.raises(BadArtefact, match=r"'rope_freqs\.weight'"):
        config(tmp_path, factors(*values))
