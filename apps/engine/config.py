"""The sizes of a Llama-family graph, as a GGUF file's metadata gives them."""

from dataclasses import dataclass

from apps.engine.errors import BadArtefact
from apps.engine.gguf import Gguf

_LIMIT = 1 << 20


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
    rope_base: float
    epsilon: float


def read_config(file: Gguf) -> Config:
    """Read and check the sizes. Errors: `BadArtefact` names the metadata key."""
    architecture = file.get("general.architecture", str)
    if architecture != "llama":
        raise BadArtefact(f"{file.path}: architecture {architecture!r}; use one of 'llama'")
    if file.get("llama.rope.scaling.type", str, "none") != "none":
        raise BadArtefact(f"{file.path}: 'llama.rope.scaling.type' is set; use an unscaled model")
    width = _size(file, "embedding_length")
    heads = _size(file, "attention.head_count")
    config = Config(
        layers=_size(file, "block_count"),
        width=width,
        heads=heads,
        kv_heads=_size(file, "attention.head_count_kv", heads),
        head=_size(file, "attention.key_length", width // heads),
        feed_forward=_size(file, "feed_forward_length"),
        vocabulary=len(file.get_list("tokenizer.ggml.tokens", str)),
        context=_size(file, "context_length"),
        rope_base=file.get("llama.rope.freq_base", float, 10_000.0),
        epsilon=file.get("llama.attention.layer_norm_rms_epsilon", float),
    )
    rotated = _size(file, "rope.dimension_count", config.head)
    if config.heads % config.kv_heads or rotated != config.head or config.head % 2:
        raise BadArtefact(
            f"{file.path}: {config.heads} heads over {config.kv_heads} KV heads of"
            f" {config.head}, {rotated} of them rotated; use a whole group and full rotation"
        )
    if not (config.rope_base > 1 and 0 < config.epsilon < 1):
        raise BadArtefact(
            f"{file.path}: rope base {config.rope_base}, norm epsilon {config.epsilon};"
            " fetch the file again from its source"
        )
    return config


def _size(file: Gguf, name: str, default: int | None = None) -> int:
    value = file.get(f"llama.{name}", int, default)
    if not 1 <= value <= _LIMIT:
        raise BadArtefact(
            f"{file.path}: metadata 'llama.{name}' is {value}, possible are 1 to {_LIMIT}"
        )
    return value
