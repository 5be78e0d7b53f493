"""Does every image's digest stand for the sources of this commit?

`images.lock` says which inputs made which digest. The hashes of the inputs are
computed again from the commit; a commit that changed sources without the digest
would test one thing and release another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import yaml

from images.errors import ImageError
from images.inputs import InputsError, inputs_hash, parse_inputs, select
from images.lock import COMPONENT, LOCK, Lock, component, parse
from rollout._yaml_reader import BadDocument, refuse_tricks
from rollout.finding import Finding

MAX_BYTES = 64 << 10
"""Bytes of a file that is read here."""
MAX_IMAGES = 50
MAX_INPUTS = 200
Entry = tuple[str, str, str]
"""Path, mode and blob of one file, as `git ls-tree -r` gives them."""
Read = Callable[[str], bytes]
"""The bytes of a file of the commit, by its path."""
Tree = Callable[[Sequence[str]], Iterable[Entry]]
"""The files of the commit at and below some paths."""


def check(entries_by_image: Mapping[str, Iterable[Entry]], lock: Lock) -> list[Finding]:
    """Images whose inputs (as listed by the commit) are not those that `lock` names."""
    found = []
    for name, entries in sorted(entries_by_image.items()):
        locked = lock.images.get(name)
        if locked is None:
            found.append(_finding(name, "it has no digest"))
        elif locked.inputs != inputs_hash(entries):
            found.append(_finding(name, "its sources changed without its digest"))
    for name in sorted(lock.images.keys() - entries_by_image.keys()):
        remedy = f"take {name} off {LOCK}, or add images/{name}/"
        found.append(Finding("digest", f"image {name}", "it is locked but not in images/", remedy))
    return found


def examine(read: Read, tree: Tree) -> list[Finding]:
    """The same from the commit itself; the Kustomize component must say what the lock says, too."""
    try:
        text = read(str(LOCK)).decode()
        refuse_tricks(text)
        lock = parse(text)
        entries = {name: _entries(name, read, tree) for name in _images(tree)}
        if read(str(COMPONENT)).decode() != component(lock):
            remedy = "run `python -m images lock` and commit both files"
            what = f"it does not say what {LOCK} says"
            return [*check(entries, lock), Finding("digest", str(COMPONENT), what, remedy)]
    except (ImageError, InputsError, UnicodeDecodeError, BadDocument, yaml.YAMLError) as bad:
        remedy = "run `python -m images build --push` and commit the lock"
        return [Finding("digest", str(LOCK), " ".join(str(bad).split()), remedy)]
    return check(entries, lock)


def _images(tree: Tree) -> list[str]:
    paths = (entry[0].split("/") for entry in tree(["images"]))
    found = {path[1] for path in paths if len(path) == 3 and path[2] == "Containerfile"}
    if len(found) > MAX_IMAGES:
        raise InputsError(f"images/ makes {len(found)} images, at most {MAX_IMAGES}")
    return sorted(found)


def _entries(name: str, read: Read, tree: Tree) -> list[Entry]:
    where = f"images/{name}/inputs"
    inputs = parse_inputs(read(where).decode(), where)
    if len(inputs) > MAX_INPUTS:
        raise InputsError(f"{where} names {len(inputs)} paths, at most {MAX_INPUTS}: name folders")
    return list(select(tree(inputs), inputs))


def _finding(name: str, what: str) -> Finding:
    remedy = f"run `python -m images build {name} --push` and commit {LOCK} and {COMPONENT}"
    return Finding("digest", f"image {name}", what, remedy)
