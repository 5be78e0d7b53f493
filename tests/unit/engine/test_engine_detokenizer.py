import random

from apps.engine.detokenizer import BadByte, Detokenizer


def test_characters_split_at_any_byte_come_out_whole() -> None:
    text = "aé医😀𠮷z"
    data = text.encode()
    for cut in range(len(data) + 1):
        detokenizer = Detokenizer()
        parts = [detokenizer.push(1, data[:cut]), detokenizer.push(2, data[cut:])]
        assert "".join(parts) + detokenizer.finish() == text
        assert all(text.startswith(part) for part in parts[:1])
        assert not detokenizer.bad


def test_nothing_is_given_out_before_its_last_byte() -> None:
    detokenizer = Detokenizer()
    given = [detokenizer.push(token, bytes([byte])) for token, byte in enumerate("😀!".encode())]
    assert given == ["", "", "", "😀", "!"]


def test_bad_bytes_are_recorded_with_offset_and_token() -> None:
    detokenizer = Detokenizer()
    assert detokenizer.push(10, b"ok\xff") == "ok"
    assert detokenizer.push(11, b"\xe5\x8c") == ""
    assert detokenizer.push(12, b"A\x80B") == "AB"
    assert detokenizer.bad == [
        BadByte(2, 0xFF, 10),
        BadByte(3, 0xE5, 11),
        BadByte(4, 0x8C, 11),
        BadByte(6, 0x80, 12),
    ]


def test_an_unfinished_character_is_bad_only_at_the_end() -> None:
    detokenizer = Detokenizer()
    assert detokenizer.push(5, b"x\xf0\x9f") == "x"
    assert detokenizer.bad == []
    assert detokenizer.finish() == ""
    assert detokenizer.bad == [BadByte(1, 0xF0, 5), BadByte(2, 0x9F, 5)]


def test_surrogates_overlong_forms_and_too_large_numbers_are_bad() -> None:
    for data in (b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe0\x80\xaf"):
        detokenizer = Detokenizer()
        assert detokenizer.push(1, data) + detokenizer.finish() == ""
        assert bytes(bad.byte for bad in detokenizer.bad) == data


def test_a_real_replacement_character_is_text() -> None:
    detokenizer = Detokenizer()
    assert detokenizer.push(1, "\ufffd".encode()) == "\ufffd"
    assert detokenizer.bad == []


def test_text_and_bad_bytes_together_are_every_byte_in_order() -> None:
    draw = random.Random(3)
    for _ in range(2000):
        data = b"".join(
            draw.choice(["é", "医", "😀", "a"]).encode()[: draw.randrange(1, 5)]
            if draw.random() < 0.7
            else draw.randbytes(2)
            for _ in range(8)
        )
        detokenizer, text, at = Detokenizer(), "", 0
        while at < len(data):
            step = draw.randrange(1, 4)
            text += detokenizer.push(at, data[at : at + step])
            at += step
        text += detokenizer.finish()
        bad = {one.offset: one.byte for one in detokenizer.bad}
        good = bytes(byte for offset, byte in enumerate(data) if offset not in bad)
        assert good.decode() == text
        assert all(data[offset] == byte for offset, byte in bad.items())
