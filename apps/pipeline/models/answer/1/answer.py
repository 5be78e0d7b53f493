"""Triton model `answer`: a prompt to the model's words, streamed token by token (decoupled).

One thread owns the engine; `execute` only enqueues, so a client that cancels is noticed before
the next token and a slow one holds nobody up.
"""

import os
import threading
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import triton_python_backend_utils as pb

from apps.engine import Engine, Generator, Model, default_path
from apps.pipeline.metrics import TOKENS_METRIC
from apps.pipeline.streams import Job, Piece, Streams
from apps.pipeline.triton import bytes_tensor, log, read_bytes

MAX_PROMPT_CHARS = 8000
MAX_TOKENS = 512
RUNNING = 32
WAITING = 64
_LAST = pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class _Client:
    """One Triton response stream."""

    def __init__(self, sender: Any, tokens: Any) -> None:
        self._sender = sender
        self._tokens = tokens

    def stopped(self) -> bool:
        return bool(self._sender.is_cancelled())

    def piece(self, piece: Piece) -> None:
        if not piece.finish and piece.token < 0:
            return  # the prompt is still being read
        tensors = [
            bytes_tensor("text", piece.text),
            pb.Tensor("token", np.array([piece.token], np.int32)),
            bytes_tensor("finish", piece.finish),
        ]
        self._sender.send(pb.InferenceResponse(tensors), flags=_LAST if piece.finish else 0)
        self._tokens.increment(1)

    def failed(self, reason: str) -> None:
        self._sender.send(pb.InferenceResponse(error=pb.TritonError(reason)), flags=_LAST)


class TritonPythonModel:
    """See apps.pipeline.streams and apps.engine."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Load the model; Triton waits, so the server is not ready before the engine is warm."""
        engine = Engine(Model.open(default_path()), progress=lambda line: log.info("%s", line))
        self._generator = Generator(engine)
        self._family = pb.MetricFamily(
            name=TOKENS_METRIC, description="Tokens generated", kind=pb.MetricFamily.COUNTER
        )
        self._tokens = self._family.Metric(labels={})
        self._streams = Streams(RUNNING, WAITING)
        # A customer waits for the facts first: the other models' short work goes before a token.
        os.nice(5)
        self._thread = threading.Thread(target=self._streams.run, name="engine")
        self._thread.start()

    def execute(self, requests: list[Any]) -> None:
        """Enqueue; the responses come from the engine's thread."""
        for request in requests:
            client = _Client(request.get_response_sender(), self._tokens)
            prompt = read_bytes(request, "prompt").decode("utf-8", "replace")
            wanted = int(pb.get_input_tensor_by_name(request, "max_tokens").as_numpy()[0])
            if not prompt or len(prompt) > MAX_PROMPT_CHARS:
                client.failed(f"a prompt has 1 to {MAX_PROMPT_CHARS} characters")
                continue
            tokens = min(max(wanted, 1), MAX_TOKENS)
            start = partial(self._generator.stream, prompt, tokens, client.stopped)
            if not self._streams.submit(Job(start, client)):
                client.failed("the model has too many answers to give; ask again later")

    def finalize(self) -> None:
        """Called by Triton before it ends the process."""
        self._streams.close()
        self._thread.join()
