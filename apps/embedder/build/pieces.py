"""The vocabulary as the bytes of a SentencePiece model, in the packaged order of ids.

Written in protobuf's wire format by hand: seven kinds of fields need no generated code. The
model's own normaliser does nothing; `apps.embedder.tokenizer` says what happens to a text first.
"""

import struct

from apps.embedder.build.packed import Vocabulary

_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3
_UNIGRAM = 1
_MASK = b"<mask>"


def sentencepiece_model(vocabulary: Vocabulary) -> bytes:
    """A `ModelProto` whose special pieces, `<mask>` too, are never read from a text."""
    control = {vocabulary.begin, vocabulary.end, vocabulary.padding}
    pieces = b"".join(
        _part(1, _part(1, piece) + _float(2, score) + _number(3, _kind(vocabulary, control, i)))
        for i, (piece, score) in enumerate(
            zip(vocabulary.pieces, vocabulary.scores.tolist(), strict=True)
        )
    )
    trainer = (
        _number(3, _UNIGRAM)
        + _number(4, len(vocabulary.pieces))
        + _number(40, vocabulary.unknown)
        + _number(41, vocabulary.begin)
        + _number(42, vocabulary.end)
        + _number(43, vocabulary.padding)
        + b"".join(
            _part(field, vocabulary.pieces[i])
            for field, i in (
                (45, vocabulary.unknown),
                (46, vocabulary.begin),
                (47, vocabulary.end),
                (48, vocabulary.padding),
            )
        )
    )
    # A space is put before the text and becomes U+2581, like every other.
    normalizer = _part(1, b"identity") + _number(3, 1) + _number(4, 0) + _number(5, 1)
    return pieces + _part(2, trainer) + _part(3, normalizer)


def _kind(vocabulary: Vocabulary, control: set[int], i: int) -> int:
    if i == vocabulary.unknown:
        return _UNKNOWN
    return _CONTROL if i in control or vocabulary.pieces[i] == _MASK else _NORMAL


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def _part(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
