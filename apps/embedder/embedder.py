"""Texts to vectors on ONNX Runtime."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from apps.cpus import available_cpus
from apps.embedder.errors import BadModel, BadText, Busy, EmbedderError
from apps.embedder.model import GRAPH, Manifest
from apps.embedder.runtime import onnxruntime
from apps.embedder.tokenizer import Tokenizer, open_tokenizer

Kind = Literal["query", "passage"]
F32 = NDArray[np.float32]
DIMENSIONS = 384


@dataclass(frozen=True, slots=True)
class Embedded:
    """`vectors` f32 [texts, dimensions], each of length 1; `tokens` i32 [texts] that were
    computed, special ones and prefix included; `cut` i32 [texts] that a text was too long by."""

    vectors: F32
    tokens: NDArray[np.int32]
    cut: NDArray[np.int32]


def is_empty(text: str) -> bool:
    """Whether nothing of `text` can be seen: white space, and what has no width or form."""
    return not any(one.isprintable() and not one.isspace() for one in text)


class Embedder:
    """A model in memory; for any number of threads.

    Each text is a run of its own on one thread, and `threads` runs go on at once: no text is
    padded to another's length, and none changes another's vector.
    """

    def __init__(self, manifest: Manifest, tokenizer: Tokenizer, graph: Path, threads: int) -> None:
        self._manifest = manifest
        self._tokenizer = tokenizer
        self._session = _session(graph)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="embed")
        self._room = manifest.max_tokens - 2

    @classmethod
    def open(cls, folder: Path, threads: int | None = None) -> "Embedder":
        """Load the model of `folder`; `threads` are by default as many as the cgroup's CPUs.

        Errors: `BadModel`.
        """
        manifest = Manifest.read(folder)
        if manifest.dimensions != DIMENSIONS:
            raise BadModel(
                f"{folder}: vectors of {manifest.dimensions} numbers, not of {DIMENSIONS}"
                " as the database has them; build the model that it was filled with"
            )
        tokenizer = open_tokenizer(folder, manifest)
        return cls(manifest, tokenizer, folder / GRAPH, threads or available_cpus())

    @property
    def model(self) -> str:
        """The name that vectors are kept under; vectors of two names cannot be compared."""
        return self._manifest.name

    def count(self, text: str, kind: Kind = "passage") -> int:
        """How many tokens `text` has, special ones and prefix included; it may be too long."""
        return len(self._ids(text, kind)) + 2

    def embed(self, texts: Sequence[str], kind: Kind, timeout_s: float | None = None) -> Embedded:
        """The vectors of `texts`, in order.

        A text that is too long is cut at its end. Errors: `BadText` if one `is_empty`, before
        anything is computed; `Busy` if the others' texts and these take longer than
        `timeout_s`, and then what did not begin is left.
        """
        for at, text in enumerate(texts):
            if is_empty(text):
                raise BadText(f"text {at + 1} of {len(texts)} is empty; leave it out")
        found = [self._ids(text, kind) for text in texts]
        ids = [self._whole(tokens) for tokens in found]
        vectors = np.empty((len(ids), self._manifest.dimensions), np.float32)
        # The longest first, so that no thread is left alone with it at the end.
        order = sorted(range(len(ids)), key=lambda at: -len(ids[at]))
        runs = self._pool.map(self._run, [ids[at] for at in order], timeout=timeout_s)
        try:
            for at, vector in zip(order, runs, strict=True):
                vectors[at] = vector
        except TimeoutError:
            why = f"{len(ids)} texts took longer than {timeout_s:g} s; send fewer, or later"
            raise Busy(why) from None
        if not np.isfinite(vectors).all():
            raise EmbedderError(f"{self.model} gave a vector that is no number; build it again")
        tokens = np.array([len(row) for row in ids], np.int32)
        cut = np.array([len(row) + 2 for row in found], np.int32) - tokens
        return Embedded(vectors, tokens, cut.astype(np.int32))

    def close(self) -> None:
        """End the threads; runs that began are finished."""
        self._pool.shutdown()

    def __enter__(self) -> "Embedder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ids(self, text: str, kind: Kind) -> list[int]:
        return self._tokenizer.ids(self._manifest.prefixes[kind] + text)

    def _whole(self, ids: list[int]) -> list[int]:
        return [self._manifest.begin, *ids[: self._room], self._manifest.end]

    def _run(self, ids: list[int]) -> F32:
        row = np.array([ids], np.int64)
        mask = np.ones(row.shape, np.int32)
        vector: F32 = self._session.run(["vector"], {"ids": row, "mask": mask})[0][0]
        return vector


def _session(graph: Path) -> onnxruntime.InferenceSession:
    """One thread a run and no arena: what a long text needed is given back after it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            os.fspath(graph), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the library has no common base for what it raises
        why = str(error).splitlines()[0]
        raise BadModel(
            f"{graph}: {why}; run `python -m apps.embedder.build --out {graph.parent}`"
        ) from None
