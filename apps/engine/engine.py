"""The engine: loads a model once, then steps any number of sequences in turn, one thread."""

import os
from collections.abc import Sequence as Tokens
from time import perf_counter

from threadpoolctl import threadpool_limits

from apps.engine.errors import BadRequest, PromptTooLong
from apps.engine.graph import Graph
from apps.engine.kv import Cache
from apps.engine.model import Model
from apps.engine.prefix import Prefixes
from apps.engine.sampler import Sampler
from apps.engine.sequence import Sequence
from apps.engine.weights import Progress, load_weights

CHUNK = 256
_PREFIXES = 4
_MAX_THREADS = 64


class Engine:
    """A loaded, warm model.

    Threads: the engine is for one thread; `threads` (default `$ENGINE_THREADS`, else 1)
    is how many the products use. Memory: 4 bytes a weight, plus
    8 x layers x KV heads x head bytes for each position of a live sequence.
    """

    def __init__(
        self,
        model: Model,
        threads: int | None = None,
        max_context: int = 2048,
        progress: Progress = lambda line: None,
    ) -> None:
        begun = perf_counter()
        self.model = model
        self.threads = threads_from_environment() if threads is None else _checked(threads)
        self.max_context = min(max_context, model.config.context)
        threadpool_limits(self.threads, user_api="blas")
        self._weights = load_weights(model, progress)
        self._graph = Graph(model.config, self._weights, self.max_context)
        self._prefixes = Prefixes(_PREFIXES)
        progress("warming up")
        self._graph.forward([0, 0], Cache(model.config, 2))
        self.load_s = perf_counter() - begun

    @property
    def weight_bytes(self) -> int:
        """Memory of the dequantised weights."""
        return self._weights.bytes

    def sequence(
        self,
        prompt: Tokens[int],
        max_tokens: int,
        *,
        shared: int = 0,
        sampler: Sampler | None = None,
    ) -> Sequence:
        """A new sequence; nothing is computed yet.

        The first `shared` prompt tokens are looked up among the cached beginnings.
        Errors: `PromptTooLong` if no token would fit after it, `BadRequest`.
        """
        vocabulary = self.model.config.vocabulary
        if max_tokens < 1 or not prompt or not 0 <= shared < len(prompt):
            raise BadRequest(
                f"{len(prompt)} prompt tokens, {shared} shared, {max_tokens} wanted;"
                " each must be at least one, and one prompt token not shared"
            )
        if not 0 <= min(prompt) <= max(prompt) < vocabulary:
            raise BadRequest(f"token ids go from 0 to {vocabulary - 1}; use this model's tokeniser")
        room = self.max_context - len(prompt)
        if room < 1:
            raise PromptTooLong(
                f"the prompt has {len(prompt)} tokens, the context {self.max_context};"
                f" shorten it by at least {1 - room}"
            )
        limit = min(max_tokens, room)
        cache = Cache(self.model.config, len(prompt) + limit)
        return Sequence(list(prompt), shared, limit, cache, sampler or Sampler())

    def step(self, sequence: Sequence) -> int | None:
        """Compute the shared beginning and at most `CHUNK` more tokens.

        The result is the sampled token, or None while the prompt is being read.
        """
        if sequence.shared:
            self._read_shared(sequence)
        waits = len(sequence.waiting) > CHUNK
        logits = self._graph.forward(sequence.take(CHUNK), sequence.cache)
        if waits:
            return None
        token = sequence.sampler.choose(logits[-1])
        sequence.add(token, self.model.tokenizer.is_control(token))
        return token

    def _read_shared(self, sequence: Sequence) -> None:
        tokens = tuple(sequence.take(sequence.shared))
        sequence.shared = 0
        stored = self._prefixes.find(tokens)
        if stored is None:
            stored = Cache(self.model.config, len(tokens))
            for first in range(0, len(tokens), CHUNK):
                self._graph.forward(tokens[first : first + CHUNK], stored)
            self._prefixes.keep(tokens, stored)
        sequence.cache.copy_from(stored)


def threads_from_environment() -> int:
    """`$ENGINE_THREADS`, or 1: a second thread gains nothing where two cores are shared."""
    text = os.environ.get("ENGINE_THREADS", "1")
    if not (text.isascii() and text.isdigit()):
        raise BadRequest(f"ENGINE_THREADS is {text!r}; set it to a number from 1 to {_MAX_THREADS}")
    return _checked(int(text))


def _checked(threads: int) -> int:
    if not 1 <= threads <= _MAX_THREADS:
        raise BadRequest(f"{threads} threads (ENGINE_THREADS); choose 1 to {_MAX_THREADS}")
    return threads
