"""All strings of a GGUF array at once: a vocabulary has a hundred thousand.

length (8 bytes)  text  length  text …
"""

import numpy as np


def split(data: bytes, count: int) -> tuple[list[str], int] | None:
    """The first `count` strings of `data` and the bytes they take.

    None if they are not all of 1 to 255 bytes of UTF-8 without NUL, or do not end within
    `data`: then they must be read one by one.
    """
    raw = np.frombuffer(data, np.uint8)
    zero = raw == 0
    # A length is one byte that is not 0 and seven that are.
    found = ~zero[:-7]
    for place in range(1, 8):
        found &= zero[place : place - 7 or None]
    starts = np.flatnonzero(found)[:count]
    if len(starts) < count:
        return None
    ends = starts + 8 + raw[starts]
    # That each begins where the one before ends makes this the only reading.
    if starts[0] != 0 or (starts[1:] != ends[:-1]).any() or ends[-1] > len(raw):
        return None
    size = int(ends[-1])
    text = raw[:size].copy()
    text[starts] = 0
    kept = np.ones(size, bool)
    kept[(starts[:, None] + np.arange(1, 8)).ravel()] = False
    try:
        # Every string follows its NUL: what stands before the first is nothing.
        strings = text[kept].tobytes().decode("utf-8").split("\0")[1:]
    except UnicodeDecodeError:
        return None
    return (strings, size) if len(strings) == count else None
