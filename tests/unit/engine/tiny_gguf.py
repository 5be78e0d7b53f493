"""Writes GGUF files for tests: a tiny Llama with random weights, or any broken file."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ALIGNMENT = 32
F32, F16, Q4_0, Q4_1, Q8_0 = 0, 1, 2, 3, 8
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["Ġ t", "h e", "Ġt he", "i n", "Ã ©", "ä ½", "1 2"]


@dataclass(frozen=True)
class Raw:
    """A tensor as it goes into the file: `shape` outermost first."""

    shape: Sequence[int]
    code: int
    data: bytes
    offset: int | None = None


def string(text: str | bytes) -> bytes:
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


def value(item: Any) -> bytes:
    """A typed metadata value; a list takes the type of its first item."""
    kind, data = _typed(item)
    return struct.pack("<I", kind) + data


def _typed(item: Any) -> tuple[int, bytes]:
    if isinstance(item, bool):
        return 7, struct.pack("<?", item)
    if isinstance(item, int):
        return 4, struct.pack("<I", item)
    if isinstance(item, float):
        return 6, struct.pack("<f", item)
    if isinstance(item, str):
        return 8, string(item)
    kinds = [_typed(one) for one in item]
    return 9, struct.pack("<IQ", kinds[0][0], len(kinds)) + b"".join(data for _, data in kinds)


def gguf(
    metadata: Mapping[str, Any],
    tensors: Mapping[str, Raw],
    *,
    magic: bytes = b"GGUF",
    version: int = 3,
    tensor_count: int | None = None,
    metadata_count: int | None = None,
) -> bytes:
    """The bytes of a file; offsets follow one another unless a tensor gives its own."""
    tensor_count = len(tensors) if tensor_count is None else tensor_count
    metadata_count = len(metadata) if metadata_count is None else metadata_count
    out = magic + struct.pack("<IQQ", version, tensor_count, metadata_count)
    out += b"".join(string(key) + value(item) for key, item in metadata.items())
    body = b""
    for name, raw in tensors.items():
        offset = len(body) if raw.offset is None else raw.offset
        out += string(name) + struct.pack("<I", len(raw.shape))
        out += b"".join(struct.pack("<Q", size) for size in reversed(raw.shape))
        out += struct.pack("<IQ", raw.code, offset)
        body += raw.data + bytes(-len(raw.data) % ALIGNMENT)
    return out + bytes(-len(out) % ALIGNMENT) + body


def random_tensor(
    random: np.random.Generator, shape: Sequence[int], code: int, scale: float
) -> Raw:
    """Values of about `scale`, stored in the format."""
    count = int(np.prod(shape))
    if code in (F32, F16):
        values = random.standard_normal(count) * scale
        return Raw(shape, code, values.astype("<f4" if code == F32 else "<f2").tobytes())
    blocks = count // 32
    top = {Q4_0: 8, Q4_1: 8, Q8_0: 127}[code]
    scales = (random.uniform(0.5, 1.5, blocks) * scale * 2 / top).astype("<f2")
    parts = [scales[:, None].view(np.uint8)]
    if code == Q4_1:
        parts.append((scales * -7.5).astype("<f2")[:, None].view(np.uint8))
    width = 32 if code == Q8_0 else 16
    parts.append(random.integers(0, 256, (blocks, width), np.uint8))
    return Raw(shape, code, np.concatenate(parts, axis=1).tobytes())


def vocabulary() -> list[str]:
    """Control tokens, the 256 byte characters, and what the merges give."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    characters = [chr(byte) for byte in printable] + [chr(0x100 + i) for i in range(len(others))]
    return CONTROL + characters + [merge.replace(" ", "") for merge in MERGES]


def tiny_metadata(**changes: Any) -> dict[str, Any]:
    tokens = vocabulary()
    metadata = {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "llama.context_length": 512,
        "llama.embedding_length": 64,
        "llama.feed_forward_length": 96,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.freq_base": 1000.0,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3] * len(CONTROL) + [1] * (len(tokens) - len(CONTROL)),
        "tokenizer.ggml.merges": MERGES,
    }
    return metadata | changes


def tiny_tensors(seed: int = 0, *, tied: bool = True) -> dict[str, Raw]:
    random = np.random.default_rng(seed)
    width, kv, feed, words = 64, 32, 96, len(vocabulary())
    tensors = {"token_embd.weight": random_tensor(random, (words, width), Q8_0, 1.0)}
    for number in range(2):
        for name, shape, code in (
            ("attn_norm", (width,), F32),
            ("attn_q", (width, width), Q4_1),
            ("attn_k", (kv, width), Q4_1),
            ("attn_v", (kv, width), Q4_0),
            ("attn_output", (width, width), Q4_1),
            ("ffn_norm", (width,), F32),
            ("ffn_gate", (feed, width), Q4_1),
            ("ffn_up", (feed, width), F16),
            ("ffn_down", (width, feed), Q4_1),
        ):
            tensors[f"blk.{number}.{name}.weight"] = random_tensor(random, shape, code, 0.3)
    tensors["output_norm.weight"] = random_tensor(random, (width,), F32, 1.0)
    if not tied:
        tensors["output.weight"] = random_tensor(random, (words, width), Q8_0, 1.0)
    return tensors


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
