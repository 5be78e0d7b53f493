"""What each run does with its bytes: whatever they are, only the engine's own errors may come."""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from apps.engine.config import read_config
from apps.engine.detokenizer import Detokenizer
from apps.engine.errors import BadArtefact, BadRequest, BadText
from apps.engine.gguf import Gguf
from apps.engine.model import check
from apps.engine.stops import Stops
from apps.engine.tokenizer import Tokenizer
from apps.engine.tokenizer_kinds import read_tokenizer
from tests.unit.engine.tiny_gguf import gguf, tiny_metadata, write


@cache
def _file() -> tuple[int, str]:
    """A file in memory, and a name by which it can be opened."""
    descriptor = os.memfd_create("fuzz")
    return descriptor, f"/proc/self/fd/{descriptor}"


def gguf_target(data: bytes) -> None:
    """A whole file: what is not refused must be of use."""
    descriptor, path = _file()
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, data, 0)
    with suppress(BadArtefact):
        file = Gguf(path)
        for tensor in file.tensors.values():
            size = prod(tensor.shape) // tensor.format.weights * tensor.format.bytes
            assert tensor.raw.tobytes() == data[tensor.offset : tensor.offset + size]
        with suppress(BadArtefact):
            check(file, read_config(file))
        tokenizer = read_tokenizer(file)
        with suppress(BadText):
            _check_tokens(tokenizer, "the 12 é\n")


def tokenizer_target(data: bytes) -> None:
    """A text, of one kind or the other: its tokens are its bytes, or it is refused."""
    if not data:
        return
    tokenizer = _tokenizers()[data[0] % len(_tokenizers())]
    # With "surrogateescape", what is no UTF-8 becomes lone surrogates.
    text = data[1:].decode("utf-8", "surrogateescape" if data[0] & 128 else "replace")
    alone = any(0xD800 <= ord(one) <= 0xDFFF for one in text)
    try:
        _check_tokens(tokenizer, text)
    except BadText:
        assert alone
    else:
        assert not alone


def detokenizer_target(data: bytes) -> None:
    """Bytes cut anywhere: the text of all at once, and the rest on record."""
    if not data:
        return
    step, data = data[0] % 7 + 1, data[1:]
    detokenizer = Detokenizer()
    text = ""
    for at in range(0, len(data), step):
        text += detokenizer.push(at, data[at : at + step])
    text += detokenizer.finish()
    assert text == data.decode("utf-8", "ignore")
    bad = {one.offset: one for one in detokenizer.bad}
    good = bytes(byte for offset, byte in enumerate(data) if offset not in bad)
    assert good.decode() == text
    for offset, one in bad.items():
        assert data[offset] == one.byte
        assert one.token == offset // step * step


def stops_target(data: bytes) -> None:
    """Stop strings, then a text in pieces: nothing of the first that comes is given out."""
    *strings, text = data.decode("latin-1").split("\0")
    try:
        stops = Stops(strings)
    except BadRequest:
        return
    given, hit = "", None
    step = len(text) % 5 + 1
    for at in range(0, len(text), step):
        more, hit = stops.push(text[at : at + step])
        given += more
        if hit:
            break
    given += stops.finish()
    ends = {at + len(one): one for one in strings if (at := text.find(one)) >= 0}
    if not ends:
        assert (given, hit) == (text, None)
        return
    first = min(ends)
    longest = max((one for one in strings if text[:first].endswith(one)), key=len)
    assert (given, hit) == (text[: first - len(longest)], longest)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "gguf": gguf_target,
    "tokenizer": tokenizer_target,
    "detokenizer": detokenizer_target,
    "stops": stops_target,
}


def _check_tokens(tokenizer: Tokenizer, text: str) -> None:
    tokens = tokenizer.encode(text)
    said = b"".join(map(tokenizer.bytes, tokens))
    assert not any(map(tokenizer.is_control, tokens))
    assert said.decode() in (text, text.replace("▁", " "), f" {text.replace('▁', ' ')}")


@cache
def _tokenizers() -> list[Tokenizer]:
    """Each way of cutting, with few words, and the SentencePiece kind."""
    by_bytes = [
        tiny_metadata(**{"tokenizer.ggml.pre": pre}) for pre in ("smollm", "gpt-2", "llama-bpe")
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "vocabulary.gguf"
        return [
            read_tokenizer(Gguf(write(path, gguf(metadata, {}))))
            for metadata in (*by_bytes, sentencepiece_metadata())
        ]


def sentencepiece_metadata() -> dict[str, Any]:
    """A vocabulary with the most usual pieces of a few words."""
    pieces = ["▁", "t", "h", "e", "th", "the", "▁the", "▁▁", "▁t", "医", "疗", "医疗", "ee", "eeee"]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [2, 3, 3, *[6] * 256, *[1] * len(pieces)],
        "tokenizer.ggml.scores": [0.0] * 259 + [-float(rank) for rank in range(len(pieces))],
    }
