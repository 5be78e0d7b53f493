"""Numbers in the model's words that nothing the customer was shown supports."""

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal

MAX_LISTED = 20
# A comma groups thousands only between a digit and three digits, as in 12,680.50.
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")


def numbers(text: str) -> list[str]:
    """The numbers in `text` as they are written, in order; full-width digits count too."""
    return _NUMBER.findall(unicodedata.normalize("NFKC", text))


def unsupported(words: str, sources: Iterable[str]) -> list[str]:
    """Numbers in `words` that are in none of `sources`, each once, at most `MAX_LISTED`.

    `8250`, `8,250` and `8250.00` are one number. Numbers spelt in letters are not seen.
    """
    known = {_value(number) for source in sources for number in numbers(source)}
    listed: list[str] = []
    for number in numbers(words):
        if _value(number) not in known and number not in listed:
            listed.append(number)
    return listed[:MAX_LISTED]


def _value(number: str) -> Decimal:
    # Digits of every script reach here; int() reads them all and Decimal does too.
    return Decimal(number.replace(",", "")).normalize()
