"""The Llama graph once more, in float64 and as plainly as possible: no cache, no chunks.

It shares only the file's header with the engine: it unpacks the stored bytes itself,
keeps the three attention matrices apart and turns each pair of values by sine and cosine.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from apps.engine.model import Model
from apps.engine.rotary import Rotary

F64 = npt.NDArray[np.float64]


def unpack(name: str, raw: npt.NDArray[np.uint8], shape: tuple[int, ...]) -> F64:
    """The values of a stored tensor."""
    if name in ("F32", "F16"):
        return (
            np.frombuffer(raw, "<f4" if name == "F32" else "<f2").astype(np.float64).reshape(shape)
        )
    size = {"Q4_0": 18, "Q4_1": 20, "Q8_0": 34}[name]
    blocks = raw.reshape(-1, size)
    scale = blocks[:, :2].copy().view("<f2").astype(np.float64)
    if name == "Q8_0":
        values = blocks[:, 2:].view(np.int8) * scale
    else:
        packed = blocks[:, size - 16 :].astype(np.int64)
        q = np.concatenate([packed % 16, packed // 16], axis=1)
        least = blocks[:, 2:4].copy().view("<f2").astype(np.float64)
        values = (q - 8) * scale if name == "Q4_0" else q * scale + least
    return values.reshape(shape)


def reference_logits(model: Model, texts: list[list[int]]) -> list[F64]:
    """Logits [tokens, vocabulary] of every position of each text."""
    return list(each_logits(model, texts))


def each_logits(model: Model, texts: list[list[int]]) -> Iterator[F64]:
    """The same, one text after another: the logits of a long text fill a gigabyte."""

    def tensor(name: str) -> F64:
        stored = model.file.tensors[f"{name}.weight"]
        return unpack(stored.format.name, stored.raw, stored.shape)

    embedding = tensor("token_embd")
    states = [embedding[text] for text in texts]
    for number in range(model.config.layers):
        layer = {
            name: tensor(f"blk.{number}.{name}")
            for name in ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output",
                         "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")
        }  # fmt: skip
        states = [_block(model, layer, x) for x in states]
    head = embedding if model.tied else tensor("output")
    norm = tensor("output_norm")
    for x in states:
        yield _norm(model, x, norm) @ head.T


def _block(model: Model, layer: dict[str, F64], x: F64) -> F64:
    normed = _norm(model, x, layer["attn_norm"])
    heads = list(_heads(model, layer, normed))
    x = x + np.concatenate(heads, axis=1) @ layer["attn_output"].T
    normed = _norm(model, x, layer["ffn_norm"])
    gate, up = normed @ layer["ffn_gate"].T, normed @ layer["ffn_up"].T
    silu = gate * 0.5 * (1 + np.tanh(gate / 2))
    down: F64 = (silu * up) @ layer["ffn_down"].T
    return x + down


def _heads(model: Model, layer: dict[str, F64], x: F64) -> Iterator[F64]:
    config = model.config
    q, k, v = (x @ layer[name].T for name in ("attn_q", "attn_k", "attn_v"))
    for head in range(config.heads):
        shared = head // (config.heads // config.kv_heads)
        mine = slice(head * config.head, (head + 1) * config.head)
        theirs = slice(shared * config.head, (shared + 1) * config.head)
        queries = _turn(q[:, mine], config.rotary)
        keys = _turn(k[:, theirs], config.rotary)
        scores = queries @ keys.T / np.sqrt(config.head)
        scores[np.arange(len(x))[:, None] < np.arange(len(x))] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        yield weights / weights.sum(axis=1, keepdims=True) @ v[:, theirs]


def _turn(x: F64, rotary: Rotary) -> F64:
    turned = x.copy()
    for pair, frequency in enumerate(rotary.frequencies):
        angle = np.arange(len(x)) * frequency
        first, second = x[:, 2 * pair], x[:, 2 * pair + 1]
        turned[:, 2 * pair] = first * np.cos(angle) - second * np.sin(angle)
        turned[:, 2 * pair + 1] = first * np.sin(angle) + second * np.cos(angle)
    turned[:, : 2 * len(rotary.frequencies)] *= rotary.magnitude
    return turned


def _norm(model: Model, x: F64, weight: F64) -> F64:
    normed: F64 = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + model.config.epsilon) * weight
    return normed
