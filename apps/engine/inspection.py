"""The commands `inspect` and `verify`: what is in a file, and whose it is."""

import argparse
import json
from collections import Counter
from dataclasses import asdict
from typing import Any

from apps.engine.errors import BadRequest
from apps.engine.gguf import Check, Gguf
from apps.engine.model import Model, default_path, default_trust


def inspect(arguments: argparse.Namespace) -> None:
    """Print the sizes of a checked file, its tokeniser and how its tensors are stored."""
    model = Model.open(arguments.file or default_path(), default_trust())
    report = _report(model)
    if arguments.output == "json":
        print(json.dumps(report))
        return
    rope = report["config"].pop("rotary")
    lines = {
        "file": report["file"],
        "sha3-512": report["sha3_512"] or "not computed (no key to verify it with)",
        **report["config"],
        "rope": f"{len(rope['frequencies'])} pairs, base {rope['base']:g},"
        f" magnitude {rope['magnitude']:g}",
        "logits by": "the embedding" if report["tied"] else "its own matrix",
        "tokeniser": f"{report['tokeniser']['model']}, {report['tokeniser']['pre'] or 'no cut'},"
        f" {report['tokeniser']['tokens']} tokens",
        **{
            name: f"{one['tensors']} tensors, {one['bytes'] / 1e6:.1f} MB"
            for name, one in report["formats"].items()
        },
    }
    for name, value in lines.items():
        print(f"{name:<12} {value:g}" if isinstance(value, float) else f"{name:<12} {value}")
    print("every tensor's shape, type, place and bounds were checked")


def verify(arguments: argparse.Namespace) -> None:
    """Say whether a file is the one that the key's owner signed."""
    trust = _trust(arguments)
    file = Gguf(arguments.file or default_path(), trust)
    assert file.digest
    report = {
        "file": file.path,
        "sha3_512": file.digest.value.hex(),
        "seconds": round(file.digest.seconds, 3),
    }
    if arguments.output == "json":
        print(json.dumps(report))
        return
    print(f"{file.path}: signed by the owner of the key")
    print(f"SHA3-512 {report['sha3_512']}, computed in {report['seconds']:.2f} s")


def _trust(arguments: argparse.Namespace) -> Check:
    if arguments.key:
        # Slow to import, and of no use to the other commands.
        from apps.engine.verify import read_trust

        return read_trust(arguments.key, arguments.signature)
    trust = default_trust()
    if not trust:
        raise BadRequest("whom to trust? name the public key's file: --key or ENGINE_MODEL_KEY")
    return trust


def _report(model: Model) -> dict[str, Any]:
    file, tensors = model.file, model.file.tensors.values()
    count = Counter(tensor.format.name for tensor in tensors)
    size: Counter[str] = Counter()
    for tensor in tensors:
        size[tensor.format.name] += tensor.raw.size
    return {
        "file": file.path,
        "sha3_512": file.digest.value.hex() if file.digest else None,
        "config": asdict(model.config),
        "tied": model.tied,
        "tokeniser": {
            "model": file.metadata["tokenizer.ggml.model"],
            "pre": file.metadata.get("tokenizer.ggml.pre"),
            "tokens": model.tokenizer.size,
        },
        "formats": {name: {"tensors": count[name], "bytes": size[name]} for name in count},
        "tensors": {
            tensor.name: {
                "format": tensor.format.name,
                "shape": tensor.shape,
                "offset": tensor.offset,
            }
            for tensor in tensors
        },
    }
