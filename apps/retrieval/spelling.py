"""One slip in a term of the glossary, mended: 净利闰 for 净利润, `totl assets` for `total assets`.

Only what is hardly another word is mended. In Chinese, the wrong character sounds as the right
one, which is how keyboards go wrong (毛利润 is not 净利润 with a slip); in English, the wrong word
is one of a term's several, and no term has it.
"""

import re
from functools import cache

from apps.retrieval.glossary import glossary

MAX_CHARS = 200
"""A longer text is left as it is: comparing costs its length times the glossary's."""
_SHORTEST_ZH = 3
_SHORTEST_EN = 4
_WORD = re.compile(r"[a-z']+")
_LETTERS = re.compile(r"[A-Za-z']+")
# Of the characters of those terms, with what a keyboard offers for the same sound.
_SOUNDS = (
    "资姿咨滋 产铲阐 总种纵众 计记纪季继级 负付附富副复腹 债寨 责则 合和河何核 "
    "净静敬镜 利力立历例丽礼里理李 润闰 收手守首 入如 支只之知 率律绿 赔陪培配 "
    "偿长常尝掌张 投头 益意义易艺议 营赢迎 业页叶 保宝报饱暴 险显现限线 备被倍背 "
    "额鄂恶饿 免勉面棉 期其齐起 等登 待带代戴 住注驻主 院愿远原 诊真针珍 疾急极即 "
    "伤商 护户互 全权 股古骨固故顾 费废肺 应英硬 账帐 款宽 流留刘 犹由优 豫预遇 "
    "豁或获货 糖堂唐 血雪学 红宏洪 胆但蛋旦 醇纯淳 尿鸟 酸算 机肌基鸡 性型形行"
)


def mended(text: str, language: str) -> str:
    """`text` (`language` is `zh` or `en`) with each such slip replaced by what was meant."""
    if len(text) > MAX_CHARS:
        return text
    return _mended_zh(text) if language == "zh" else _mended_en(text)


def _mended_zh(text: str) -> str:
    for at, character in enumerate(text):
        if alike := _alike().get(character):
            text = text[:at] + _meant_zh(text, at, alike) + text[at + 1 :]
    return text


def _meant_zh(text: str, at: int, alike: str) -> str:
    """What the character at `at` should be: as a term has it that is there but for it."""
    for term in _chinese():
        for begin in range(max(0, at - len(term) + 1), at + 1):
            found, own = text[begin : begin + len(term)], at - begin
            if found == term:
                return text[at]
            same = found[:own] + found[own + 1 :] == term[:own] + term[own + 1 :]
            if same and term[own] in alike:
                return term[own]
    return text[at]


def _mended_en(text: str) -> str:
    known, vocabulary = _english()
    # Not in the lower case of it all: some capitals have more letters there, and places move.
    found = list(_LETTERS.finditer(text))
    words = [one[0].lower() for one in found]
    # From the end, so that what is replaced moves no place that is still to be looked at.
    for at in reversed(range(len(words))):
        if len(words[at]) >= _SHORTEST_EN and words[at] not in known:
            begin, end = found[at].span()
            text = text[:begin] + (_meant_en(words, at, vocabulary) or text[begin:end]) + text[end:]
    return text


def _meant_en(words: list[str], at: int, vocabulary: tuple[tuple[str, ...], ...]) -> str:
    """What the word at `at` should be, or ""."""
    for term in vocabulary:
        for begin in range(max(0, at - len(term) + 1), at + 1):
            found = words[begin : begin + len(term)]
            own = at - begin
            others = found[:own] + found[own + 1 :] == [*term[:own], *term[own + 1 :]]
            if others and len(term[own]) >= _SHORTEST_EN and _one_slip(words[at], term[own]):
                return term[own]
    return ""


def _one_slip(word: str, meant: str) -> bool:
    """One letter too few, too many, another, or two neighbours exchanged."""
    shorter, longer = sorted((word, meant), key=len)
    if len(longer) - len(shorter) > 1:
        return False
    if len(shorter) < len(longer):
        return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))
    differing = [at for at in range(len(word)) if word[at] != meant[at]]
    if len(differing) == 2:
        first, second = differing
        return second == first + 1 and word[first : second + 1] == meant[first : second + 1][::-1]
    return len(differing) == 1


@cache
def _chinese() -> tuple[str, ...]:
    """The terms that are long enough to be known by the rest of them, the longest first."""
    found = [term for term in glossary("zh").terms() if len(term) >= _SHORTEST_ZH]
    return tuple(sorted(found, key=len, reverse=True))


@cache
def _alike() -> dict[str, str]:
    """{character: those that sound as it}."""
    return {one: group.replace(one, "") for group in _SOUNDS.split() for one in group}


@cache
def _english() -> tuple[frozenset[str], tuple[tuple[str, ...], ...]]:
    """The words of all terms, and the terms of several words, the longest first."""
    found = [tuple(_WORD.findall(term)) for term in glossary("en").terms()]
    several = [term for term in found if len(term) > 1]
    return frozenset(word for term in found for word in term), tuple(
        sorted(several, key=len, reverse=True)
    )
