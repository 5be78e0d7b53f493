"""Who gets what in the next step: fair, within the pool, and over at the deadline."""

from dataclasses import dataclass, field

import pytest

from apps.engine.errors import Busy
from apps.engine.pool import Pool
from apps.engine.sampler import Sampler
from apps.engine.scheduler import (
    BATCH,
    CHUNK_ALONE,
    CHUNK_SHARED,
    PATIENCE_S,
    Scheduler,
    Step,
)
from apps.engine.sequence import Sequence, Served

PAGE = 16


@dataclass
class Ear:
    full: bool = False
    tokens: list[int] = field(default_factory=list)

    def begun(self, found: int) -> None: ...

    def token(self, token: int, finish: str, step: int, table: list[Served]) -> str:
        self.tokens.append(token)
        return finish

    def end(self, finish: str) -> None: ...

    def fail(self, error: Exception) -> None: ...


def sequence(
    name: str, prompt: int = 5, limit: int = 10, deadline: float = 100, first: int = 0
) -> Sequence:
    tokens = list(range(first, first + prompt))
    return Sequence(name, "", tokens, limit, deadline, Sampler(), Ear())


def scheduler(pages: int = 200, waiting: int = 100) -> Scheduler:
    return Scheduler(Pool(pages, PAGE, b"artefact"), waiting)


def done(plan: Scheduler, step: Step | None) -> list[tuple[str, int, str]]:
    """The step was computed: every part that ends at the last token gives the token 7."""
    assert step is not None
    for part in step.parts:
        plan.commit(part)
        if part.last:
            part.sequence.add(7, False, step.table)
    plan.settle()
    return step.table


def test_a_prompt_is_read_and_then_one_token_a_step_is_written() -> None:
    plan = scheduler()
    plan.add(sequence("a", prompt=5, limit=3))
    tables = [done(plan, plan.plan()) for _ in range(3)]
    assert tables == [[("a", 5, "prefill")], [("a", 1, "decode")], [("a", 1, "decode")]]
    assert plan.plan() is None
    assert plan.sequences == []


def test_step_ids_rise_and_name_what_they_serve() -> None:
    plan = scheduler()
    plan.add(sequence("a"))
    plan.add(sequence("b", first=50))
    step = plan.plan()
    assert step is not None
    assert (step.id, step.table) == (1, [("a", 5, "prefill"), ("b", 5, "prefill")])
    done(plan, step)
    step = plan.plan()
    assert step is not None
    assert step.id == 2


def test_a_long_prompt_is_read_in_chunks_that_end_with_a_page() -> None:
    plan = scheduler()
    plan.add(sequence("long", prompt=CHUNK_ALONE * 2 + 5))
    sizes = [done(plan, plan.plan())[0][1] for _ in range(3)]
    assert sizes == [CHUNK_ALONE, CHUNK_ALONE, 5]


def test_a_long_prompt_does_not_hold_up_those_who_write() -> None:
    plan = scheduler()
    plan.add(sequence("writes", limit=50))
    done(plan, plan.plan())
    plan.add(sequence("long", prompt=300, first=50))
    for _ in range(4):
        table = done(plan, plan.plan())
        assert table[0] == ("writes", 1, "decode")
        assert table[1][0] == "long"
        assert table[1][1] <= CHUNK_SHARED
        assert table[1][1] % PAGE == 0


def test_many_writers_take_turns_and_none_waits_more_than_a_round() -> None:
    plan = scheduler()
    names = [f"s{number}" for number in range(BATCH * 2 + 3)]
    for number, name in enumerate(names):
        plan.add(sequence(name, first=number * 10, limit=100))
    served = dict.fromkeys(names, 0)
    while not all(one.made for one in plan.sequences):
        done(plan, plan.plan())
    for _ in range(30):
        for name, count, _ in done(plan, plan.plan()):
            served[name] += count
    assert max(served.values()) - min(served.values()) <= 1


def test_prompts_take_turns_too() -> None:
    plan = scheduler()
    for number in range(3):
        plan.add(sequence(f"s{number}", prompt=1000, first=2000 * number))
    order = [done(plan, plan.plan())[0][0] for _ in range(6)]
    assert order == ["s0", "s1", "s2"] * 2


def test_a_shared_beginning_is_read_once() -> None:
    plan = scheduler()
    plan.add(sequence("a", prompt=40))
    done(plan, plan.plan())
    plan.add(sequence("b", prompt=41))
    assert ("b", 9, "prefill") in done(plan, plan.plan())


def test_what_waits_behind_a_prompt_with_the_same_beginning_finds_it_read() -> None:
    plan = scheduler(pages=400)
    for name in "ab":
        plan.add(sequence(name, prompt=CHUNK_ALONE + 20))
    assert done(plan, plan.plan()) == [("a", CHUNK_ALONE, "prefill")]
    assert done(plan, plan.plan()) == [("b", 20, "prefill"), ("a", 20, "prefill")]


def test_those_who_find_no_room_wait_in_their_order() -> None:
    plan = scheduler(pages=3)
    plan.add(sequence("a", prompt=20, limit=10))
    plan.add(sequence("b", prompt=20, limit=10, first=50))
    plan.add(sequence("c", prompt=2, limit=3, first=90))
    assert done(plan, plan.plan()) == [("a", 20, "prefill")]
    order = ["a"]
    while plan.sequences:
        order += [name for name, _, _ in done(plan, plan.plan()) if name not in order]
    assert order == ["a", "b", "c"]


def test_more_than_may_wait_are_refused() -> None:
    plan = scheduler(pages=2, waiting=2)
    plan.add(sequence("a", prompt=20))
    plan.plan()
    for name in "bc":
        plan.add(sequence(name, prompt=20))
    with pytest.raises(Busy, match="1 answers are written and 2 wait; ask again later"):
        plan.add(sequence("d"))


def test_a_deadline_ends_the_running_and_the_waiting() -> None:
    plan = scheduler(pages=2)
    plan.add(sequence("a", prompt=20, deadline=5))
    plan.add(sequence("b", prompt=20, deadline=3))
    done(plan, plan.plan())
    assert plan.next_deadline() == 3
    assert [one.request for one in plan.expire(2.9)] == []
    assert [(one.request, one.finish) for one in plan.expire(3)] == [("b", "deadline")]
    assert [one.request for one in plan.expire(9)] == ["a"]
    assert plan.next_deadline() is None


def test_an_ended_sequence_gives_its_room_to_the_next() -> None:
    plan = scheduler(pages=2)
    plan.add(sequence("a", prompt=20))
    plan.add(sequence("b", prompt=20, first=50))
    done(plan, plan.plan())
    plan.end(lambda one: one.request == "a", "cancelled")
    assert done(plan, plan.plan()) == [("b", 20, "prefill")]


def test_a_slow_reader_slows_only_itself() -> None:
    plan = scheduler()
    slow, quick = sequence("slow"), sequence("quick", first=50)
    plan.add(slow)
    plan.add(quick)
    done(plan, plan.plan())
    assert isinstance(slow.output, Ear)
    slow.output.full = True
    assert done(plan, plan.plan()) == [("quick", 1, "decode")]
    slow.output.full = False
    assert done(plan, plan.plan())[0] == ("slow", 1, "decode")


def test_a_reader_who_does_not_read_gives_its_room_to_those_who_wait() -> None:
    plan = scheduler(pages=2)
    slow, next_ = sequence("slow", prompt=20, limit=6), sequence("next", prompt=20, first=50)
    assert isinstance(slow.output, Ear)
    plan.add(slow)
    for _ in range(3):
        done(plan, plan.plan())
    slow.output.full = True
    plan.add(next_)
    plan.expire(5)
    assert plan.plan() is None
    assert plan.next_deadline() == 5 + PATIENCE_S
    plan.expire(5 + PATIENCE_S)
    assert done(plan, plan.plan()) == [("next", 20, "prefill")]
    # It has read, and waits for the next room as it waited before.
    slow.output.full = False
    assert done(plan, plan.plan()) == [("next", 1, "decode")]
    assert plan.sequences == [next_, slow]
    plan.end(lambda one: one is next_, "cancelled")
    # Its pages went to the other; all but the newest token is read again.
    assert done(plan, plan.plan()) == [("slow", 23, "prefill")]
    assert done(plan, plan.plan()) == [("slow", 1, "decode")]
    done(plan, plan.plan())
    assert (len(slow.made), slow.finish, plan.sequences) == (6, "length", [])


def test_a_reader_who_reads_now_and_then_keeps_its_room() -> None:
    plan = scheduler(pages=2)
    slow = sequence("slow", prompt=20)
    assert isinstance(slow.output, Ear)
    plan.add(slow)
    plan.add(sequence("next", prompt=20, first=50))
    for now in range(6):
        plan.expire(now * 0.9 * PATIENCE_S)
        slow.output.full = now % 2 == 1
        step = plan.plan()
        assert (
            step is None if slow.output.full else [one[0] for one in done(plan, step)] == ["slow"]
        )


def test_one_who_gave_its_room_up_can_be_ended() -> None:
    plan = scheduler(pages=2)
    slow, next_ = sequence("slow", prompt=20, deadline=9), sequence("next", prompt=20, first=50)
    assert isinstance(slow.output, Ear)
    plan.add(slow)
    done(plan, plan.plan())
    slow.output.full = True
    plan.add(next_)
    plan.expire(1)
    plan.expire(1 + PATIENCE_S)
    done(plan, plan.plan())
    assert plan.next_deadline() == 9
    assert plan.expire(9) == [slow]
    assert plan.sequences == [next_]


def test_when_every_reader_is_slow_there_is_nothing_to_do() -> None:
    plan = scheduler()
    one = sequence("slow")
    plan.add(one)
    assert isinstance(one.output, Ear)
    one.output.full = True
    assert plan.plan() is None
    assert plan.sequences == [one]
