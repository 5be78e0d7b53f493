"""The folder that holds a model: `model.onnx`, `tokenizer.model`, `embedder.json`."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from apps.embedder.errors import BadModel

GRAPH, TOKENIZER, MANIFEST = "model.onnx", "tokenizer.model", "embedder.json"
_BUILD = Path(__file__).parent / "build"


@dataclass(frozen=True)
class Manifest:
    """What the graph and the tokeniser must be told."""

    name: str
    """The model, its weights and the digest of all that decides a vector."""
    tokenizer: str
    """`unigram` or `wordpiece`."""
    dimensions: int
    max_tokens: int
    """Of one text, the special ones and the prefix included."""
    begin: int
    end: int
    unknown: int
    prefixes: dict[str, str]
    """What the model wants before a text, by its kind."""
    characters: dict[str, str]
    """What each of these characters becomes before the text is cut into tokens."""

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Errors: `BadModel` if the folder has none that fits."""
        path = folder / MANIFEST
        try:
            return cls(**json.loads(path.read_text()))
        except OSError as error:
            why = error.strerror
        except (ValueError, TypeError):
            why = "not written by this version"
        raise BadModel(f"{path}: {why}; run `python -m apps.embedder.build --out {folder}`")


def default_model() -> Path:
    """`$EMBEDDER_MODEL`, or else a folder of the user's cache that is built on its first use.

    Errors: `BadModel` if there is neither a folder nor what to build it from.
    """
    if given := os.environ.get("EMBEDDER_MODEL"):
        return Path(given)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "switchyard" / f"embedder-{_sources_digest()}"
    if not (folder / MANIFEST).is_file():
        _build(folder)
    return folder


def _build(folder: Path) -> None:
    try:
        # Only where a model is built are the packages installed that build it.
        from apps.embedder.build.folder import multilingual, write
        from apps.embedder.build.packed import packaged

        write(*multilingual(packaged(), "int4"), folder)
    except ModuleNotFoundError as error:
        why = f"it is built with the package {error.name}, which is not installed"
    except OSError as error:
        why = f"it cannot be built in {folder}: {error.strerror}"
    else:
        return
    raise BadModel(f"no model: {why}; set EMBEDDER_MODEL to a folder that has one")


def _sources_digest() -> str:
    sources = [Path(__file__), *sorted(_BUILD.glob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:12]
