"""Texts to vectors: in order, alone or together, and what is cut off is said."""

import json
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.embedder import BadModel, BadText, Embedder
from apps.embedder.errors import Busy
from apps.embedder.model import GRAPH, MANIFEST
from tests.unit.embedder.tiny_packed import POSITIONS, expected, tiny

TEXTS = ["a", "资产总计 1,234.00", "abc" * 7, "b c d e", "9"]


@pytest.fixture(scope="module")
def embedder(folder: Path) -> Iterator[Embedder]:
    with Embedder.open(folder, threads=3) as embedder:
        yield embedder


def test_vectors_come_in_order_and_do_not_depend_on_company(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS, "passage")
    assert together.vectors.dtype == np.float32
    assert together.vectors.shape == (len(TEXTS), 384)
    for text, vector in zip(TEXTS, together.vectors, strict=True):
        np.testing.assert_array_equal(embedder.embed([text], "passage").vectors[0], vector)


def test_many_callers_get_their_own(embedder: Embedder) -> None:
    expected_vectors = {text: embedder.embed([text], "query").vectors for text in TEXTS}
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: embedder.embed([text], "query").vectors, TEXTS * 20))
    for text, vectors in zip(TEXTS * 20, found, strict=True):
        np.testing.assert_array_equal(vectors, expected_vectors[text])


def test_no_more_texts_are_computed_at_once_than_there_are_threads(folder: Path) -> None:
    with Embedder.open(folder, threads=2) as embedder:
        running, most, lock = 0, 0, threading.Lock()
        run = embedder._run

        def watched(ids: list[int]) -> Any:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            try:
                return run(ids)
            finally:
                with lock:
                    running -= 1

        embedder._run = watched  # type: ignore[method-assign]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda text: embedder.embed([text], "query"), TEXTS * 20))
    assert most <= 2


def test_what_takes_too_long_is_given_up_and_what_did_not_begin_is_left(folder: Path) -> None:
    with Embedder.open(folder, threads=1) as embedder:
        run, go_on, begun = embedder._run, threading.Event(), []

        def held(ids: list[int]) -> Any:
            begun.append(ids)
            assert go_on.wait(30)
            return run(ids)

        embedder._run = held  # type: ignore[method-assign]
        with pytest.raises(Busy, match=r"20 texts took longer than 0\.05 s; send fewer, or later"):
            embedder.embed(["a"] * 20, "query", timeout_s=0.05)
        go_on.set()
        assert embedder.embed(["a"], "query", timeout_s=60).tokens.tolist() == [6]
        assert len(begun) == 2


def test_the_prefix_of_the_kind_and_the_special_tokens_are_computed(embedder: Embedder) -> None:
    ids = embedder._tokenizer.ids("query: 资产")
    vector = embedder.embed(["资产"], "query").vectors[0]
    assert vector @ expected(tiny().tensors, [0, *ids, 2]) > 0.9995
    assert embedder.count("资产", "query") == len(ids) + 2
    assert not np.array_equal(vector, embedder.embed(["资产"], "passage").vectors[0])


@pytest.mark.parametrize("beyond", [-1, 0, 1, 40])
def test_what_is_cut_off_is_counted(embedder: Embedder, beyond: int) -> None:
    room = POSITIONS - embedder.count("")
    text = "j" * (room + beyond)
    assert embedder.count(text) == POSITIONS + beyond
    found = embedder.embed([text, "a"], "passage")
    assert found.tokens.tolist() == [min(POSITIONS, POSITIONS + beyond), embedder.count("a")]
    assert found.cut.tolist() == [max(0, beyond), 0]
    if beyond > 0:
        kept = embedder.embed(["j" * room], "passage").vectors[0]
        np.testing.assert_array_equal(found.vectors[0], kept)


def test_no_texts_are_no_vectors(embedder: Embedder) -> None:
    found = embedder.embed([], "query")
    assert (found.vectors.shape, found.tokens.shape, found.cut.shape) == ((0, 384), (0,), (0,))


@pytest.mark.parametrize("empty", ["", " ", "\u3000\n\t", "\0", "\u200b\ufeff", "\u202e\ud800"])
def test_an_empty_text_is_named(embedder: Embedder, empty: str) -> None:
    with pytest.raises(BadText, match="text 2 of 3 is empty"):
        embedder.embed(["a", empty, "b"], "passage")


def test_a_text_of_unknown_characters_has_a_vector(embedder: Embedder) -> None:
    vectors = embedder.embed(["€\x00\ud800"], "passage").vectors
    np.testing.assert_allclose(np.linalg.norm(vectors), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (MANIFEST, None),
        (MANIFEST, b"{}"),
        (MANIFEST, b"\xff"),
        (GRAPH, None),
        (GRAPH, b"nonsense"),
        (GRAPH, b""),
    ],
)
def test_a_damaged_folder_is_refused_with_what_mends_it(
    folder: Path, tmp_path: Path, name: str, data: bytes | None
) -> None:
    broken = shutil.copytree(folder, tmp_path / "model")
    (broken / name).unlink()
    if data is not None:
        (broken / name).write_bytes(data)
    with pytest.raises(BadModel, match=r"apps\.embedder\.build") as caught:
        Embedder.open(broken)
    assert "\n" not in str(caught.value)


def test_vectors_of_another_width_are_refused(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder, tmp_path / "model")
    manifest = json.loads((other / MANIFEST).read_text())
    (other / MANIFEST).write_text(json.dumps({**manifest, "dimensions": 768}))
    with pytest.raises(BadModel, match="768"):
        Embedder.open(other)
