"""Made-up documents whose vectors are chosen, so that what is near is known beforehand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from apps.loader.chunk import Box, Chunk, Document
from apps.retrieval.space import DIMENSIONS
from apps.retrieval.vector import F32

MODEL = "a-model@1"


def direction(seed: int) -> F32:
    """A unit vector that is nearly at right angles to those of other seeds."""
    vector = np.random.default_rng(seed).standard_normal(DIMENSIONS)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def between(one: F32, other: F32, share: float) -> F32:
    """A unit vector on the way from `one` (share 0) to `other` (share 1)."""
    vector = (1 - share) * one + share * other
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def chunk(number: int, text: str = "", **more: Any) -> Chunk:
    text = text or f"passage {number}"
    fields: dict[str, Any] = {
        "number": number,
        "text": text,
        "search_text": text.lower(),
        "kind": "text",
        "boxes": (Box(number + 1, 72.0, 100.5, 523.0, 130.25),),
        "section": ("Chapter 1", "Part A"),
        "tokens": 5,
        "confidence": 1.0,
        "metadata": {"table": None},
    }
    return Chunk(**{**fields, **more})


def document(name: str = "report.pdf", chunks: Sequence[Chunk] | int = 3, **more: Any) -> Document:
    made = tuple(chunk(n) for n in range(chunks)) if isinstance(chunks, int) else tuple(chunks)
    fields: dict[str, Any] = {
        "sha3": f"{abs(hash(name)) % 16**8:08x}" * 16,
        "name": name,
        "title": f"Title of {name}",
        "department": "financial",
        "report_date": date(2026, 3, 31),
        "language": "en",
        "pages": 4,
        "owner": None,
        "chunks": made,
        "risk": {"flags": []},
        "report": {"pages": 4, "skipped": {"cover": 1}},
    }
    return Document(**{**fields, **more})


@dataclass(frozen=True)
class Vectors:
    vectors: F32


@dataclass(frozen=True)
class FakeEmbedder:
    """Gives what `passages` says; each question the direction of its own text."""

    model: str
    passages: Callable[[Sequence[str]], F32]

    def embed(self, texts: Sequence[str], kind: str) -> Vectors:
        if kind == "query":
            return Vectors(np.stack([direction(sum(map(ord, text))) for text in texts]))
        return Vectors(self.passages(texts))


def vectors_of(document: Document, first_seed: int = 0) -> F32:
    """Vectors for its chunks: the directions first_seed, first_seed + 1 …"""
    made = [direction(first_seed + n) for n in range(len(document.chunks))]
    return np.stack(made) if made else np.zeros((0, DIMENSIONS), np.float32)
