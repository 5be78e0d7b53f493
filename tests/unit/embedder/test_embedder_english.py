"""The English model: its weights, its words, its folder."""

import random
from pathlib import Path

import pytest
from tokenizers.implementations import BertWordPieceTokenizer

from apps.embedder import BadModel, Embedder
from apps.embedder.build.__main__ import main
from apps.embedder.model import TOKENIZER, Manifest
from apps.embedder.wordpiece import WordPiece
from tests.unit.embedder.built import ENGLISH, english_source
from tests.unit.embedder.tiny_packed import POSITIONS, expected, tiny


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("english")
    assert main(["--english", str(english_source(root)), "--out", str(root / "model")]) == 0
    return root / "model"


def test_it_computes_the_network_without_a_prefix(english: Path) -> None:
    begin, end = ENGLISH.index("[CLS]"), ENGLISH.index("[SEP]")
    ids = [ENGLISH.index(piece) for piece in ("d", "##bc", "fee", "##s", ".")]
    with Embedder.open(english, threads=1) as embedder:
        found = embedder.embed(["dbc FEES.", "a " * 100], "query")
        assert found.vectors[0] @ expected(tiny().tensors, [begin, *ids, end]) > 0.999999
        assert found.tokens.tolist() == [len(ids) + 2, POSITIONS]
        assert found.cut.tolist() == [0, 102 - POSITIONS]
        assert embedder.model.startswith("all-MiniLM-L6-v2-float32-")


def test_words_are_cut_as_berts_own_tokeniser_cuts_them(english: Path) -> None:
    ours = WordPiece(english / TOKENIZER, Manifest.read(english))
    theirs = BertWordPieceTokenizer(str(english / TOKENIZER), lowercase=True)
    chance = random.Random(7)
    letters = "abcdeABÉé\u0301f0129.,!-$^`~ \t\n\u00a0\u3000\u200b资产€“”…ﬁİßǅ\ufffd"
    for _ in range(2000):
        text = "".join(chance.choices(letters, k=chance.randint(0, 40)))
        assert ours.ids(text) == theirs.encode(text, add_special_tokens=False).ids, repr(text)


@pytest.mark.parametrize("length", [99, 100, 101, 500])
def test_a_word_that_is_too_long_is_one_unknown_token(english: Path, length: int) -> None:
    ours = WordPiece(english / TOKENIZER, Manifest.read(english))
    theirs = BertWordPieceTokenizer(str(english / TOKENIZER), lowercase=True)
    word = "a" + "b" * (length - 1)
    assert ours.ids(word) == theirs.encode(word, add_special_tokens=False).ids


def test_its_weights_are_not_packed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(english_source(tmp_path))
    out = ["--out", str(tmp_path / "model"), "--weights"]
    assert main(["--english", source, *out, "int4"]) == 1
    assert "build float32 or int8" in capsys.readouterr().err
    assert main(["--english", source, *out, "int8"]) == 0


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("model.safetensors", b""),
        ("model.safetensors", b"\x02\0\0\0\0\0\0\0{}"),
        ("model.safetensors", b"\x02\0\0\0\0\0\0\0[]"),
        ("model.safetensors", None),
        ("vocab.txt", None),
        ("vocab.txt", b"a\nb\n"),
    ],
)
def test_another_folder_is_refused_in_a_line(
    tmp_path: Path, name: str, data: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    source = english_source(tmp_path)
    (source / name).unlink()
    if data is not None:
        (source / name).write_bytes(data)
    assert main(["--english", str(source), "--out", str(tmp_path / "model")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1


def test_weights_that_are_cut_short_are_refused(tmp_path: Path) -> None:
    source = english_source(tmp_path)
    file = source / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    assert main(["--english", str(source), "--out", str(tmp_path / "model")]) == 1


def test_a_folder_without_its_vocabulary_is_refused(english: Path, tmp_path: Path) -> None:
    with pytest.raises(BadModel, match=r"apps\.embedder\.build"):
        WordPiece(tmp_path / TOKENIZER, Manifest.read(english))


def test_a_piece_may_be_what_ends_a_line_elsewhere(english: Path, tmp_path: Path) -> None:
    vocabulary = tmp_path / TOKENIZER
    vocabulary.write_bytes("a\n\u2028\n\x85\nb\n".encode())
    assert WordPiece(vocabulary, Manifest.read(english)).ids("b a") == [3, 0]
