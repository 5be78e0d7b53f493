"""How far passages share the words of a question: what an exact name or number adds to meaning.

PostgreSQL's full-text search cannot cut Chinese into words, and its matches cannot use an index
under row-level security. So words are compared here, among the passages that a vector search
brought: their rarity among these says as much as it would in all documents.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(
    r"[^\W\d_\u2e80-\u9fff\uf900-\ufaff]+|\d+(?:[.,]\d+)*|[\u3400-\u9fff\uf900-\ufaff]+"
)
# BM25's usual constants: how soon a repeated word counts no more, and how far length does.
_REPEATED, _LENGTH = 1.2, 0.75


def terms(text: str) -> list[str]:
    """The words and numbers of `text` in lower case; of Chinese, each pair of characters."""
    found = []
    for run in _WORD.findall(text.lower()):
        if run[0] < "\u2e80" or len(run) == 1:
            found.append(run)
        else:
            found += [run[at : at + 2] for at in range(len(run) - 1)]
    return found


def shared(question: str, passages: Sequence[str]) -> list[float]:
    """BM25 of each passage among `passages`, divided by the best one's: 0 to 1; 0 for all if no
    word is shared."""
    counts = [Counter(terms(passage)) for passage in passages]
    lengths = [counter.total() for counter in counts]
    usual = sum(lengths) / len(lengths) if any(lengths) else 1.0
    scores = [0.0] * len(counts)
    for term in set(terms(question)):
        have = [at for at, counter in enumerate(counts) if counter[term]]
        rarity = math.log(1 + (len(counts) - len(have) + 0.5) / (len(have) + 0.5))
        for at in have:
            often, size = counts[at][term], 1 - _LENGTH + _LENGTH * lengths[at] / usual
            scores[at] += rarity * often * (_REPEATED + 1) / (often + _REPEATED * size)
    best = max(scores, default=0.0)
    return [score / best for score in scores] if best else scores
