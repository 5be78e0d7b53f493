"""Layers whose contents are made from the repository's own files: a program, a model, a module."""

import json
import shutil
import sys
from pathlib import Path

from images.command import run
from images.errors import ImageError
from images.inputs import entries_of_tree, inputs_hash
from images.layers.layer import Layer

_COMPILE_S = 1800


def binary_layer(root: Path, name: str) -> Layer:
    """The static program that `python -m deploy.cluster build NAME` prints the path of."""
    sources = f"deploy/cluster/{name}"

    def prepare(context: Path) -> None:
        command = [sys.executable, "-m", "deploy.cluster", "build", name]
        built = run(command, timeout_s=_COMPILE_S, cwd=root).split()[-1]
        shutil.copyfile(built, context / name)
        (context / name).chmod(0o755)

    return Layer(
        title=f"program {name}",
        key=f"binary {name} {inputs_hash(entries_of_tree(root, [sources]))}",
        containerfile=f"FROM ${{PARENT}}\nCOPY {name} /{name}\n",
        prepare=prepare,
    )


def trained_layer(root: Path, package: str, result: str, others: list[str]) -> Layer:
    """The file `result` that `python -m PACKAGE.train --out` writes, without what made it.

    `package` is a folder; `others` are the files outside it that it imports.
    """
    parents = [path.as_posix() for path in Path(package).parents if path.name]
    inputs = [package, *others, *(f"{parent}/__init__.py" for parent in parents)]
    hashed = inputs_hash(entries_of_tree(root, inputs))
    module = package.replace("/", ".") + ".train"
    train = ["env", "OPENBLAS_NUM_THREADS=1", "python3", "-B", "-m", module, "--out", result]

    def prepare(context: Path) -> None:
        copy_inputs(root, inputs, context, hashed)

    return Layer(
        title=f"model of {package}",
        key=f"trained {hashed} {result}",
        containerfile=(
            f"FROM ${{PARENT}}\nCOPY . /build\nWORKDIR /build\nRUN {json.dumps(train)}\n"
            'WORKDIR /\nRUN ["rm", "-r", "/build"]\n'
        ),
        prepare=prepare,
    )


def made_layer(root: Path, package: str, result: str, others: list[str]) -> Layer:
    """The file or folder `result` that `python -m PACKAGE --out` writes.

    It is made here and not in the image, which needs none of the packages and compilers for it.
    `package` is a folder; `others` are the files outside it that it imports.
    """
    hashed = inputs_hash(entries_of_tree(root, [package, *others]))
    name = Path(result).name

    def prepare(context: Path) -> None:
        out = context / name
        run(
            [sys.executable, "-m", package.replace("/", "."), "--out", str(out)],
            timeout_s=_COMPILE_S,
            cwd=root,
        )
        for made in (out, *out.rglob("*")):
            made.chmod(0o755 if made.is_dir() else 0o644)

    return Layer(
        title=f"what {package} makes",
        key=f"made {hashed} {result}",
        containerfile=f"FROM ${{PARENT}}\nCOPY {name} {result}\n",
        prepare=prepare,
    )


def copy_inputs(root: Path, inputs: list[str], context: Path, hashed: str) -> None:
    """Copy what `inputs` names, and nothing else, with modes as git keeps them.

    `hashed` is the hash the copy must have: somebody may be editing.
    """
    context.chmod(0o755)
    for entry in entries_of_tree(root, inputs):
        target = context / entry.path
        for folder in reversed(target.relative_to(context).parents):
            (context / folder).mkdir(mode=0o755, exist_ok=True)
            (context / folder).chmod(0o755)
        shutil.copyfile(root / entry.path, target, follow_symlinks=False)
        if entry.mode != "120000":
            target.chmod(0o755 if entry.mode == "100755" else 0o644)
    if inputs_hash(entries_of_tree(context, inputs)) != hashed:
        raise ImageError("its inputs changed meanwhile: build again")
