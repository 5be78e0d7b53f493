"""Records of releases: what an undo may go to and a verdict needs stays, the rest goes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rollout import records, retention
from rollout.actions import Advance, Forget, Wait
from rollout.candidate import Candidate, Phase
from rollout.cluster import core
from rollout.decide import decide
from rollout.errors import ApiError
from rollout.observation import Observation, Shelved
from rollout.records import Record
from rollout.retained import UnknownRelease, by_number
from rollout.retention import AT_ONCE, KEEP_OTHERS, KEEP_PROMOTED, KEEP_S, superfluous
from rollout.shelf import LOOK_S, Shelf
from rollout.state import Ended, Restore, Serving, State
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import NAMES, api, installed, now, state, write
from tests.unit.rollout.rollout_world import World, first_state, push
from tests.unit.rollout.test_controller import controller, settle

NOW = 1_000_000_000.0
OLD = NOW - KEEP_S


def promoted(number: int, at: float = OLD, predecessor: int | None = None) -> Shelved:
    return Shelved(number, at, predecessor)


def other(number: int) -> Shelved:
    return Shelved(number, None, None)


def serving(number: int, **more: object) -> State:
    made = replace(first_state(), serving=Serving(number, "blue", None, NOW), next_number=999)
    return replace(made, **more)  # type: ignore[arg-type]


def test_the_last_promoted_stay_however_old_they_are() -> None:
    shelf = [promoted(n, n) for n in range(1, KEEP_PROMOTED + 4)]
    assert superfluous(shelf, serving(KEEP_PROMOTED + 3), NOW) == (1, 2, 3)
    assert superfluous(shelf[3:], serving(KEEP_PROMOTED + 3), NOW) == ()


def test_everything_promoted_within_the_window_stays() -> None:
    shelf = [promoted(n, OLD + n) for n in range(1, 100)]
    assert superfluous(shelf, serving(99), NOW) == ()
    assert superfluous(shelf, serving(99), NOW + 3) == (1, 2, 3)


def test_the_last_promoted_are_told_by_their_promotion_not_by_their_number() -> None:
    again = promoted(1, OLD - 1)
    shelf = [again, *(promoted(n, n) for n in range(2, KEEP_PROMOTED + 3))]
    assert superfluous(shelf, serving(40), NOW) == (2, 3)


def test_of_those_that_never_served_the_newest_stay() -> None:
    shelf = [other(n) for n in range(1, KEEP_OTHERS + 3)]
    assert superfluous(shelf, serving(99), NOW) == (1, 2)


NAMED = {
    "serving": {"serving": Serving(1, "blue", None, 0.0)},
    "previous": {"previous": Serving(1, "blue", None, 0.0)},
    "retained": {"retained": Serving(1, "blue", None, 0.0)},
    "candidate": {"candidate": Candidate(1, "", "green", 0.0, Phase.STEPS, 0.0)},
    "restore": {"restore": Restore(1, "green", None, {}, 0.0)},
    "not yet recorded": {"ended": (Ended(1, "undone", "x", 0.0),)},
}


@pytest.mark.parametrize("named", NAMED.values(), ids=NAMED)
def test_what_the_journal_names_stays(named: dict[str, object]) -> None:
    shelf = [promoted(n, n) for n in range(1, KEEP_PROMOTED + 3)]
    state = serving(99, **named)
    assert superfluous(shelf, state, NOW) == (2,)
    assert retention.forget(
        replace(state, pruned=(1,)), Observation(World().look().plan, shelf=(shelf[0],)), NOW, NAMES
    ) is None  # fmt: skip


def test_what_an_undo_went_back_to_stays_with_the_release_that_followed_it() -> None:
    """Release 1 was promoted long ago, served again after an undo, and then came the last one."""
    shelf = [promoted(n, n) for n in range(1, KEEP_PROMOTED + 3)]
    shelf.append(promoted(50, NOW, predecessor=1))
    assert superfluous(shelf, serving(50), NOW) == (2, 3)


def look(*shelf: Shelved) -> Observation:
    return replace(World().look(), shelf=shelf)


def test_the_journal_names_a_few_and_only_then_they_go() -> None:
    shelf = [promoted(n, n) for n in range(1, KEEP_PROMOTED + AT_ONCE + 3)]
    state = serving(99, services={}, times=World().look().plan.times)
    world = World()
    world.write(state)
    seen = replace(World().look(), shelf=tuple(shelf))
    first = decide(state, aligned(seen), NOW, NAMES)
    assert isinstance(first, Advance)
    assert first.after.pruned == (1, 2, 3, 4, 5)
    second = decide(first.after, aligned(seen), NOW, NAMES)
    assert isinstance(second, Forget)
    assert second.numbers == (1, 2, 3, 4, 5)
    third = decide(first.after, aligned(replace(seen, shelf=tuple(shelf[5:]))), NOW, NAMES)
    assert isinstance(third, Advance)
    assert third.after.pruned == (6, 7)
    last = decide(third.after, aligned(replace(seen, shelf=tuple(shelf[7:]))), NOW, NAMES)
    assert isinstance(last, Wait)


def aligned(seen: Observation) -> Observation:
    """The stable role says release 99, as an aligned cluster does."""
    roles = {name: replace(role, release=99) for name, role in seen.roles.items()}
    return replace(seen, roles=roles)


def test_no_record_goes_while_a_release_is_on_its_way() -> None:
    world = World()
    world.write(replace(world.state, queue=push()))
    shelf = tuple(promoted(n, n) for n in range(100, 100 + KEEP_PROMOTED + 1))
    while not (world.state.candidate and world.state.candidate.phase is Phase.STEPS):
        action = decide(world.state, replace(world.look(), shelf=shelf), world.now, NAMES)
        assert not isinstance(action, Forget)
        assert action.after.pruned == ()
        world.turn()


def shelve(fake: FakeApi, count: int) -> None:
    """Releases 2 and later: all promoted long ago."""
    for number in range(2, count + 2):
        at = now() - KEEP_S - 1000 + number
        record = Record(number, "green", at, commit=f"{number:040x}", promoted_at=at)
        records.save(api(fake), NAMES, record)


def numbers(fake: FakeApi) -> list[int]:
    return [one.number for one in records.history(api(fake), NAMES)]


def test_the_controller_prunes_until_only_what_is_needed_is_left(tmp_path: Path) -> None:
    fake = installed()
    shelve(fake, 40)
    write(fake, replace(state(fake), next_number=42))
    settle(controller(fake, tmp_path), turns=60)
    # Release 1 serves and was promoted last of all.
    assert numbers(fake) == [1, *range(42 - KEEP_PROMOTED + 1, 42)]
    assert max(state(fake).pruned) == 42 - KEEP_PROMOTED


def test_a_controller_that_may_not_list_records_still_comes_to_rest(tmp_path: Path) -> None:
    fake = installed()
    shelve(fake, 30)

    def refuse(verb: str, path: str) -> None:
        if verb == "list" and path.endswith("/configmaps"):
            raise ApiError(403, "not you")

    fake.before = refuse
    made = controller(fake, tmp_path)
    settle(made)
    assert made.picture.trouble in ("", "starting")
    assert len([path for path in fake.objects if "/release-" in path]) == 31


def test_records_are_listed_once_an_hour_and_after_a_verdict() -> None:
    fake, time = installed(), [0.0]
    shelf = Shelf(api(fake), NAMES, lambda: time[0])
    for _ in range(3):
        assert [one.number for one in shelf.look()] == [1]
    assert len(fake.verbs("list")) == 1
    time[0] = LOOK_S + 1
    shelf.look()
    assert len(fake.verbs("list")) == 2
    shelf.changed()
    shelf.look()
    assert len(fake.verbs("list")) == 3


@pytest.mark.parametrize("spoil", ["{", "[]", "{}", '{"number": "x"}', '{"number": 7}'])
def test_a_record_that_cannot_be_read_is_never_pruned(spoil: str) -> None:
    fake = installed()
    fake.objects[core(NAMES.control, "configmaps", "release-1")]["data"]["record.json"] = spoil
    assert Shelf(api(fake), NAMES).look() == ()


def test_a_record_that_is_not_the_one_of_its_name_is_never_pruned() -> None:
    fake = installed()
    body = fake.objects[core(NAMES.control, "configmaps", "release-1")]
    fake.put(core(NAMES.control, "configmaps", "release-01"), **body | {
        "metadata": {**body["metadata"], "name": "release-01"}
    })  # fmt: skip
    assert [one.number for one in Shelf(api(fake), NAMES).look()] == [1]


def test_an_undo_to_a_pruned_release_is_refused_also_before_its_record_is_gone() -> None:
    fake = installed()
    shelve(fake, 3)
    assert by_number(api(fake), NAMES, 3).promoted
    for number in (3, 2):
        if number == 2:
            records.delete(api(fake), NAMES, number)
        with pytest.raises(UnknownRelease, match=f"no record of release {number} any more"):
            by_number(api(fake), NAMES, number, (3,))
    assert by_number(api(fake), NAMES, 4, (3,)).promoted
    with pytest.raises(UnknownRelease, match="there is no release 9"):
        by_number(api(fake), NAMES, 9, (3,))
