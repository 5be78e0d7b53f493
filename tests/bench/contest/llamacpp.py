"""llama.cpp as a subject, over the C interface that its Python package exposes.

Runs in the interpreter that tests/bench/peers/llamacpp.py made. Its defaults are kept (flash
attention chosen by itself, float16 cache); the context is as long as our pool.
"""

import ctypes
import sys

import llama_cpp
import numpy as np

from tests.bench.contest.subject import F32, Rows, serve

CONTEXT = 2048
BATCH = 512


class LlamaCpp:
    """One model, one context, one sequence."""

    def __init__(self, path: str, threads: int) -> None:
        self.threads = threads
        llama_cpp.llama_log_set(_silent, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self._model = llama_cpp.llama_model_load_from_file(
            path.encode(), llama_cpp.llama_model_default_params()
        )
        how = llama_cpp.llama_context_default_params()
        how.n_ctx, how.n_batch, how.n_ubatch = CONTEXT, BATCH, BATCH
        how.n_threads = how.n_threads_batch = threads
        self._context = llama_cpp.llama_init_from_model(self._model, how)
        if not self._model or not self._context:
            raise SystemExit(f"llama.cpp cannot load {path}")
        vocabulary = llama_cpp.llama_model_get_vocab(self._model)
        self._words = llama_cpp.llama_vocab_n_tokens(vocabulary)
        self._batch = llama_cpp.llama_batch_init(BATCH, 0, 1)
        self._length = 0

    def start(self) -> None:
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self._context), True)
        self._length = 0

    def feed(self, tokens: list[int], rows: Rows = "last") -> F32:
        chunks = [tokens[at : at + BATCH] for at in range(0, len(tokens), BATCH)]
        wanted = [self._decode(chunk, rows, chunk is chunks[-1]) for chunk in chunks]
        return np.concatenate(wanted)

    def _decode(self, tokens: list[int], rows: Rows, final: bool) -> F32:
        batch = self._batch
        batch.n_tokens = len(tokens)
        asked = []
        for index, token in enumerate(tokens):
            batch.token[index] = token
            batch.pos[index] = self._length + index
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = 0
            wanted = rows == "every" or (final and index == len(tokens) - 1)
            batch.logits[index] = wanted
            if wanted:
                asked.append(index)
        if code := llama_cpp.llama_decode(self._context, batch):
            raise SystemExit(f"llama_decode returned {code} at position {self._length}")
        self._length += len(tokens)
        out = np.empty((len(asked), self._words), np.float32)
        for row, index in enumerate(asked):
            got = llama_cpp.llama_get_logits_ith(self._context, index)
            out[row] = np.ctypeslib.as_array(got, (self._words,))
        return out


@llama_cpp.llama_log_callback
def _silent(level: int, text: bytes, data: object) -> None:
    """Its log would bury the progress lines."""


if __name__ == "__main__":
    serve(lambda: LlamaCpp(sys.argv[1], int(sys.argv[2])))
