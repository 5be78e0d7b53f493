"""Byte-level BPE beside the reference tokeniser: a corpus, every character, 100,000 strings."""

import random
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import pytest
import regex
import tokenizers

from apps.engine.errors import BadText
from apps.engine.gguf import Gguf
from apps.engine.model import default_path
from apps.engine.tokenizer import Tokenizer
from apps.engine.tokenizer_bpe import PRE
from apps.engine.tokenizer_kinds import read_tokenizer
from tests.unit.engine.random_text import random_text
from tests.unit.engine.reference_tokenizer import pre_tokenizer, reference_tokenizer
from tests.unit.engine.tiny_gguf import gguf, write

CORPUS = Path(__file__).parents[2] / "bench" / "corpus"
# By the way of cutting; the packaged model's is judged at length.
STRINGS = {"gpt-2": 10_000, "smollm": 100_000, "llama-bpe": 10_000}
_BATCH = 5_000


@pytest.fixture(scope="module")
def packaged_file() -> Gguf:
    return Gguf(default_path())


@dataclass(frozen=True)
class Pair:
    """Ours and the reference, with the packaged vocabulary and one way of cutting."""

    name: str
    ours: Tokenizer
    reference: tokenizers.Tokenizer


@pytest.fixture(scope="module", params=[*PRE])
def pair(
    request: pytest.FixtureRequest, packaged_file: Gguf, tmp_path_factory: pytest.TempPathFactory
) -> Pair:
    keys = [key for key in packaged_file.metadata if key.startswith("tokenizer.ggml.")]
    metadata = {key: packaged_file.metadata[key] for key in keys}
    metadata["tokenizer.ggml.token_type"] = packaged_file.get_list("tokenizer.ggml.token_type", int)
    metadata["tokenizer.ggml.pre"] = request.param
    path = tmp_path_factory.mktemp("pre") / "vocabulary.gguf"
    file = Gguf(write(path, gguf(metadata, {})))
    return Pair(request.param, read_tokenizer(file), reference_tokenizer(file, request.param))


def test_the_corpus_gives_the_same_tokens(pair: Pair) -> None:
    texts = sorted(CORPUS.glob("*.txt"))
    assert len(texts) >= 2
    for text in (path.read_text("utf-8") for path in texts):
        tokens = pair.ours.encode(text)
        assert tokens == pair.reference.encode(text).ids
        assert b"".join(map(pair.ours.bytes, tokens)).decode() == text


def test_random_strings_give_the_same_tokens(pair: Pair) -> None:
    draw = random.Random(20)
    lacking = _lacking(pair.ours)
    refused = 0
    for _ in range(STRINGS[pair.name] // _BATCH):
        texts = [random_text(draw) for _ in range(_BATCH)]
        for text, theirs in zip(texts, pair.reference.encode_batch_fast(texts), strict=True):
            if lacking.isdisjoint(text.encode()):
                tokens = pair.ours.encode(text)
                assert tokens == theirs.ids, ascii(text)
                assert b"".join(map(pair.ours.bytes, tokens)).decode() == text
            else:
                refused += 1
                with pytest.raises(BadText, match=r"U\+"):
                    pair.ours.encode(text)
    assert refused < STRINGS[pair.name] / 10


def _lacking(ours: Tokenizer) -> set[int]:
    """The bytes that the vocabulary cannot say; the reference drops them silently."""
    sayable = {ours.bytes(token) for token in range(ours.size)}
    return {byte for byte in range(256) if bytes([byte]) not in sayable}


@pytest.mark.parametrize("name", [*PRE])
def test_every_character_is_cut_as_the_reference_cuts_it(name: str) -> None:
    words, reference = regex.compile(PRE[name].pattern), pre_tokenizer(name)
    # What Unicode 14 does not know, one library may know before the other.
    for code in (*range(0xD800), *range(0xE000, 0x10000), *range(0x10000, 0x110000, 7)):
        one = chr(code)
        if unicodedata.category(one) == "Cn":
            continue
        text = f"a{one}1{one} {one}!{one}{one}  {one}b"
        theirs = [place for _, place in reference.pre_tokenize_str(text)]
        assert [found.span() for found in words.finditer(text)] == theirs, hex(code)
