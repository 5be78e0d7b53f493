"""Causal attention of a few new tokens over all cached positions.

The scores take queries x positions x heads; the caller bounds the queries of one
call, so this is never the square of the context.
"""

import numpy as np

from apps.engine.quant import F32


def attend(queries: F32, keys: F32, values: F32) -> F32:
    """Weighted values [queries, heads x head] of queries [queries, heads, head].

    `keys` and `values` are [KV heads, positions, head]; the last query stands at the
    last position, and a group of heads / KV heads queries shares one KV head.
    """
    count, heads, head = queries.shape
    groups, positions, _ = keys.shape
    grouped = queries.reshape(count, groups, heads // groups, head).transpose(1, 2, 0, 3)
    rows = grouped.reshape(groups, heads // groups * count, head)
    scores = rows @ keys.transpose(0, 2, 1) * np.float32(head**-0.5)
    if count > 1:
        hidden = np.triu(np.ones((count, positions), bool), positions - count + 1)
        scores.reshape(groups, heads // groups, count, positions)[:, :, hidden] = -np.inf
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed = (scores @ values).reshape(groups, heads // groups, count, head)
    return mixed.transpose(2, 0, 1, 3).reshape(count, heads * head)
