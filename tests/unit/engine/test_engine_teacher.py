"""The packaged model, fed true text: the core's logits against the float64 reference.

`make bench-logits` does the same on every position of the corpus, beside llama.cpp.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from apps.engine.core import PAGE, Core
from apps.engine.model import Model
from apps.engine.native import load
from apps.engine.slices import Slice
from tests.bench.judgement import Judgement
from tests.bench.logits import corpus
from tests.unit.engine.reference import F64, each_logits

pytestmark = pytest.mark.slow

POSITIONS = 64  # of each text


@pytest.fixture(scope="module")
def texts(packaged: Model) -> list[list[int]]:
    encode = packaged.tokenizer.encode
    return [encode(path.read_text("utf-8"))[:POSITIONS] for path in corpus()]


@pytest.fixture(scope="module")
def truth(packaged: Model, texts: list[list[int]]) -> list[F64]:
    return list(each_logits(packaged, texts))


@pytest.fixture(params=load().available())
def core(request: pytest.FixtureRequest, packaged: Model) -> Iterator[Core]:
    core = Core(packaged, pool_tokens=len(corpus()) * POSITIONS, isa=request.param)
    yield core
    core.close()


def test_fed_with_text_the_core_is_as_near_to_float64_as_int8_allows(
    core: Core, texts: list[list[int]], truth: list[F64]
) -> None:
    pages = POSITIONS // PAGE
    work = [
        Slice(tokens, 0, range(number * pages, (number + 1) * pages), "every")
        for number, tokens in enumerate(texts)
    ]
    logits = core.forward(work)
    judgement, exact = Judgement(), Judgement()
    for number, (tokens, expected) in enumerate(zip(texts, truth, strict=True)):
        rows = logits[number * POSITIONS : (number + 1) * POSITIONS]
        judgement.see(expected, rows, tokens)
        exact.see(expected, expected, tokens)
    assert len(judgement.agreed) == len(corpus()) * POSITIONS >= 256
    assert judgement.rms < 0.25
    assert judgement.argmax > 0.9
    assert np.log(judgement.perplexity / exact.perplexity) == pytest.approx(0, abs=0.02)
