"""Readiness: load alone and one dead neighbour leave the gateway ready."""

import asyncio

from apps.gateway.health import DRAIN_S, RECENT_S, Health


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def ready(health: Health, *answers: bool) -> tuple[bool, int]:
    asked = 0

    def probe(answer: bool):  # type: ignore[no-untyped-def]
        async def one() -> bool:
            nonlocal asked
            asked += 1
            return answer

        return one

    result, why = asyncio.run(health.ready(*(probe(answer) for answer in answers)))
    assert why
    return result, asked


def test_recent_success_is_enough_and_asks_nobody() -> None:
    clock = Clock()
    health = Health(clock)
    health.started = True
    health.succeeded()
    clock.now += RECENT_S
    assert ready(health, False, False) == (True, 0)


def test_without_recent_success_one_neighbour_is_enough() -> None:
    health = Health(Clock())
    health.started = True
    assert ready(health, False, True) == (True, 2)
    assert ready(health, False, False) == (False, 2)


def test_not_ready_before_the_start_and_while_stopping() -> None:
    health = Health(Clock())
    health.succeeded()
    assert ready(health, True) == (False, 0)
    health.started = health.stopping = True
    assert ready(health, True) == (False, 0)


def test_draining_ends_by_itself_and_stopping_does_not() -> None:
    clock = Clock()
    health = Health(clock)
    assert not health.draining
    health.drain()
    clock.now += DRAIN_S - 1
    assert health.draining
    clock.now += 2
    assert not health.draining
    health.stopping = True
    assert health.draining
