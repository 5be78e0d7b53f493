"""Real code of several actors on one fake API server, in every order of their requests.

An actor is a thread that stops before each request until it is its turn. Orders
that lead to the same objects and the same answers so far are tried only once.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from rollout.errors import RolloutError
from tests.unit.rollout.fake_api import FakeApi, Object, together

PATIENCE_S = 30.0


class OneByOne(FakeApi):
    """An object's version is what it says, so that orders which end alike are alike.

    Such a server refuses less than a real one, where a version never comes back.
    """

    def __init__(self, objects: dict[str, Object]) -> None:
        super().__init__()
        self.objects = copy.deepcopy(objects)
        self.written: dict[str, str] = {}
        """The text of every object that was written since."""

    def _store(self, path: str, body: Object) -> Object:
        body = copy.deepcopy(body)
        body["metadata"]["resourceVersion"] = ""
        text = json.dumps(body, sort_keys=True)
        body["metadata"]["resourceVersion"] = sha256(text.encode()).hexdigest()[:16]
        self.objects[path], self.written[path] = body, text
        return copy.deepcopy(body)


def _taken() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


class _Stopped(BaseException):
    """This order is known from here on."""


@dataclass
class Actor:
    """`shared`: the requests before which others may go. `backwards`: the order of a bundle."""

    fake: FakeApi
    work: Callable[[Actor], None]
    shared: Callable[[str, str], bool]
    backwards: bool = False
    done: bool = False
    error: BaseException | None = None
    answers: int = 0
    """A digest of all answers so far: with the code this is the actor's whole state."""
    _go: threading.Lock = field(default_factory=_taken)
    _here: threading.Lock = field(default_factory=_taken)
    _stop: bool = False

    def start(self) -> None:
        """Run to the first request."""
        threading.Thread(target=self._run, daemon=True).start()
        assert self._here.acquire(timeout=PATIENCE_S)

    def step(self) -> None:
        """One request, and what follows it up to the next."""
        self._go.release()
        assert self._here.acquire(timeout=PATIENCE_S)

    def remember(self, what: object) -> None:
        """All that the actor goes on from: of the answers so far it knows no more."""
        self.answers = hash(repr(what))

    def stop(self) -> None:
        """Leave an order half-way."""
        self._stop = True
        while not self.done:
            self.step()

    def together(self, calls: Iterable[Callable[[], Any]]) -> list[Any]:
        if self.backwards:
            return together([*calls][::-1])[::-1]
        return together(calls)

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        method = getattr(self.fake, verb)

        def call(path: str, *more: Any, **options: Any) -> Any:
            if self.shared(verb, path):
                self._here.release()
                assert self._go.acquire(timeout=PATIENCE_S)
                if self._stop:
                    raise _Stopped
            try:
                answer = method(path, *more, **options)
                answer = list(answer) if isinstance(answer, Iterator) else answer
            except RolloutError as error:
                self.answers = hash((self.answers, str(error)))
                raise
            if not isinstance(answer, bytes):
                self.answers = hash((self.answers, json.dumps(answer, sort_keys=True)))
            return answer

        return call

    def _run(self) -> None:
        try:
            self.work(self)
        except _Stopped:
            pass
        except BaseException as error:
            self.error = error
        self.done = True
        self._here.release()


@dataclass
class Play:
    """One order: the actors, and a check after each step."""

    fake: OneByOne
    actors: Sequence[Actor]
    check: Callable[[], None]
    finish: Callable[[], None]


def every_order(make: Callable[[], Play]) -> int:
    """Play every order of requests; how many were played to their end."""
    known: set[int] = set()
    orders, ends = [list[int]()], 0
    while orders:
        ends += _play(make(), orders.pop(), known, orders)
    return ends


def _play(play: Play, order: list[int], known: set[int], orders: list[list[int]]) -> bool:
    for actor in play.actors:
        actor.start()
    made: list[int] = []
    while True:
        alive = [number for number, actor in enumerate(play.actors) if not actor.done]
        if len(made) >= len(order):
            here = _digest(play)
            if here in known:
                for actor in play.actors:
                    actor.stop()
                return False
            known.add(here)
            orders.extend([*made, other] for other in alive[1:])
        if not alive:
            break
        chosen = order[len(made)] if len(made) < len(order) else alive[0]
        play.actors[chosen].step()
        made.append(chosen)
        _checked(play.check, made)
    _checked(play.finish, made)
    return True


def _checked(check: Callable[[], None], made: list[int]) -> None:
    try:
        check()
    except AssertionError as error:
        raise AssertionError(f"{error} in the order {''.join(map(str, made))}") from error


def _digest(play: Play) -> int:
    objects = tuple(sorted(play.fake.written.items()))
    return hash((objects, *((actor.answers, actor.done) for actor in play.actors)))
