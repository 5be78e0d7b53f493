import random

import pytest

from apps.engine.errors import BadRequest
from apps.engine.stops import MAX_LENGTH, MAX_STRINGS, Stops


def expected(strings: list[str], text: str) -> tuple[str, str | None]:
    """By trying every place: the earliest end, and of those the longest."""
    for end in range(len(text) + 1):
        found = [one for one in strings if text[:end].endswith(one)]
        if found:
            hit = max(found, key=len)
            return text[: end - len(hit)], hit
    return text, None


def streamed(strings: list[str], pieces: list[str]) -> tuple[list[str], str | None]:
    """What is given out at each push and at the end."""
    stops, out = Stops(strings), []
    hit = None
    for piece in pieces:
        text, hit = stops.push(piece)
        out.append(text)
        if hit:
            break
    return [*out, stops.finish()], hit


@pytest.mark.parametrize(
    ("strings", "pieces", "given", "hit"),
    [
        (["STOP"], ["one S", "TO", "P two"], ["one ", "", "", ""], "STOP"),
        (["STOP"], ["one S", "TO", "O"], ["one ", "", "STOO", ""], None),
        (["STOP"], ["ends in STO"], ["ends in ", "STO"], None),
        (["aab"], ["aaaa", "b"], ["aa", "", ""], "aab"),
        (["aba", "bab"], ["xab", "ab"], ["x", "", ""], "aba"),
        (["abcd", "bc"], ["abc", "d"], ["a", ""], "bc"),
        (["bc", "abc"], ["xabc"], ["x", ""], "abc"),
        (["\n\n"], ["a\n", "b\n", "\n"], ["a", "\nb", "", ""], "\n\n"),
        (["。"], ["余额", "是。"], ["余额", "是", ""], "。"),
        ([], ["any", "thing"], ["any", "thing", ""], None),
        (["a", "a"], ["ba"], ["b", ""], "a"),
    ],
)
def test_a_stop_string_is_found_across_pieces(
    strings: list[str], pieces: list[str], given: list[str], hit: str | None
) -> None:
    assert streamed(strings, pieces) == (given, hit)


def test_text_up_to_the_first_stop_whatever_the_pieces() -> None:
    draw = random.Random(4)
    for _ in range(5000):
        strings = [
            "".join(draw.choices("ab", k=draw.randrange(1, 5))) for _ in range(draw.randrange(4))
        ]
        text = "".join(draw.choices("abc", k=draw.randrange(30)))
        pieces, at = [], 0
        while at < len(text):
            step = draw.randrange(5)
            pieces.append(text[at : at + step])
            at += step
        given, hit = streamed(strings, pieces)
        assert ("".join(given), hit) == expected(strings, text), (strings, text)


def test_as_little_as_possible_is_held_back() -> None:
    draw = random.Random(5)
    strings = ["abab", "bb", "caca"]
    for _ in range(2000):
        stops, seen, given = Stops(strings), "", ""
        for _ in range(12):
            letter = draw.choice("abc")
            seen += letter
            text, hit = stops.push(letter)
            if hit:
                break
            given += text
            waiting = seen[len(given) :]
            longest = max(
                (one[:n] for one in strings for n in range(len(one)) if seen.endswith(one[:n])),
                key=len,
            )
            assert waiting == longest


def test_after_a_stop_nothing_comes_any_more() -> None:
    stops = Stops(["x"])
    assert stops.push("ax") == ("a", "x")
    assert stops.push("more") == ("", "x")
    assert stops.finish() == ""


@pytest.mark.parametrize(
    "strings", [[""], ["x" * (MAX_LENGTH + 1)], [str(i) for i in range(MAX_STRINGS + 1)]]
)
def test_impossible_stop_strings_are_refused(strings: list[str]) -> None:
    with pytest.raises(BadRequest, match="stop strings"):
        Stops(strings)
