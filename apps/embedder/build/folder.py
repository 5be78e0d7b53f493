"""A model's folder: graph, tokeniser, and what they must be told."""

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

from apps.embedder.build.network import graph_of
from apps.embedder.build.packed import Packed
from apps.embedder.build.pieces import sentencepiece_model
from apps.embedder.build.products import PRODUCTS
from apps.embedder.build.safetensors import MAX_TOKENS, MiniLM
from apps.embedder.model import GRAPH, MANIFEST, TOKENIZER, Manifest

Files = dict[str, bytes]


def multilingual(source: Path, weights: str) -> tuple[Files, Manifest]:
    """multilingual-e5-small from its packed file; `weights` is a key of `PRODUCTS`.

    The same source gives the same bytes. Errors: `BadModel` for a source that is another file.
    """
    packed = Packed(source)
    vocabulary = packed.vocabulary
    files = {
        GRAPH: graph_of(packed, PRODUCTS[weights]).SerializeToString(deterministic=True),
        TOKENIZER: sentencepiece_model(vocabulary),
    }
    manifest = Manifest(
        name=f"multilingual-e5-small-{weights}",
        tokenizer="unigram",
        dimensions=packed.shape.hidden,
        max_tokens=packed.shape.positions,
        begin=vocabulary.begin,
        end=vocabulary.end,
        unknown=vocabulary.unknown,
        prefixes={"query": "query: ", "passage": "passage: "},
        characters={chr(old): new for old, new in vocabulary.characters.items()},
    )
    return files, manifest


def english(source: Path, weights: str) -> tuple[Files, Manifest]:
    """all-MiniLM-L6-v2 from its folder; as `multilingual`, but for "int4": its weights are not
    packed."""
    model = MiniLM(source)
    files = {
        GRAPH: graph_of(model, PRODUCTS[weights]).SerializeToString(deterministic=True),
        TOKENIZER: model.vocabulary,
    }
    pieces = model.vocabulary.splitlines()
    manifest = Manifest(
        name=f"all-MiniLM-L6-v2-{weights}",
        tokenizer="wordpiece",
        dimensions=model.shape.hidden,
        max_tokens=min(MAX_TOKENS, model.shape.positions),
        begin=pieces.index(b"[CLS]"),
        end=pieces.index(b"[SEP]"),
        unknown=pieces.index(b"[UNK]"),
        prefixes={"query": "", "passage": ""},
        characters={},
    )
    return files, manifest


def write(files: Files, manifest: Manifest, out: Path) -> Manifest:
    """Write the folder `out`, whole or not at all; the manifest as it is there."""
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
