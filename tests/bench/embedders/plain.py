"""ONNX Runtime as its tutorials use it: one session with its defaults and all threads, batches of
32 texts, each padded to the longest of its batch. Same graph, same tokens."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from apps.embedder.embedder import F32
from apps.embedder.model import GRAPH, Manifest
from apps.embedder.runtime import onnxruntime
from apps.embedder.tokenizer import open_tokenizer
from tests.bench.embedders.subject import Subject, serve

BATCH = 32
PADDING = 1


class Plain:
    def __init__(self, folder: Path, threads: int) -> None:
        self._manifest = Manifest.read(folder)
        self._tokenizer = open_tokenizer(folder, self._manifest)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(
            folder / GRAPH, options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, texts: Sequence[str]) -> F32:
        return np.concatenate(
            [self._batch(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
        )

    def _batch(self, texts: Sequence[str]) -> F32:
        manifest = self._manifest
        room = manifest.max_tokens - 2
        rows = [self._tokenizer.ids(manifest.prefixes["passage"] + text)[:room] for text in texts]
        ids = np.full((len(rows), max(map(len, rows)) + 2), PADDING, np.int64)
        mask = np.zeros(ids.shape, np.int32)
        for at, row in enumerate(rows):
            ids[at, : len(row) + 2] = [manifest.begin, *row, manifest.end]
            mask[at, : len(row) + 2] = 1
        vectors: F32 = self._session.run(["vector"], {"ids": ids, "mask": mask})[0]
        return vectors


def load() -> Subject:
    return Plain(Path(sys.argv[1]), int(sys.argv[2]))


if __name__ == "__main__":
    serve(load)
