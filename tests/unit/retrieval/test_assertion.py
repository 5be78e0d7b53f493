"""Only the holder of the key can say who is asking, and only for a short while."""

import pytest

from apps.retrieval.assertion import (
    MAX_LIFETIME_S,
    Assertion,
    BadAssertion,
    is_name,
    key_from_hex,
    sign,
    verify,
)

KEY = bytes(range(32))
OTHER = bytes(range(1, 33))
NOW = 1_800_000_000.0


def test_a_signed_assertion_is_read_back() -> None:
    text = sign(KEY, "c-1001", "s_A-9", int(NOW) + 60)
    assert text.startswith("v1.c-1001.s_A-9.1800000060.")
    assert verify(KEY, text, NOW) == Assertion("c-1001", "s_A-9", int(NOW) + 60)


def test_the_mac_is_plain_hmac_sha256() -> None:
    # printf v1.c.s.1 | openssl dgst -sha256 -mac HMAC -macopt hexkey:000102…1f
    mac = "dccb5cf218c22fddf752db9d20b22f965d6a8a81591cae0873e5735beab2e075"
    assert sign(KEY, "c", "s", 1) == f"v1.c.s.1.{mac}"


def test_a_foreign_key_is_refused() -> None:
    with pytest.raises(BadAssertion, match="not signed"):
        verify(OTHER, sign(KEY, "c-1001", "s", int(NOW) + 60), NOW)


@pytest.mark.parametrize("position", range(len("v1.c-1001.s.1800000060.") + 64))
def test_any_changed_character_is_refused(position: int) -> None:
    text = sign(KEY, "c-1001", "s", int(NOW) + 60)
    changed = text[:position] + ("0" if text[position] != "0" else "1") + text[position + 1 :]
    with pytest.raises(BadAssertion):
        verify(KEY, changed, NOW)


@pytest.mark.parametrize("ahead", [0, -1, MAX_LIFETIME_S + 1])
def test_it_is_good_for_a_short_while_only(ahead: int) -> None:
    text = sign(KEY, "c-1001", "s", int(NOW) + ahead)
    with pytest.raises(BadAssertion, match="expired"):
        verify(KEY, text, NOW)


@pytest.mark.parametrize("name", ["", "a.b", "a b", "a\n", "é", "x" * 65, "١"])
def test_a_name_with_a_separator_or_a_foreign_letter_is_never_signed(name: str) -> None:
    assert not is_name(name)
    with pytest.raises(BadAssertion, match="customer name"):
        sign(KEY, name, "s", 1)
    with pytest.raises(BadAssertion, match="session name"):
        sign(KEY, "c", name, 1)


@pytest.mark.parametrize("suffix", ["\n", " ", "0", ".", "é"])
def test_trailing_text_is_refused(suffix: str) -> None:
    with pytest.raises(BadAssertion):
        verify(KEY, sign(KEY, "c", "s", int(NOW) + 60) + suffix, NOW)


@pytest.mark.parametrize("text", ["", "00", "zz" * 32, "00" * 31, "00" * 33, " ".join(["00"] * 32)])
def test_a_key_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(BadAssertion, match="64 hex digits"):
        key_from_hex(text)


def test_a_key_is_64_hex_digits() -> None:
    assert key_from_hex(KEY.hex()) == KEY
