"""Patterns that a commit may write: found in linear time, or refused in one line."""

from __future__ import annotations

import threading

import pytest

from rollout.pattern import BadPattern, Pattern

CATASTROPHIC = ["(a+)+$", "(a|aa)+$", r"(\w+\s?)+-\d+$", "(?:a?){40}a{40}$", ".*.*.*.*.*=$"]


@pytest.mark.parametrize("text", CATASTROPHIC)
def test_a_pattern_that_would_never_end_when_backtracking_just_does_not_match(text: str) -> None:
    assert not Pattern(text).found_in("a" * 20_000 + "!")


def test_a_long_search_leaves_other_threads_running() -> None:
    """A pattern of the largest program that is allowed, in more text than is ever searched."""
    turns = 0
    over = threading.Event()
    slow = Pattern("(?:[ab]?){1000}[ab]{900}z")
    work = threading.Thread(target=lambda: (slow.found_in("ab" * 10_000), over.set()))
    work.start()
    while not over.wait(0.001):
        turns += 1
    work.join()
    assert turns > 10


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("(?=a)", r"invalid perl operator: (?="),
        ("(?<!a)b", r"invalid perl operator: (?<"),
        ("(", "missing )"),
        ("a{1001}", "invalid repetition size"),
        (r"(?:\pL{1,30}){1,30}", "pattern too large"),
        ("x" * 501, "501 characters; give at most 500"),
    ],
)
def test_what_cannot_be_searched_in_linear_time_is_refused_in_one_line(
    text: str, reason: str
) -> None:
    with pytest.raises(BadPattern) as bad:
        Pattern(text)
    assert reason in str(bad.value)
    assert "\n" not in str(bad.value)


def test_text_is_unicode_also_when_it_holds_half_a_character() -> None:
    assert Pattern("血糖.{0,3}6\\.8").found_in("空腹血糖：6.8 mmol/L")
    assert not Pattern("血糖.{0,3}6\\.8").found_in("血糖一二三四6.8")
    assert Pattern("6").found_in("\ud8006")


def test_a_whole_match_and_all_matches() -> None:
    assert Pattern("gate.*").matches("gateway")
    assert not Pattern("gate").matches("gateway")
    assert Pattern(r"\[AI-[1-9][0-9]*\]").all_in("[AI-1] 余额 [AI-23] [AI-0]") == [
        "[AI-1]",
        "[AI-23]",
    ]
