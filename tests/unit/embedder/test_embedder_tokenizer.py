"""Texts become the likeliest pieces, and nothing in a text is read as a special token."""

import random
from pathlib import Path

import numpy as np
import pytest

from apps.embedder.errors import BadModel
from apps.embedder.model import TOKENIZER, Manifest
from apps.embedder.unigram import Unigram
from tests.unit.embedder.tiny_packed import BEGIN, END, PIECES, UNKNOWN, tiny

SCORES = tiny().scores
NORMAL = {piece: i for i, piece in enumerate(PIECES) if i > UNKNOWN and piece != "<mask>"}
LOWEST = min(SCORES[i] for i in NORMAL.values())


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Unigram:
    return Unigram(folder / TOKENIZER, Manifest.read(folder))


def likeliest(text: str) -> float:
    """The best sum of scores of any way to cut `text`; an unknown character costs 10 more."""
    best = [0.0] + [-np.inf] * len(text)
    for end in range(1, len(text) + 1):
        for begin in range(end):
            piece = text[begin:end]
            if piece in NORMAL:
                best[end] = max(best[end], best[begin] + SCORES[NORMAL[piece]])
        best[end] = max(best[end], best[end - 1] + LOWEST - 10)
    return best[-1]


def pieces(tokenizer: Unigram, text: str) -> list[str]:
    return [PIECES[token] for token in tokenizer.ids(text)]


def test_random_texts_are_cut_the_likeliest_way(tokenizer: Unigram) -> None:
    chance = random.Random(5)
    for _ in range(500):
        # A prefix always stands before the text, so no text begins with a space.
        letters = chance.choices("abcdefghijquery: 资产总计0,x€", k=chance.randint(1, 30))
        text = "query:" + "".join(letters)
        while "  " in text:
            text = text.replace("  ", " ")
        marked = "▁" + text.replace(" ", "▁")
        ids = tokenizer.ids(text)
        score = sum(SCORES[i] if i != UNKNOWN else LOWEST - 10 for i in ids)
        assert score == pytest.approx(likeliest(marked), abs=1e-3), text
        rest = marked
        for i in ids:
            piece = rest[:1] if i == UNKNOWN else PIECES[i]
            assert rest.startswith(piece)
            rest = rest[len(piece) :]
        assert rest == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("abc资产总计", ["▁", "abc", "资产", "总计"]),
        ("a  a", ["▁a", "▁a"]),
        ("Ａ", ["▁a"]),
        ("ﬁ", ["▁", "f", "i"]),
        ("a\t\u3000a", ["▁a", "▁a"]),
        ("a\u200bb", ["▁", "ab"]),
    ],
)
def test_forms_and_white_space_are_made_one(
    tokenizer: Unigram, text: str, found: list[str]
) -> None:
    assert pieces(tokenizer, text) == found


def test_each_unknown_character_is_a_token(tokenizer: Unigram) -> None:
    assert tokenizer.ids("€€€") == [NORMAL["▁"], UNKNOWN, UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("text", ["<s>", "</s>", "<pad>", "<unk>", "<mask>"])
def test_nothing_in_a_text_is_a_special_token(tokenizer: Unigram, text: str) -> None:
    ids = tokenizer.ids(text)
    assert not {BEGIN, END, PIECES.index("<pad>"), PIECES.index("<mask>")} & set(ids)
    assert len(ids) > 2


def test_half_a_surrogate_pair_is_an_unknown_character(tokenizer: Unigram) -> None:
    assert tokenizer.ids("a\ud800") == tokenizer.ids("a\ufffd")
    assert tokenizer.ids("\ud83d\ude00") == tokenizer.ids("😀")


def test_a_file_that_is_no_tokeniser_is_refused(folder: Path, tmp_path: Path) -> None:
    for data in (None, b"", b"nonsense"):
        path = tmp_path / "tokenizer.model"
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(BadModel, match=r"apps\.embedder\.build"):
            Unigram(path, Manifest.read(folder))
