"""Small models in folders of their own."""

import json
from pathlib import Path

import numpy as np

from apps.embedder.build.folder import multilingual, write
from apps.embedder.build.safetensors import _full
from apps.embedder.model import Manifest
from tests.unit.embedder.tiny_packed import PIECES, tiny

ENGLISH = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *"abcdefgh0123456789.,!-",
    "##b",
    "##bc",
    "fee",
    "资",
]
ENGLISH += ["##s", "ab"] + [f"[unused{i}]" for i in range(len(PIECES) - len(ENGLISH) - 2)]


def build(source: Path, out: Path, weights: str) -> Manifest:
    """The folder `out` from a packed file."""
    return write(*multilingual(source, weights), out)


def english_source(folder: Path) -> Path:
    """`model.safetensors` with the tensors of the small packed model, and `vocab.txt`."""
    header, data = {}, b""
    for name, values in tiny().tensors.items():
        raw = values.astype("<f4").tobytes()
        place = [len(data), len(data) + len(raw)]
        header[_full(name)] = {"dtype": "F32", "shape": values.shape, "data_offsets": place}
        data += raw
    head = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    (folder / "model.safetensors").write_bytes(np.uint64(len(head)).tobytes() + head + data)
    (folder / "vocab.txt").write_text("\n".join(ENGLISH) + "\n")
    return folder
