"""The sizes of a Llama-family graph, as a GGUF file's metadata gives them."""

from dataclasses import dataclass
from typing import Any

from apps.engine.errors import BadArtefact
from apps.engine.gguf import Gguf
from apps.engine.rotary import Rotary, read_rotary

_LIMIT = 1 << 20
# Keys that change the computation, each with the values that leave the plain graph.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "llama.expert_count": (0,),
    "llama.expert_used_count": (0,),
    "llama.use_parallel_residual": (False,),
    "llama.attention.clamp_kqv": (0.0,),
    "llama.attention.max_alibi_bias": (0.0,),
    "llama.attention.sliding_window": (0,),
    "llama.attention.scale": (0.0,),
    "llama.attention.causal": (True,),
    "llama.embedding_scale": (0.0, 1.0),
    "llama.residual_scale": (0.0, 1.0),
    "llama.logit_scale": (0.0, 1.0),
    "llama.attn_logit_softcapping": (0.0,),
    "llama.final_logit_softcapping": (0.0,),
    "llama.rope.scale_linear": (0.0, 1.0),
}


@dataclass(frozen=True)
class Config:
    """Counts, sizes and constants of the graph; `head` is the width of one attention head."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head: int
    feed_forward: int
    vocabulary: int
    context: int
    epsilon: float
    rotary: Rotary


def read_config(file: Gguf) -> Config:
    """Read and check the sizes. Errors: `BadArtefact` names the metadata key."""
    architecture = file.get("general.architecture", str)
    if architecture != "llama":
        raise BadArtefact(
            f"{file.path}: architecture {architecture!r} is not supported; use one of 'llama'"
        )
    for key, plain in _PLAIN.items():
        if (value := file.get(key, type(plain[0]), plain[0])) not in plain:
            raise BadArtefact(
                f"{file.path}: metadata {key!r} is {value!r}, which the engine does not compute;"
                " use a plain Llama graph"
            )
    width = _size(file, "embedding_length")
    heads = _size(file, "attention.head_count")
    head = _head(file, width, heads)
    context = _size(file, "context_length")
    config = Config(
        layers=_size(file, "block_count"),
        width=width,
        heads=heads,
        kv_heads=_size(file, "attention.head_count_kv", heads),
        head=head,
        feed_forward=_size(file, "feed_forward_length"),
        vocabulary=_vocabulary(file),
        context=context,
        epsilon=file.get("llama.attention.layer_norm_rms_epsilon", float),
        rotary=read_rotary(file, _rotated(file, head), context),
    )
    if heads % config.kv_heads:
        raise BadArtefact(
            f"{file.path}: {heads} heads over {config.kv_heads} KV heads;"
            " use a model whose KV heads divide its heads"
        )
    if not 0 < config.epsilon < 1:
        raise BadArtefact(
            f"{file.path}: metadata 'llama.attention.layer_norm_rms_epsilon' is {config.epsilon},"
            " possible is more than 0 and less than 1; fetch the file again from its source"
        )
    return config


def _head(file: Gguf, width: int, heads: int) -> int:
    """The width of keys and of values: one figure for both, as the KV pages have one."""
    if "llama.attention.key_length" not in file.metadata and width % heads:
        raise BadArtefact(
            f"{file.path}: {heads} heads do not divide the width {width} and metadata"
            " 'llama.attention.key_length' is missing; use a complete model"
        )
    head = _size(file, "attention.key_length", width // heads)
    value = _size(file, "attention.value_length", head)
    if value != head:
        raise BadArtefact(
            f"{file.path}: 'llama.attention.value_length' is {value}, the key length {head};"
            " use a model where they are equal"
        )
    return head


def _rotated(file: Gguf, head: int) -> int:
    rotated = _size(file, "rope.dimension_count", head)
    if rotated > head or rotated % 2:
        raise BadArtefact(
            f"{file.path}: {rotated} of a head's {head} values rotate"
            " ('llama.rope.dimension_count'); possible is an even number of them"
        )
    return rotated


def _vocabulary(file: Gguf) -> int:
    count = len(file.get_list("tokenizer.ggml.tokens", str))
    stated = _size(file, "vocab_size", count)
    if stated != count:
        raise BadArtefact(
            f"{file.path}: 'llama.vocab_size' is {stated}, but the file has {count} tokens;"
            " fetch the file again from its source"
        )
    return count


def _size(file: Gguf, name: str, default: int | None = None) -> int:
    value = file.get(f"llama.{name}", int, default)
    if not 1 <= value <= _LIMIT:
        raise BadArtefact(
            f"{file.path}: metadata 'llama.{name}' is {value}, possible are 1 to {_LIMIT}"
        )
    return value
