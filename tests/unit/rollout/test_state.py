"""The journal can be written and read back, and says clearly when it cannot be read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rollout import transitions
from rollout.candidate import Hold, HoldKind, Phase
from rollout.codec import BadJournal, dump, load
from rollout.state import MAX_HELD, Held, Restore, hold_commit
from tests.unit.rollout.rollout_world import SIZES, first_state, push


def test_every_field_survives_the_journal() -> None:
    state = transitions.started(first_state(), push(), 1.0)
    assert state.candidate is not None
    hold = Hold(HoldKind.SHARE, "too much", 3.0)
    candidate = replace(
        state.candidate, sizes=SIZES, steps=(1, 5), hold=hold, phase=Phase.STEPS, passed=("x",)
    )
    state = replace(state, candidate=candidate, services={2: None, 3: 4.0}, queue=push("b" * 40))
    assert load(dump(state)) == state
    ended = transitions.ended(state, "rejected", "bad", 5.0)
    restore = Restore(1, "green", None, SIZES, 6.0)
    ended = replace(ended, restore=restore, previous=ended.serving)
    ended = replace(ended, pruned=(1, 2))
    assert load(dump(ended)) == ended


def test_a_journal_from_before_records_were_pruned_is_read() -> None:
    text = json.loads(dump(first_state()))
    del text["pruned"]
    assert load(json.dumps(text)) == first_state()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', '{"version": 2}', "null"])
def test_an_unreadable_journal_is_one_line_with_the_remedy(text: str) -> None:
    with pytest.raises(BadJournal) as caught:
        load(text)
    assert "\n" not in str(caught.value)


def test_no_held_commit_is_forgotten_to_make_room_for_another() -> None:
    held: dict[str, Held] = {}
    for number in range(MAX_HELD + 5):
        held = hold_commit(held, str(number), Held("rejected", "x", 0.0))
    held = hold_commit(held, "0", Held("undone", "y", 1.0))
    assert len(held) == MAX_HELD + 5
    assert list(held)[-1] == "0"


@pytest.mark.parametrize("letter", ["x", '"', "\x07", "余", "\U0001f600", "\ud800"])
def test_a_journal_full_of_held_commits_with_long_reasons_fits_into_a_config_map(
    letter: str,
) -> None:
    state, reason = first_state(), Held("rejected", letter * 100_000, 1.7e9 + 0.123456, "b" * 40)
    held: dict[str, Held] = {}
    for number in range(MAX_HELD + 50):
        held[f"{number:040}"] = hold_commit({}, "x", reason)["x"]
    text = dump(replace(state, held=held))
    assert len(text.encode()) < (1 << 20) - (64 << 10)
    assert len(load(text).held) == MAX_HELD + 50
