"""No number that is not in the facts, however the tokens cut it."""

import random
import re
import unicodedata
from decimal import Decimal

import numpy as np
import pytest

from apps.engine.detokenizer import Detokenizer
from apps.engine.errors import BadRequest
from apps.engine.numbers import Numbers, forms
from apps.gateway.numbers import unsupported


class Words:
    """A vocabulary of exactly these tokens; no bytes: the end of the turn."""

    def __init__(self, *tokens: str | bytes) -> None:
        self._tokens = [one.encode() if isinstance(one, str) else one for one in tokens]

    @property
    def size(self) -> int:
        return len(self._tokens)

    def bytes(self, token: int) -> bytes:
        return self._tokens[token]


DIGITS = [*"0123456789"]
PUNCTUATION = [".", ",", " ", "a", "¥", "-"]
END = ""


def can(tokens: list[str | bytes], said: list[str | bytes], *facts: str, left: int = 99) -> set:
    """What may follow after `said`, when these are all tokens and the facts' numbers."""
    words = Words(*tokens)
    only = Numbers(words).only(facts)  # type: ignore[arg-type]
    for one in said:
        token = tokens.index(one)
        assert only.allowed(left)[token], f"{one!r} is not allowed"
        only.push(token)
    return {one for one, ok in zip(tokens, only.allowed(left), strict=True) if ok}


ALL: list[str | bytes] = [
    END,
    *DIGITS,
    *PUNCTUATION,
    "82",
    ".5",
    ",2",
    "1a",
    "０",
    b"\xef",
    b"\xef\xbc",
]


def test_outside_a_number_a_fact_may_begin_and_text_goes_on() -> None:
    found = can(ALL, [], "Balance 8250.00 CNY", "3.9")
    assert found & {*DIGITS, "82", "1a", ".5", ",2"} == {"8", "3", "82"}
    assert {END, *PUNCTUATION, b"\xef", b"\xef\xbc"} <= found


@pytest.mark.parametrize(
    ("said", "may"),
    [
        ("8", {"2", ",", ",2"}),
        ("82", {"5"}),
        ("8250", {END, ".", ",", " ", "a", "¥", "-"}),
        ("8250.", {END, "0", ".", ",", " ", "a", "¥", "-"}),
        ("8250.0", {"0"}),
        ("8250.00", {END, ".", ",", " ", "a", "¥", "-"}),
        ("8250,", {END, ".", ",", " ", "a", "¥", "-"}),
        ("8,", {"2"}),
        ("8250.00.", {END, ".", ",", " ", "a", "¥", "-"}),
    ],
)
def test_a_begun_number_is_finished_as_a_fact(said: str, may: set[str]) -> None:
    tokens: list[str | bytes] = [END, *DIGITS, *PUNCTUATION, "82", ".5", ",2"]
    assert can(tokens, [*said], "8250.00") == may


def test_a_token_of_several_digits_is_walked_as_a_whole() -> None:
    tokens: list[str | bytes] = [
        *DIGITS,
        ",",
        ".",
        "82",
        "50",
        "8250",
        "82501",
        "8250.",
        " 8250",
        "8250 1",
    ]
    assert can(tokens, [], "8250") == {"8", "82", "8250", "8250.", " 8250", ",", "."}
    assert can(tokens, ["82"], "8250") == {"5", "50"}


def test_full_width_digits_and_other_forms_are_numbers_too() -> None:
    tokens: list[str | bytes] = [*DIGITS, "８", "９", "²", "½", "①", "٣", "．", ".", "５", "x"]
    assert can(tokens, [], "8") == {"8", "８", "．", ".", "x"}
    assert can(tokens, ["8"], "8.5", "8") == {"．", ".", "x"}
    assert can(tokens, ["8", "．"], "8.5", "8") == {"5", "５", "．", ".", "x"}


def test_a_digit_is_seen_across_the_bytes_of_several_tokens() -> None:
    nine = "９".encode()
    tokens: list[str | bytes] = [*DIGITS, nine[:1], nine[1:], nine[:2], nine[2:], "x"]
    assert nine[1:] not in can(tokens, [nine[:1]], "8")
    assert nine[2:] not in can(tokens, [nine[:2]], "8")
    assert nine[2:] in can(tokens, [nine[:2]], "9")


def test_bytes_of_no_character_do_not_part_a_number() -> None:
    """The detokeniser leaves them out, so "8", a bad byte and "2" read as 82."""
    tokens: list[str | bytes] = [*DIGITS, b"\xff"]
    assert can(tokens, ["8", b"\xff"], "8", "2") == {b"\xff"}


def test_a_number_that_no_room_is_left_for_is_not_begun() -> None:
    tokens: list[str | bytes] = [END, *DIGITS, "."]
    assert can(tokens, [], "825", left=3) == {END, "8", "."}
    assert can(tokens, [], "825", left=2) == {END, "."}
    assert can(tokens, [], "825", "8.5", left=2) == {END, "."}


def test_much_room_allows_no_other_number() -> None:
    tokens: list[str | bytes] = [END, *DIGITS, "a", "."]
    for left in (1 << 14, (1 << 14) + 1, 1 << 20):
        assert can(tokens, [], "825", left=left) == {END, "8", "a", "."}
        assert can(tokens, ["8"], "825", left=left) == {"2"}


def test_without_facts_there_is_no_number_at_all() -> None:
    assert can([END, *DIGITS, "a", "."], []) == {END, "a", "."}


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("8250.00", {"8250.00", "8250", "8,250.00", "8,250"}),
        ("8,250", {"8250", "8,250"}),
        ("12.50", {"12.50", "12.5"}),
        ("0.0", {"0.0", "0"}),
        ("007", {"007"}),
        ("3.9–6.1", {"3.9", "6.1"}),
        ("２.５", {"2.5"}),
        ("9" * 33, set()),
        ("no number", set()),
    ],
)
def test_a_fact_may_be_written_in_these_forms(source: str, written: set[str]) -> None:
    assert forms([source]) == written
    assert {Decimal(one.replace(",", "")) for one in written} <= {
        Decimal(one.replace(",", ""))
        for one in re.findall(r"[\d.,]+", unicodedata.normalize("NFKC", source))
    }


def test_a_vocabulary_that_cannot_finish_a_number_is_refused() -> None:
    with pytest.raises(BadRequest, match=r"no token for \['0'\]"):
        can([END, *"12345", "8250"], [], "10")


@pytest.mark.parametrize("seed", range(30))
def test_whatever_is_drawn_the_gateway_finds_nothing_unsupported(seed: int) -> None:
    """A model that would say anything, on tokens cut anywhere."""
    chance = random.Random(seed)
    alphabet = "0123456789.,,..  a８．５²é医\n"
    raw = [b"", *(bytes([b]) for b in b"0123456789.,")]
    for _ in range(120):
        piece = "".join(chance.choice(alphabet) for _ in range(chance.randint(1, 4))).encode()
        raw.append(piece[chance.randint(0, 1) : len(piece) - chance.randint(0, 1)] or b"a")
    tokens = Words(*raw)
    facts = [
        chance.choice(["8250.00", "3.9–6.1", "12,680.5", "5", "85", "2026-11-01", "none"])
        for _ in range(2)
    ]
    numbers = Numbers(tokens)  # type: ignore[arg-type]
    for _ in range(20):
        only = numbers.only(facts)
        reader, text = Detokenizer(), ""
        for left in range(20, 0, -1):
            mask = only.allowed(left)
            assert mask.any()
            # Mostly what has to do with numbers, as a model that is keen on them.
            token = chance.choice(np.flatnonzero(mask).tolist())
            only.push(token)
            text += reader.push(token, tokens.bytes(token))
            if not tokens.bytes(token):
                break
        text += reader.finish()
        assert unsupported(text, facts) == [], (text, facts)
