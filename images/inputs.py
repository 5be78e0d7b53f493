"""What decides an image: a hash over its input files, the same from a work tree and a commit.

Pure apart from `entries_of_tree`, and free of imports beyond the standard library: the rollout
controller recomputes these hashes from `git ls-tree -r` alone.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple


class InputsError(ValueError):
    """An inputs list or a tree that cannot be hashed; the text is one line."""


class Entry(NamedTuple):
    """One file as git sees it."""

    path: str
    """Relative to the repository, with forward slashes."""
    mode: str
    """`100644`, `100755` or `120000` (a link), as `git ls-tree` prints it."""
    blob: str
    """Git's SHA-1 of the blob, 40 hex digits."""


def parse_inputs(text: str, where: str = "inputs") -> list[str]:
    """The paths of an `inputs` file: one a line, below the repository; `#` starts a comment."""
    paths = []
    for number, line in enumerate(text.splitlines(), 1):
        path = line.split("#", 1)[0].strip().rstrip("/")
        if not path:
            continue
        if path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")):
            raise InputsError(f"{where}:{number}: {path!r} is not a path below the repository")
        paths.append(path)
    if not paths:
        raise InputsError(f"{where}: names no path")
    return paths


def is_below(path: str, inputs: Iterable[str]) -> bool:
    """Whether `path` is one of `inputs` or lies in one of them."""
    return any(path == top or path.startswith(top + "/") for top in inputs)


def select(entries: Iterable[tuple[str, str, str]], inputs: Sequence[str]) -> list[Entry]:
    """Those entries of a whole tree that `inputs` names; each input must name something."""
    chosen = [Entry(*entry) for entry in entries if is_below(entry[0], inputs)]
    for top in inputs:
        if not any(is_below(entry.path, [top]) for entry in chosen):
            raise InputsError(f"input {top} is not in the tree: add it, or take it off the list")
    return chosen


def inputs_hash(entries: Iterable[tuple[str, str, str]]) -> str:
    """SHA-256 (64 hex digits) over path, mode and blob of each entry, in the order of the paths."""
    digest = hashlib.sha256()
    for path, mode, blob in sorted(entries):
        digest.update(f"{mode} {blob}\t{path}\0".encode())
    return digest.hexdigest()


def entries_of_tree(root: Path, inputs: Sequence[str]) -> list[Entry]:
    """The entries below `root` that `inputs` names, from the files; nothing made of them is one."""
    found: dict[str, Entry] = {}
    for top in inputs:
        start = root / top
        if not os.path.lexists(start):
            raise InputsError(f"input {top} is not in {root}: add it, or take it off the list")
        files = _walk(start) if start.is_dir() and not start.is_symlink() else [start]
        for file in files:
            path = file.relative_to(root).as_posix()
            found[path] = _entry(file, path)
    return sorted(found.values())


def _walk(folder: Path) -> list[Path]:
    """Every file and link below `folder`, without what interpreter and compiler leave there."""
    files = []
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        links = [name for name in folders if os.path.islink(os.path.join(base, name))]
        for name in sorted(names + links):
            if not name.endswith((".pyc", ".so")):
                files.append(Path(base, name))
    return files


def _entry(file: Path, path: str) -> Entry:
    status = file.lstat()
    if stat.S_ISLNK(status.st_mode):
        mode, data = "120000", os.readlink(file).encode()
    elif stat.S_ISREG(status.st_mode):
        # Git keeps one bit of the mode: whether the owner may execute the file.
        mode = "100755" if status.st_mode & stat.S_IXUSR else "100644"
        data = file.read_bytes()
    else:
        raise InputsError(f"input {path} is neither a file nor a link: remove it")
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    return Entry(path, mode, blob)
