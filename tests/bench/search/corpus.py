"""A corpus whose filters and nearest rows are known: clustered vectors with what is filtered by.

Imported by the peers' interpreter too: it needs the standard library and numpy only.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt

TEXT = "a passage of the bench " * 20
BOXES = [{"page": 1, "x0": 72, "y0": 72, "x1": 500, "y1": 90}]
"""What every passage says and where it stands."""
F32 = npt.NDArray[np.float32]
DIMENSIONS = 384
DEPARTMENTS = 10
FIRST_DAY = date(2020, 1, 1)
DAYS = 2000
CLUSTER = 100
"""Rows that are about one thing, on average."""
DOCUMENT = 500
"""Rows of one document; every `UPLOADED`th document is a customer's upload."""
UPLOADED = 50
NEAREST = 5
M, BUILD, SEARCH = 16, 64, 200
"""Of every graph: pgvector's defaults, and ef_search as apps/retrieval/statement.py has it."""


@dataclass(frozen=True)
class Wanted:
    """A filter: one department or all (-1), days [since, until), least confidence."""

    department: int
    since: int
    until: int
    confidence: float

    def dates(self) -> tuple[date, date]:
        """The first and the last day."""
        return FIRST_DAY + timedelta(self.since), FIRST_DAY + timedelta(self.until - 1)


# By the percentage of rows that pass.
FILTERS = {
    "50": Wanted(-1, 0, DAYS // 2, 0.0),
    "5": Wanted(3, 0, DAYS // 2, 0.0),
    "0.24": Wanted(3, 400, 640, 0.8),
}


@dataclass(frozen=True)
class Corpus:
    """`vectors` f32 [rows, 384] of length 1; a department's number, a day and a confidence each;
    whether it is another customer's upload, which a question must not find; `questions`
    f32 [n, 384]."""

    vectors: F32
    departments: npt.NDArray[np.int32]
    days: npt.NDArray[np.int32]
    confidences: F32
    foreign: npt.NDArray[np.bool_]
    questions: F32

    def passes(self, wanted: Wanted) -> npt.NDArray[np.bool_]:
        """Which rows the filter lets through."""
        mask = ~self.foreign & (self.days >= wanted.since) & (self.days < wanted.until)
        if wanted.department >= 0:
            mask &= self.departments == wanted.department
        if wanted.confidence > 0:
            mask &= self.confidences >= np.float32(wanted.confidence)
        return mask

    def truth(self, wanted: Wanted, questions: F32) -> npt.NDArray[np.int64]:
        """The nearest rows that pass, i64 [questions, 5], by comparing them all."""
        rows = np.flatnonzero(self.passes(wanted))
        near = np.argsort(-(questions @ self.vectors[rows].T), axis=1, kind="stable")
        return rows[near[:, :NEAREST]]

    def save(self, folder: Path) -> None:
        for name in self.__dataclass_fields__:
            np.save(folder / f"{name}.npy", getattr(self, name))


def load(folder: Path) -> Corpus:
    """A saved corpus; its arrays stay in the files."""
    return Corpus(**{name: np.load(folder / f"{name}.npy") for name in Corpus.__dataclass_fields__})


def make(rows: int, questions: int, seed: int = 1) -> Corpus:
    """The same corpus for the same numbers. Questions are about what some rows are about; whether
    those pass a filter is left to chance."""
    chance = np.random.default_rng(seed)
    clusters = max(rows // CLUSTER, 1)
    centres = _directions(chance, clusters)
    about = chance.integers(clusters, size=rows)
    vectors = np.empty((rows, DIMENSIONS), np.float32)
    for begin in range(0, rows, 10_000):
        part = slice(begin, min(begin + 10_000, rows))
        noise = _directions(chance, part.stop - part.start)
        vectors[part] = _unit(centres[about[part]] + noise)
    # Most of what is about one thing belongs to one department.
    homes = chance.integers(DEPARTMENTS, size=clusters)
    moved = chance.random(rows) < 0.3
    departments = np.where(moved, chance.integers(DEPARTMENTS, size=rows), homes[about])
    near = vectors[chance.integers(rows, size=questions)]
    return Corpus(
        vectors=vectors,
        departments=departments.astype(np.int32),
        days=chance.integers(DAYS, size=rows).astype(np.int32),
        confidences=chance.random(rows).astype(np.float32),
        foreign=np.arange(rows) // DOCUMENT % UPLOADED == UPLOADED - 1,
        questions=_unit(near + _directions(chance, questions)),
    )


def recall(found: list[list[int]], truth: npt.NDArray[np.int64]) -> float:
    """The share of the nearest rows that were found."""
    hits = sum(
        len(set(mine) & set(map(int, theirs))) for mine, theirs in zip(found, truth, strict=True)
    )
    return hits / truth.size


def _directions(chance: np.random.Generator, count: int) -> F32:
    return _unit(chance.standard_normal((count, DIMENSIONS), np.float32))


def _unit(vectors: F32) -> F32:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / lengths).astype(np.float32)
