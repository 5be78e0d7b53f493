"""Triton model `answer`: a prompt to the model's words, streamed token by token (decoupled).

`execute` only enqueues. One thread owns the engine and computes several answers at once;
another sends, so a client that cancels is noticed before its next token and a slow one
holds nobody up. Every number in the words is a number in the prompt, which has the facts.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import triton_python_backend_utils as pb

# First: it starts the probes, which then see the engine's modules while they are imported.
from apps.pipeline.triton import bytes_tensor, log, read_bytes  # isort: skip
from apps.engine import (
    NO_TOKEN,
    Engine,
    Generator,
    Model,
    Piece,
    Stream,
    default_path,
    default_trust,
)
from apps.pipeline.metrics import TOKENS_METRIC
from apps.pipeline.streams import Job, Streams
from observability.native import GENERATED, available
from observability.probes.request import begin, id_of

MAX_PROMPT_CHARS = 8000
MAX_TOKENS = 512
POOL_TOKENS = 4096
WAITING = 512
DEADLINE_S = 60.0
_LAST = pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class _Client:
    """One Triton response stream."""

    def __init__(self, sender: Any, tokens: Any, fire: Callable[[int, int, int], None]) -> None:
        self._sender = sender
        self._tokens = tokens
        self._fire = fire

    def stopped(self) -> bool:
        return bool(self._sender.is_cancelled())

    def piece(self, piece: Piece) -> None:
        event = piece.event
        tensors = [
            bytes_tensor("text", piece.text),
            pb.Tensor("token", np.array([piece.token], np.int32)),
            bytes_tensor("finish", piece.finish),
            _number("event", event.id if event else 0),
            _number("at_ns", event.at_ns if event else time.perf_counter_ns()),
            _number("step", event.step if event else 0),
            bytes_tensor("table", json.dumps(event.table if event else [])),
            _number("prompt_tokens", event.prompt if event else 0),
            _number("found", event.found if event else 0),
        ]
        self._sender.send(pb.InferenceResponse(tensors), flags=_LAST if piece.finish else 0)
        if piece.token != NO_TOKEN:
            self._fire(piece.token, GENERATED, 0)
            self._tokens.increment(1)

    def failed(self, reason: str) -> None:
        self._sender.send(pb.InferenceResponse(error=pb.TritonError(reason)), flags=_LAST)


class TritonPythonModel:
    """See apps.pipeline.streams and apps.engine."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Load the model; Triton waits, so the server is not ready before the engine is warm."""
        # A customer waits for the facts first: the other models' short work goes before a token.
        # Before the engine's threads start, for they inherit it.
        os.nice(5)
        self._points = available()
        self._stack = ExitStack()
        engine = Engine(
            Model.open(default_path(), default_trust()),
            pool_tokens=POOL_TOKENS,
            waiting=WAITING,
            progress=lambda line: log.info("%s", line),
        )
        self._generator = Generator(self._stack.enter_context(engine))
        self._family = pb.MetricFamily(
            name=TOKENS_METRIC, description="Tokens generated", kind=pb.MetricFamily.COUNTER
        )
        self._tokens = self._family.Metric(labels={})
        self._streams = Streams()
        self._thread = threading.Thread(target=self._streams.run, name="streams")
        self._thread.start()

    def execute(self, requests: list[Any]) -> None:
        """Enqueue; the responses come from the streams' thread."""
        for request in requests:
            with begin(_name(request)):
                self._submit(request)

    def _submit(self, request: Any) -> None:
        fire = partial(self._points.token, id_of(_name(request))) if self._points else _nobody
        client = _Client(request.get_response_sender(), self._tokens, fire)
        prompt = read_bytes(request, "prompt").decode("utf-8", "replace")
        if not prompt or len(prompt) > MAX_PROMPT_CHARS:
            client.failed(f"a prompt has 1 to {MAX_PROMPT_CHARS} characters")
            return
        name, start = _name(request), partial(self._start, *_asked(request), prompt)
        self._streams.submit(Job(name, start, client))

    def finalize(self) -> None:
        """Called by Triton before it ends the process."""
        self._streams.close()
        self._thread.join()
        self._stack.close()

    def _start(
        self,
        tokens: int,
        session: str,
        name: str,
        deadline_s: float,
        prompt: str,
        heard: Callable[[Stream], None],
    ) -> Stream:
        return self._generator.stream(
            prompt,
            tokens,
            numbers_of=[prompt],
            session=session,
            request=name,
            deadline_s=deadline_s,
            heard=heard,
        )


def _asked(request: Any) -> tuple[int, str, str, float]:
    """Tokens wanted, session, request id, seconds from now to the deadline."""
    wanted = int(pb.get_input_tensor_by_name(request, "max_tokens").as_numpy()[0])
    timeout_s = request.timeout() / 1e6
    return (
        min(max(wanted, 1), MAX_TOKENS),
        _optional(request, "session"),
        _name(request),
        min(timeout_s or DEADLINE_S, DEADLINE_S),
    )


def _name(request: Any) -> str:
    return _optional(request, "request_id") or str(request.request_id())


def _nobody(token: int, event: int, outcome: int) -> None:
    """No tracer can be told."""


def _optional(request: Any, name: str) -> str:
    if pb.get_input_tensor_by_name(request, name) is None:
        return ""
    return read_bytes(request, name).decode("utf-8", "replace")


def _number(name: str, value: int) -> Any:
    return pb.Tensor(name, np.array([value], np.int64))
