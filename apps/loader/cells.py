"""What a table's cell holds: an amount, a year, a label. Pure."""

import re

_AMOUNT = re.compile(
    r"[-+−–(（]?\s*(?:[¥￥$€£]|RMB|CNY|USD|EUR)?\s*[-−(（]?"
    r"\d(?:[\d,， ]*\d)?(?:[.．]\d+)?\s*[)）]?\s*(?:%|％|‰|[A-Za-zμµ/^0-9]{0,8})?\s*[)）]?"
    r"(?:\s*[↑↓*])?"
)
_RANGE = re.compile(
    r"[<>≤≥~～]?\s*\d[\d.,]*\s*[-–—~～至]\s*\d[\d.,]*\s*(?:%|％)?|[<>≤≥]\s*\d[\d.,]*"
)
_YEAR = re.compile(r"(?:19|20)\d\d(?:\s*年度?)?(?:\s*\d{1,2}月(?:\d{1,2}日)?)?|(?:FY|Q[1-4]).*\d")
_EMPTY = re.compile(r"[-–—－/]{1,3}|N/?A|不适用|无")


def is_value(text: str) -> bool:
    """Whether the cell is data: an amount, a percentage, a range, or a stroke for none."""
    return bool(
        not is_year(text)
        and (_AMOUNT.fullmatch(text) or _RANGE.fullmatch(text) or _EMPTY.fullmatch(text))
    )


def is_year(text: str) -> bool:
    """Whether the cell names a period, as headers do."""
    return bool(_YEAR.fullmatch(text.strip()))
