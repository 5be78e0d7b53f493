"""The SentencePiece kind, beside the package of its authors, on vocabularies made here."""

import io
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from apps.engine.errors import BadArtefact, BadText
from apps.engine.gguf import Gguf
from apps.engine.tokenizer import Tokenizer
from apps.engine.tokenizer_kinds import read_tokenizer
from tests.unit.engine.random_text import random_text
from tests.unit.engine.tiny_gguf import gguf, write

CORPUS = Path(__file__).parents[2] / "bench" / "corpus"
# As Llama 2's tokeniser was made: the text is not changed.
KEPT = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}


@dataclass(frozen=True)
class Pair:
    reference: Any
    metadata: dict[str, Any]
    ours: Tokenizer


def train(**options: Any) -> Any:
    lines = [line for path in sorted(CORPUS.glob("*.txt")) for line in path.open(encoding="utf-8")]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type="bpe", minloglevel=2,
        num_threads=1, **KEPT, **options,
    )  # fmt: skip
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def metadata_of(reference: Any, *, space_prefix: bool) -> dict[str, Any]:
    """What a converter writes of a SentencePiece model."""
    ids = range(reference.vocab_size())
    kinds = []
    for i in ids:
        unknown, control, byte = (
            reference.is_unknown(i),
            reference.is_control(i),
            reference.is_byte(i),
        )
        kinds.append(2 if unknown else 3 if control else 6 if byte else 1)
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": [reference.id_to_piece(i) for i in ids],
        "tokenizer.ggml.scores": [reference.get_score(i) for i in ids],
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.add_space_prefix": space_prefix,
    }


def read(path: Path, metadata: dict[str, Any]) -> Tokenizer:
    return read_tokenizer(Gguf(write(path / "spm.gguf", gguf(metadata, {}))))


@pytest.fixture(scope="module", params=["with a space before", "without"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    prefix = request.param != "without"
    reference = train(
        vocab_size=900, byte_fallback=True, character_coverage=0.98, add_dummy_prefix=prefix,
        allow_whitespace_only_pieces=True,
    )  # fmt: skip
    metadata = metadata_of(reference, space_prefix=prefix)
    return Pair(reference, metadata, read(tmp_path_factory.mktemp("spm"), metadata))


def test_the_corpus_gives_the_same_tokens(pair: Pair) -> None:
    for path in sorted(CORPUS.glob("*.txt")):
        for line in path.read_text("utf-8").splitlines(keepends=True):
            assert pair.ours.encode(line) == pair.reference.encode(line), ascii(line)


def test_random_strings_give_the_same_tokens(pair: Pair) -> None:
    draw = random.Random(8)
    for _ in range(5000):
        text = random_text(draw)
        assert pair.ours.encode(text) == pair.reference.encode(text), ascii(text)


def test_the_bytes_of_the_tokens_are_the_text(pair: Pair) -> None:
    draw = random.Random(9)
    prefix = " " if pair.metadata["tokenizer.ggml.add_space_prefix"] else ""
    for _ in range(1000):
        text = random_text(draw).replace("▁", "")
        back = b"".join(map(pair.ours.bytes, pair.ours.encode(text)))
        assert back.decode() == (prefix + text if text else "")


def test_a_character_without_a_piece_becomes_its_bytes(pair: Pair) -> None:
    tokens = pair.ours.encode("😀")
    assert b"".join(map(pair.ours.bytes, tokens)).strip() == "😀".encode()
    assert len(tokens) >= 4


def test_special_and_byte_tokens_in_a_text_are_plain_text(pair: Pair) -> None:
    for text in ("<s>", "</s>", "<unk>", "<0x41>"):
        tokens = pair.ours.encode(text)
        assert not any(pair.ours.is_control(token) for token in tokens)
        assert b"".join(map(pair.ours.bytes, tokens)).decode().strip() == text
    assert pair.ours.is_control(pair.ours.control("</s>"))
    assert pair.ours.bytes(pair.ours.control("</s>")) == b""


def test_a_token_that_a_user_defined_is_placed_and_said_but_not_parsed(
    tmp_path: Path, pair: Pair
) -> None:
    more = {"tokens": "<think>", "scores": 0.0, "token_type": 4}
    keys = {f"tokenizer.ggml.{key}": item for key, item in more.items()}
    ours = read(
        tmp_path, pair.metadata | {key: [*pair.metadata[key], item] for key, item in keys.items()}
    )
    token = ours.control("<think>")
    assert token not in ours.encode("<think>")
    assert not ours.is_control(token)
    assert ours.bytes(token) == b"<think>"


def test_without_byte_tokens_a_strange_character_is_refused_not_dropped(tmp_path: Path) -> None:
    reference = train(vocab_size=400, byte_fallback=False, character_coverage=0.98)
    ours = read(tmp_path, metadata_of(reference, space_prefix=True))
    assert ours.encode("the value") == reference.encode("the value")
    with pytest.raises(BadText, match=r"U\+1F600"):
        ours.encode("the 😀")


def test_a_hundred_thousand_equal_letters_are_no_burden(pair: Pair) -> None:
    # n squared would be hours.
    assert len(pair.ours.encode("e" * 100_000)) > 10_000


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"scores": [0.5]}, "1 scores"),
        ({"scores": None}, "'tokenizer.ggml.scores' is missing"),
        ({"scores": [float("nan")] * 900}, "not a number"),
        ({"remove_extra_whitespaces": True}, "changes the text"),
        ({"precompiled_charsmap": [1, 2]}, "changes the text"),
        ({"token_type": [6] * 900}, "'<unk>' is of the type for single bytes"),
        ({"token_type": [7] * 900}, "'<unk>' is of type 7"),
        ({"token_type": [1.0] * 900}, "not an array of int"),
        ({"tokens": ["twice"] * 900}, "'twice' is there twice"),
    ],
)
def test_what_is_no_sentencepiece_vocabulary_is_refused(
    tmp_path: Path, pair: Pair, changes: dict[str, Any], complaint: str
) -> None:
    changed = pair.metadata | {f"tokenizer.ggml.{key}": item for key, item in changes.items()}
    with pytest.raises(BadArtefact) as caught:
        read(tmp_path, {key: item for key, item in changed.items() if item is not None})
    assert complaint in str(caught.value)
