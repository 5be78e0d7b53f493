"""The engine: one model, one pool, one thread that computes for everybody."""

import threading
from collections.abc import Callable, Iterable
from time import monotonic
from types import TracebackType

from apps.engine.core import PAGE, Core
from apps.engine.errors import BadRequest, EngineError, PromptTooLong
from apps.engine.model import Model
from apps.engine.owner import Owner
from apps.engine.pages import Usage
from apps.engine.pool import Pool
from apps.engine.quant import F32
from apps.engine.sampler import Sampler
from apps.engine.scheduler import Part, Scheduler, Step
from apps.engine.sequence import Output, Sequence
from apps.engine.slices import Slice
from observability.probes.request import begin, begin_all

POOL_TOKENS = 2048
WAITING = 64
MAX_DEADLINE_S = 86_400


class Engine:
    """A loaded, warm model; `with engine:` runs its thread, any thread may submit.

    Memory beside the mapped file: the core's pool of `pool_tokens` positions and its
    work space. At most `waiting` requests wait for room in the pool.
    Errors: `Forked` in a process that was forked off after the engine was made.
    """

    def __init__(
        self,
        model: Model,
        core: Core | None = None,
        *,
        pool_tokens: int = POOL_TOKENS,
        threads: int | None = None,
        waiting: int = WAITING,
        progress: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.model = model
        self.core = core or Core(model, pool_tokens=pool_tokens, threads=threads, progress=progress)
        self._pool = Pool(self.core.pages, PAGE, model.digest)
        self.max_context = min(model.config.context, self.core.pages * PAGE)
        self._scheduler = Scheduler(self._pool, waiting)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._owner = Owner()
        self._entered = False

    def __enter__(self) -> "Engine":
        self._owner.check()
        with self._changed:
            if self._entered:
                raise BadRequest("an engine runs once, for one `with`; make another one")
            self._entered = True
            self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Fail what is not finished, end the thread, free the core's memory."""
        if not self._owner.here:  # the thread stayed in the parent, and so did who holds the lock
            self.core.close()
            return
        with self._changed:
            thread, self._thread = self._thread, None
            self._changed.notify_all()
        if thread:
            thread.join()
        with self._changed:
            for sequence in self._scheduler.end(lambda one: True, "error"):
                sequence.output.fail(EngineError("the engine was closed; ask another one"))
        self.core.close()

    def usage(self) -> tuple[Usage, float]:
        """The pool's pages, and the part of all prompt positions that was found in it."""
        self._owner.check()
        with self._changed:
            return self._pool.usage(), self._pool.hit_rate

    def submit(
        self,
        prompt: list[int],
        max_tokens: int,
        output: Output,
        sampler: Sampler,
        *,
        deadline_s: float,
        session: str = "",
        request: str = "",
    ) -> None:
        """Have at most `max_tokens` made after the prompt; returns at once.

        A session's name lets its next prompt go on where this one's computation ended.
        Errors: `BadRequest`, `PromptTooLong`, `Busy` when too many wait.
        """
        self._owner.check()
        limit = self._limit(prompt, max_tokens)
        if not 0 < deadline_s <= MAX_DEADLINE_S:
            raise BadRequest(f"a deadline of {deadline_s} s; choose up to {MAX_DEADLINE_S}")
        sampler.begin(prompt, self.model.config.vocabulary)
        sequence = Sequence(
            request, session, prompt, limit, monotonic() + deadline_s, sampler, output
        )
        with self._changed:
            if self._thread is None:
                raise BadRequest(
                    "the engine does not run; ask inside `with engine:`, one that has not failed"
                )
            self._scheduler.add(sequence)
            self._changed.notify_all()

    def stop(self, session: str) -> int:
        """End all that is made for a session, before its next token; how many there were.

        What has no session's name belongs to none.
        """
        return self._end(lambda one: bool(session) and one.session == session)

    def cancel(self, output: Output) -> None:
        """End what goes to this output, before its next token."""
        self._end(lambda one: one.output is output)

    def wake(self) -> None:
        """A reader has made room."""
        self._owner.check()
        with self._changed:
            self._changed.notify_all()

    def _end(self, which: Callable[[Sequence], bool]) -> int:
        self._owner.check()
        with self._changed:
            return _tell(self._scheduler.end(which, "cancelled"))

    def _limit(self, prompt: list[int], max_tokens: int) -> int:
        """How many tokens there is room for."""
        vocabulary = self.model.config.vocabulary
        if max_tokens < 1 or not prompt:
            raise BadRequest(
                f"{len(prompt)} prompt tokens, {max_tokens} wanted; each must be at least one"
            )
        if not 0 <= min(prompt) <= max(prompt) < vocabulary:
            raise BadRequest(f"token ids go from 0 to {vocabulary - 1}; use this model's tokeniser")
        room = self.max_context - len(prompt)
        if room < 1:
            raise PromptTooLong(
                f"the prompt has {len(prompt)} tokens, the context {self.max_context};"
                f" shorten it by at least {1 - room}"
            )
        return min(max_tokens, room)

    def _run(self) -> None:
        try:
            while self._thread is threading.current_thread():
                self._turn()
        except Exception as error:  # nobody may wait for a thread that is gone
            with self._changed:
                self._thread = None
                self._fail(self._scheduler.sequences, error)

    def _turn(self) -> None:
        """Compute a step, or wait until there may be one."""
        with self._changed:
            now = monotonic()
            with begin_all(one.request for one in self._scheduler.sequences):
                _tell(self._scheduler.expire(now))
                step = self._scheduler.plan()
            if step is None and self._thread:
                deadline = self._scheduler.next_deadline()
                self._changed.wait(None if deadline is None else max(0.0, deadline - now))
        if step:
            self._compute(step)

    def _compute(self, step: Step) -> None:
        work = [
            Slice(part.tokens, part.start, part.pages, "last" if part.last else "none")
            for part in step.parts
        ]
        try:
            with begin_all(part.sequence.request for part in step.parts):
                rows = iter(self.core.forward(work))
        except Exception as error:
            self._fail([part.sequence for part in step.parts], error)
            return
        for part in step.parts:
            row = next(rows) if part.last else None
            try:
                with begin(part.sequence.request):
                    self._take(step, part, row)
            except Exception as error:
                self._fail([part.sequence], error)
        with self._changed:
            self._scheduler.settle()

    def _take(self, step: Step, part: Part, row: F32 | None) -> None:
        """One part of a step is computed; if it was the last, choose the next token."""
        sequence = part.sequence
        with self._changed:
            if sequence.finish:
                return
            self._scheduler.commit(part)
        if row is None:
            return
        token = sequence.sampler.choose(row, sequence.limit - len(sequence.made))
        with self._changed:
            # It may have been stopped in the meantime: then nobody hears of this token.
            if not sequence.finish:
                sequence.add(token, self.model.tokenizer.is_control(token), step.table)

    def _fail(self, sequences: Iterable[Sequence], error: Exception) -> None:
        with self._changed:
            for sequence in self._scheduler.end(set(sequences).__contains__, "error"):
                with begin(sequence.request):
                    sequence.output.fail(error)


def _tell(ended: list[Sequence]) -> int:
    for sequence in ended:
        with begin(sequence.request):
            sequence.output.end(sequence.finish)
    return len(ended)
