"""A small packed model of the real one's kind, and what it must compute, in float64."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from math import erf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
HIDDEN, LAYERS, HEADS, INNER, POSITIONS, TYPES = 384, 2, 12, 64, 32, 2
EPSILON = 1e-12
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
BEGIN, PADDING, END, UNKNOWN = range(4)
LETTERS = [
    *"▁abcdefghij资产总计,.0123456789:",
    "▁qu",
    "er",
    "y:",
    "资产",
    "总计",
    "ab",
    "abc",
    "▁a",
]
PIECES = [*SPECIAL, *LETTERS, "<mask>"]
CHARACTERS = {"Ａ": "a", "ﬁ": "fi", "\u3000": " ", "\t": " ", "\u200b": ""}


@dataclass
class Tiny:
    """The file's bytes, and its tensors as they are read back."""

    data: bytes
    tensors: dict[str, F64]
    scores: list[float] = field(default_factory=list)


def tiny(seed: int = 1) -> Tiny:
    chance = np.random.default_rng(seed)
    # A longer piece is likelier than its parts.
    normal = [(-3.0 if len(piece) == 1 else -2.5) - 0.03 * i for i, piece in enumerate(LETTERS)]
    scores = [0.0] * 4 + normal + [0.0]
    tensors: dict[str, F64] = {}
    parts: dict[str, tuple[int, int, bytes]] = {}

    def floats(name: str, *shape: int, around: float = 0.0) -> None:
        values = (around + 0.1 * chance.standard_normal(shape)).astype("<f4")
        parts[name] = (0, values.size, values.tobytes())
        tensors[name] = values.astype(np.float64)

    def blocks(name: str, rows: int, columns: int, size: float = 0.02) -> None:
        scales = (size * (0.5 + chance.random((rows, columns // 32)))).astype("<f2")
        nibbles = chance.integers(0, 16, (rows, columns // 32, 32), np.uint8)
        packed = nibbles[..., :16] | (nibbles[..., 16:] << 4)
        whole = np.concatenate([scales[..., None].view(np.uint8), packed], axis=-1)
        parts[name] = (1, rows * columns, whole.tobytes())
        weights = (nibbles.astype(np.float64) - 8) * scales.astype(np.float64)[..., None]
        tensors[name] = weights.reshape(rows, columns)

    blocks("emb.word", len(PIECES), HIDDEN, 0.2)
    floats("emb.pos", POSITIONS, HIDDEN)
    floats("emb.type", TYPES, HIDDEN)
    _norm(floats, "emb.ln")
    for layer in range(LAYERS):
        for part in ("q", "k", "v", "ao"):
            blocks(f"l{layer}.{part}.w", HIDDEN, HIDDEN)
            floats(f"l{layer}.{part}.b", HIDDEN)
        blocks(f"l{layer}.fi.w", INNER, HIDDEN)
        floats(f"l{layer}.fi.b", INNER)
        blocks(f"l{layer}.fo.w", HIDDEN, INNER)
        floats(f"l{layer}.fo.b", HIDDEN)
        _norm(floats, f"l{layer}.aln")
        _norm(floats, f"l{layer}.oln")
    return Tiny(_file(scores, parts), tensors, scores)


def write(folder: Path, data: bytes | None = None) -> Path:
    path = folder / "packed.bin"
    path.write_bytes(tiny().data if data is None else data)
    return path


def expected(tensors: dict[str, F64], ids: list[int]) -> F64:
    """f64 [hidden]: the encoder, written down plainly."""
    rows = tensors["emb.word"][ids] + tensors["emb.pos"][: len(ids)] + tensors["emb.type"][0]
    states = _normal(tensors, "emb.ln", rows)
    for layer in range(LAYERS):

        def linear(part: str, rows: F64, layer: int = layer) -> F64:
            return rows @ tensors[f"l{layer}.{part}.w"].T + tensors[f"l{layer}.{part}.b"]

        q, k, v = (
            linear(part, states).reshape(len(ids), HEADS, -1).transpose(1, 0, 2) for part in "qkv"
        )
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        chances = np.exp(scores - scores.max(axis=-1, keepdims=True))
        chances /= chances.sum(axis=-1, keepdims=True)
        attended = (chances @ v).transpose(1, 0, 2).reshape(len(ids), HIDDEN)
        states = _normal(tensors, f"l{layer}.aln", states + linear("ao", attended))
        inner = linear("fi", states)
        active = inner * 0.5 * (1 + np.vectorize(erf)(inner / np.sqrt(2)))
        states = _normal(tensors, f"l{layer}.oln", states + linear("fo", active))
    mean: F64 = states.mean(axis=0)
    return mean / np.linalg.norm(mean)


def _norm(floats: Callable[..., None], name: str) -> None:
    floats(f"{name}.w", HIDDEN, around=1.0)
    floats(f"{name}.b", HIDDEN)


def _normal(tensors: dict[str, F64], name: str, rows: F64) -> F64:
    centred = rows - rows.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
    return centred / scale * tensors[f"{name}.w"] + tensors[f"{name}.b"]


def _file(scores: list[float], parts: dict[str, tuple[int, int, bytes]]) -> bytes:
    pieces = [piece.encode() for piece in PIECES]
    offsets = np.cumsum([0, *map(len, pieces)])
    shape = (HIDDEN, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, TYPES)
    head = [
        struct.pack("<4sI", b"E5S1", 1),
        struct.pack("<7ifi", *shape, EPSILON, 32),
        struct.pack("<5iQ", len(pieces), BEGIN, END, PADDING, UNKNOWN, int(offsets[-1])),
        offsets.astype("<u4").tobytes(),
        np.array(scores, "<f4").tobytes(),
        b"".join(pieces),
        struct.pack("<iI", len(CHARACTERS), 0),
    ]
    for old, new in CHARACTERS.items():
        head.append(struct.pack(f"<IB{len(new)}I", ord(old), len(new), *map(ord, new)))
    head.append(struct.pack("<i", len(parts)))
    directory = sum(2 + len(name) + struct.calcsize("<BIQQ") for name in parts)
    at = sum(map(len, head)) + directory
    body = []
    for name, (kind, count, data) in parts.items():
        head += [struct.pack("<H", len(name)), name.encode()]
        head.append(struct.pack("<BIQQ", kind, count, at, len(data)))
        body.append(data)
        at += len(data)
    return b"".join(head + body)
