from pathlib import Path

import numpy as np
import pytest

from apps.engine.attention import attend
from apps.engine.graph import Graph
from apps.engine.kv import Cache
from apps.engine.model import Model
from apps.engine.quant import F32
from apps.engine.rope import Rope
from apps.engine.weights import load_weights
from tests.unit.engine.reference import F64, reference_logits
from tests.unit.engine.tiny_gguf import gguf, tiny_metadata, tiny_tensors, write

TOKENS = [5, 9, 200, 1, 77, 77, 3, 254, 260, 18, 90, 91]


def silent(line: str) -> None:
    """No progress wanted."""


@pytest.fixture(scope="module")
def graph(tiny: Model) -> Graph:
    return Graph(tiny.config, load_weights(tiny, silent), 64)


@pytest.fixture(scope="module")
def truth(tiny: Model) -> F64:
    return reference_logits(tiny, [TOKENS])[0]


def run(graph: Graph, model: Model, *lengths: int) -> F32:
    """Logits of all TOKENS, computed in pieces of the given lengths."""
    cache, rows, at = Cache(model.config, len(TOKENS)), [], 0
    for length in lengths:
        rows.append(graph.forward(TOKENS[at : at + length], cache, every=True))
        at += length
    assert at == cache.length == len(TOKENS)
    return np.concatenate(rows)


@pytest.mark.parametrize("lengths", [(12,), (1,) * 12, (5, 7), (11, 1), (1, 4, 4, 3)])
def test_any_cut_of_the_tokens_gives_the_reference_logits(
    graph: Graph, tiny: Model, truth: F64, lengths: tuple[int, ...]
) -> None:
    np.testing.assert_allclose(run(graph, tiny, *lengths), truth, rtol=1e-4, atol=1e-4)


def test_without_every_only_the_last_logits_come(graph: Graph, tiny: Model, truth: F64) -> None:
    logits = graph.forward(TOKENS, Cache(tiny.config, len(TOKENS)))
    assert logits.shape == (1, tiny.config.vocabulary)
    np.testing.assert_allclose(logits, truth[-1:], rtol=1e-4, atol=1e-4)


def test_the_same_calls_give_the_same_bits(graph: Graph, tiny: Model) -> None:
    assert (run(graph, tiny, 5, 7) == run(graph, tiny, 5, 7)).all()


def test_a_copied_cache_continues_as_the_first(graph: Graph, tiny: Model) -> None:
    first, second = Cache(tiny.config, 12), Cache(tiny.config, 20)
    graph.forward(TOKENS[:8], first)
    second.copy_from(first)
    assert (graph.forward(TOKENS[8:], first) == graph.forward(TOKENS[8:], second)).all()


def test_a_head_of_its_own_is_used(tmp_path: Path) -> None:
    file = write(tmp_path / "a.gguf", gguf(tiny_metadata(), tiny_tensors(tied=False)))
    model = Model.open(file)
    weights = load_weights(model, silent)
    assert weights.head is not weights.embedding
    graph = Graph(model.config, weights, 64)
    wanted = reference_logits(model, [TOKENS])[0]
    np.testing.assert_allclose(run(graph, model, 12), wanted, rtol=1e-4, atol=1e-4)


def plain_attention(queries: F32, keys: F32, values: F32) -> F64:
    """Attention of one query and one head at a time."""
    count, heads, head = queries.shape
    groups, positions, _ = keys.shape
    out = np.empty((count, heads, head))
    for query in range(count):
        seen = positions - count + query + 1
        for number in range(heads):
            group = number * groups // heads
            scores = keys[group, :seen].astype(np.float64) @ queries[query, number] / head**0.5
            weights = np.exp(scores - scores.max())
            out[query, number] = weights / weights.sum() @ values[group, :seen]
    return out.reshape(count, heads * head)


@pytest.mark.parametrize(("heads", "groups"), [(9, 3), (4, 4), (8, 1)])
@pytest.mark.parametrize(("count", "positions"), [(1, 1), (1, 40), (7, 7), (5, 33)])
def test_attention_is_causal_and_shares_heads_by_groups(
    heads: int, groups: int, count: int, positions: int
) -> None:
    random = np.random.default_rng(heads * 100 + positions)
    queries = random.standard_normal((count, heads, 16), np.float32)
    keys = random.standard_normal((groups, positions, 16), np.float32)
    values = random.standard_normal((groups, positions, 16), np.float32)
    got = attend(queries, keys, values)
    np.testing.assert_allclose(got, plain_attention(queries, keys, values), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("error")
def test_attention_with_extreme_scores_stays_a_number() -> None:
    queries = np.full((3, 2, 8), 1e4, np.float32)
    keys = np.stack([np.full((3, 8), 1e4), np.full((3, 8), -1e4)]).astype(np.float32)
    values = np.ones((2, 3, 8), np.float32)
    np.testing.assert_allclose(attend(queries, keys, values), 1, rtol=1e-6)


def test_rope_turns_each_pair_by_its_angle_and_keeps_lengths() -> None:
    x = np.random.default_rng(1).standard_normal((3, 2, 8), np.float32)
    turned = Rope(8, 100.0, 32).turn(x, first=20)
    for token in range(3):
        for pair in range(4):
            angle = (20 + token) * 100.0 ** (-2 * pair / 8)
            a, b = x[token, :, 2 * pair], x[token, :, 2 * pair + 1]
            real, imaginary = turned[token, :, 2 * pair], turned[token, :, 2 * pair + 1]
            np.testing.assert_allclose(real, a * np.cos(angle) - b * np.sin(angle), atol=1e-5)
            np.testing.assert_allclose(imaginary, a * np.sin(angle) + b * np.cos(angle), atol=1e-5)
    norms = np.linalg.norm(x, axis=-1)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=-1), norms, rtol=1e-5)
