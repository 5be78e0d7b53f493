"""A model's folder from the packed weights: graph, tokeniser, and what they must be told."""

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import asdict, replace
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
    files = {
        GRAPH: graph_of(packed, PRODUCTS[weights]).SerializeToString(deterministic=True),
        TOKENIZER: sentencepiece_model(vocabulary),
    }
    manifest = Manifest(
        name=f"{_NAME}-{weights}",
        dimensions=packed.shape.hidden,
        max_tokens=packed.shape.positions,
        begin=vocabulary.begin,
        end=vocabulary.end,
        unknown=vocabulary.unknown,
        prefixes={"query": "query: ", "passage": "passage: "},
        characters={chr(old): new for old, new in vocabulary.characters.items()},
    )
    # Whatever changes a vector changes the name.
    parts = (*files.values(), _json(manifest))
    digest = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts))
    manifest = replace(manifest, name=f"{manifest.name}-{digest.hexdigest()[:12]}")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as name:
        folder = Path(name, "new")
        folder.mkdir(mode=0o755)
        for file, data in {**files, MANIFEST: _json(manifest)}.items():
            (folder / file).write_bytes(data)
        _put(folder, out)
    return manifest


def _json(manifest: Manifest) -> bytes:
    return json.dumps(asdict(manifest), indent=1, sort_keys=True).encode() + b"\n"


def _put(folder: Path, out: Path) -> None:
    """Replace `out`, if it is there; another process may do the same with the same bytes."""
    shutil.rmtree(out, ignore_errors=True)
    try:
        os.rename(folder, out)
    except OSError:
        if not (out / MANIFEST).is_file():
            raise
