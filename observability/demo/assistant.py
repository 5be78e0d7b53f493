"""A small assistant with three faults in it; the recording shows which request met which."""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from observability.demo.stand_in import Gpu

_WEIGHTS = bytes(1 << 20)
# What the faulty function copies each time, though nothing changed: the whole of it.
_COPIES = 12
_TOKENS = 23
_READ_BEFORE_LEAVING = 5
_CACHE_BYTES = 1 << 18


@dataclass
class Answer:
    """What became of a request's tokens."""

    generated: int = 0
    delivered: int = 0
    outcome: str = "answered"


class Assistant:
    """Serves requests on the stand-in GPU."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._weights = gpu.malloc(len(_WEIGHTS))
        self._kept: list[int] = []

    async def serve(self, intent: str, on_token: "TokenSink") -> Answer:
        """Answer one request."""
        self.preprocess(intent)
        if intent == "lab_report":
            self.load_report()
        cache = self.take_cache()
        answer = await self.generate(on_token, leaves=intent == "document_question")
        if intent == "insurance_balance":
            self.keep_for_later(cache)
        else:
            self.give_cache_back(cache)
        return answer

    def preprocess(self, intent: str) -> int:
        """Some work on the CPU."""
        return sum(hash((intent, i)) & 7 for i in range(2_000))

    def load_report(self) -> None:
        """The first fault: it copies the same megabyte again and again."""
        for _ in range(_COPIES):
            self.copy_weights()

    def copy_weights(self) -> None:
        """One copy to the GPU."""
        self._gpu.copy(self._weights, _WEIGHTS)

    def take_cache(self) -> int:
        """Room for the answer's keys and values."""
        return self._gpu.malloc(_CACHE_BYTES)

    def give_cache_back(self, cache: int) -> None:
        """The room is free again."""
        self._gpu.free(cache)

    def keep_for_later(self, cache: int) -> None:
        """The second fault: nothing ever uses it again."""
        self._kept.append(cache)

    async def generate(self, on_token: "TokenSink", *, leaves: bool) -> Answer:
        """Token by token. The third fault is the client's: it leaves, and we go on."""
        answer = Answer(outcome="client left" if leaves else "answered")
        for number in range(_TOKENS):
            self.forward()
            await asyncio.sleep(0.0005)
            read = not leaves or number < _READ_BEFORE_LEAVING
            on_token.token(number, read=read)
            answer.generated += 1
            answer.delivered += read
        return answer

    def forward(self) -> None:
        """One step of the model."""
        self._gpu.compute()


class TokenSink(Protocol):
    """Where tokens go."""

    def token(self, number: int, *, read: bool) -> None:
        """One token was generated; whether the client read it."""
