"""A model's folder from the packed weights: graph, tokeniser, and what they must be told."""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from apps.embedder.build.graph import PRODUCTS, graph_of
from apps.embedder.build.packed import Packed
from apps.embedder.build.pieces import sentencepiece_model
from apps.embedder.model import GRAPH, MANIFEST, TOKENIZER, Manifest

_NAME = "multilingual-e5-small"


def build(source: Path, out: Path, weights: str) -> Manifest:
    """Write the folder `out`, whole or not at all; the same source gives the same bytes.

    `weights` is "int4" or "int8". Errors: `BadModel` for a source that is not a packed model.
    """
    packed = Packed(source)
    vocabulary = packed.vocabulary
    graph = graph_of(packed, PRODUCTS[weights]).SerializeToString(deterministic=True)
    manifest = Manifest(
        name=f"{_NAME}-{weights}-{hashlib.sha256(graph).hexdigest()[:12]}",
        dimensions=packed.shape.hidden,
        max_tokens=packed.shape.positions,
        begin=vocabulary.begin,
        end=vocabulary.end,
        unknown=vocabulary.unknown,
        prefixes={"query": "query: ", "passage": "passage: "},
        characters={chr(old): new for old, new in vocabulary.characters.items()},
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as name:
        folder = Path(name, "new")
        folder.mkdir(mode=0o755)
        (folder / GRAPH).write_bytes(graph)
        (folder / TOKENIZER).write_bytes(sentencepiece_model(vocabulary))
        text = json.dumps(manifest.__dict__, indent=1, sort_keys=True)
        (folder / MANIFEST).write_text(text + "\n")
        _put(folder, out)
    return manifest


def _put(folder: Path, out: Path) -> None:
    """Replace `out`, if it is there; another process may do the same with the same bytes."""
    shutil.rmtree(out, ignore_errors=True)
    try:
        os.rename(folder, out)
    except OSError:
        if not (out / MANIFEST).is_file():
            raise
