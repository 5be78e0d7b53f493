"""Random Unicode text of every kind that a customer's keyboard, or an attacker, can send."""

import random
import unicodedata

_JOINER, _EMOJI_STYLE, _KEYCAP = "\u200d", "\ufe0f", "\u20e3"
_PEOPLE = "👨👩👧👦🧑👴👵"
_SKIN = "🏻🏼🏽🏾🏿"
_FLAG = [chr(0x1F1E6 + letter) for letter in range(26)]
_WORDS = [
    "the", "Insurance", "deductible", "I'll", "IT'S", "don’t", "'ſ", "x86_64", "naïve", "Straße",
    "医疗", "保险", "余额", "化验报告", "血糖", "的", "שלום", "مرحبا", "नमस्ते", "한국어", "ひらがな",
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>", "<unk>", "<0x0A>", "▁",
    "https://a.b/?c=d", "5.4mmol/L", "1,234.50", "٣٤", "½", "Ⅷ", "e\u0301", "def f(x):",
]  # fmt: skip


def _characters(first: int, last: int) -> list[str]:
    """Those that have been assigned long enough for every Unicode library to know them."""
    every = map(chr, range(first, last + 1))
    return [one for one in every if unicodedata.category(one) not in ("Cn", "Cs")]


_KINDS: dict[str, list[str]] = {
    "ascii": _characters(0x20, 0x7E),
    "digits": [*"0123456789 .,-+", *_characters(0x660, 0x669), *_characters(0xFF10, 0xFF19)],
    "quotes": [*"'’sStTrReEvVmMlLdDſ "],
    "spaces": [
        *" \t\n\r\x0b\x0c\x1c\x1f\x85\u00a0\u1680\u2003\u2028\u2029\u202f\u3000\ufeff\u200b a1"
    ],
    "controls": [chr(code) for code in (*range(32), *range(0x7F, 0xA0))],
    "latin": _characters(0xA1, 0x24F),
    "combining": ["a", "e", " ", *_characters(0x300, 0x36F), *_characters(0x20D0, 0x20F0)],
    "right to left": [
        *_characters(0x590, 0x6FF), *_characters(0x200E, 0x200F), *_characters(0x202A, 0x202E),
        *_characters(0x2066, 0x2069),
    ],
    "cjk": [
        *_characters(0x4E00, 0x9FEF), *_characters(0x3000, 0x30FF), *_characters(0x20000, 0x201FF)
    ],
    "indic": _characters(0x900, 0xDFF),
    "hangul": [*_characters(0x1100, 0x11FF), *_characters(0xAC00, 0xD7A3)],
    "symbols": [*_characters(0x2000, 0x2BFF), *_characters(0x1F300, 0x1F6FF)],
    "private": [
        *_characters(0xE000, 0xF8FF), "\U000f0000", "\U000ffffd", "\U00100000", "\U0010fffd"
    ],
    "nowhere": ["\ufffd", "\ufffe", "\uffff", "\ufdd0", "\U0001fffe", "\U0010ffff", "\0"],
    "any": _characters(0, 0x323AF),
}  # fmt: skip


def _emoji(draw: random.Random) -> str:
    kind = draw.randrange(5)
    if kind == 0:
        return _JOINER.join(draw.choices(_PEOPLE, k=draw.randrange(2, 5)))
    if kind == 1:
        return draw.choice(_PEOPLE) + draw.choice(_SKIN)
    if kind == 2:
        return "".join(draw.choices(_FLAG, k=2))
    if kind == 3:
        return draw.choice("0123456789#*") + _EMOJI_STYLE + _KEYCAP
    return draw.choice("❤☎⚕✈") + draw.choice(["", _EMOJI_STYLE])


def _part(draw: random.Random) -> str:
    kind = draw.randrange(10)
    if kind == 0:
        return _emoji(draw)
    if kind == 1:
        return draw.choice(_WORDS)
    if kind == 2:
        return draw.choice(_KINDS["any"]) * draw.randrange(1, 20)
    characters = _KINDS[draw.choice([*_KINDS])]
    return "".join(draw.choices(characters, k=draw.randrange(1, 10)))


def random_text(draw: random.Random) -> str:
    """One string; no lone surrogates, and nothing that Unicode 14 does not know."""
    return draw.choice(["", " ", "\n"]).join(_part(draw) for _ in range(draw.randrange(1, 6)))
