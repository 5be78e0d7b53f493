"""An image's folder, read: its inputs, its layers, its Containerfile."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from images.errors import ImageError
from images.inputs import InputsError, entries_of_tree, inputs_hash, parse_inputs
from images.layers.base import debian_layer, read, scratch_layer
from images.layers.built import binary_layer, made_layer, trained_layer
from images.layers.layer import Layer
from images.layers.wheels import wheels_layer

MAKING = ("images/layers", "images/archive.py", "images/buildah.py")
_KEY = 24


@dataclass(frozen=True)
class Recipe:
    """What `images/NAME` says."""

    name: str
    inputs: list[str]
    inputs_hash: str
    layers: list[Layer]
    containerfile: str

    def layer_keys(self) -> list[str]:
        """A key for each layer over its parents, lowest first."""
        keys: list[str] = []
        for layer in self.layers:
            below = keys[-1] if keys else making()
            text = f"{below}\n{layer.key}\n{layer.containerfile}"
            keys.append(hashlib.sha256(text.encode()).hexdigest()[:_KEY])
        return keys

    def key(self) -> str:
        """Changes when anything does: inputs, layers, or how layers are made."""
        text = f"{self.layer_keys()[-1]} {self.inputs_hash}"
        return hashlib.sha256(text.encode()).hexdigest()[:_KEY]


def making() -> str:
    """A hash of the code that makes layers: another code makes other layers."""
    return inputs_hash(entries_of_tree(Path(__file__).parents[1], MAKING))


def names(root: Path) -> list[str]:
    """The images of a tree: the folders of `images/` with a Containerfile."""
    return sorted(file.parent.name for file in (root / "images").glob("*/Containerfile"))


def recipe(root: Path, name: str) -> Recipe:
    """The recipe of one image; a mistake in its folder is one line."""
    folder = root / "images" / name
    try:
        inputs = parse_inputs((folder / "inputs").read_text(), f"images/{name}/inputs")
        lines = (folder / "layers").read_text().splitlines()
        containerfile = (folder / "Containerfile").read_text()
        hashed = inputs_hash(entries_of_tree(root, inputs))
        layers = _layers(root, name, [line.split() for line in lines if line.strip()])
    except (InputsError, OSError) as bad:
        known = ", ".join(names(root)) or "none"
        raise ImageError(f"image {name}: {bad} (images of this tree: {known})") from bad
    return Recipe(name, inputs, hashed, layers, containerfile)


def _layers(root: Path, name: str, lines: list[list[str]]) -> list[Layer]:
    apart = [line[1] for line in lines if line[0] == "wheel" and len(line) == 2]
    layers: list[Layer] = []
    python = ""
    for words in lines:
        match words:
            case ["base", folder]:
                python = read(root, folder)["python"]
                layers.append(debian_layer(root, folder))
            case ["scratch"]:
                layers.append(scratch_layer())
            case ["wheel", package] if python:
                layers.append(wheels_layer(root, name, python, package))
            case ["python"] if python:
                layers.append(wheels_layer(root, name, python, None, apart))
            case ["binary", program] if layers:
                layers.append(binary_layer(root, program))
            case ["trained", package, result, *others] if layers:
                layers.append(trained_layer(root, package, result, others))
            case ["made", package, result, *others] if layers:
                layers.append(made_layer(root, package, result, others))
            case _:
                raise ImageError(f"images/{name}/layers: {' '.join(words)!r} is no layer here")
    if not layers:
        raise ImageError(f"images/{name}/layers: names no layer")
    return layers
