"""The model `embed` in the real server: many callers, one batch, the same vectors."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton

from apps.embedder import Embedder, default_model
from tests.integration.pipeline.harness import Pipeline

TEXTS = ["我的医保余额是多少？", "What is the deductible?", "资产总计 1,234,567.00 元", "q " * 800]


def infer(pipeline: Pipeline, texts: list[str], kind: str) -> Any:
    inputs = []
    for name, values in (("text", texts), ("kind", [kind] * len(texts))):
        one = triton.InferInput(name, [len(values), 1], "BYTES")
        one.set_data_from_numpy(np.array([[value.encode()] for value in values], np.object_))
        inputs.append(one)
    return pipeline.client.infer("embed", inputs, client_timeout=60)


def test_vectors_are_the_embedders_own_whatever_else_is_in_the_batch(pipeline: Any) -> None:
    with Embedder.open(default_model()) as embedder:
        alone = [embedder.embed([text], "passage") for text in TEXTS]
    jobs = TEXTS * 8
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda text: infer(pipeline, [text], "passage"), jobs))
    for at, result in enumerate(results):
        expected = alone[at % len(TEXTS)]
        np.testing.assert_array_equal(result.as_numpy("vector"), expected.vectors)
        assert result.as_numpy("tokens")[0] == expected.tokens
        assert result.as_numpy("cut")[0] == expected.cut
    assert alone[-1].cut[0] > 0


def test_waiting_requests_are_computed_together(pipeline: Any) -> None:
    before = executions(pipeline)
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda number: infer(pipeline, [f"text {number}"], "query"), range(256)))
    assert 0 < executions(pipeline) - before < 256


def test_one_request_may_have_several_texts(pipeline: Any) -> None:
    vectors = infer(pipeline, TEXTS, "query").as_numpy("vector")
    assert vectors.shape == (len(TEXTS), 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("texts", "kind", "why"),
    [([" "], "query", "empty"), (["a"], "question", "query or passage")],
)
def test_a_bad_request_is_refused_and_its_neighbours_are_answered(
    pipeline: Any, texts: list[str], kind: str, why: str
) -> None:
    with ThreadPoolExecutor(9) as pool:
        good = [pool.submit(infer, pipeline, ["a neighbour"], "query") for _ in range(8)]
        with pytest.raises(triton.InferenceServerException, match=why):
            infer(pipeline, texts, kind)
        assert all(len(each.result().as_numpy("vector")) == 1 for each in good)


def executions(pipeline: Pipeline) -> int:
    """How often the model ran so far, each time for one batch."""
    statistics = pipeline.client.get_inference_statistics("embed", as_json=True)
    return int(statistics["model_stats"][0]["execution_count"])
