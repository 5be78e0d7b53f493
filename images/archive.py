"""Tar files that say nothing of the machine that made them: sorted, root's, without times."""

import fnmatch
import io
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_SETUID_SETGID = 0o6000


def pack(tree: Path, out: Path) -> None:
    """Everything below `tree` as a tar; modes are 755 or 644, as the owner's x bit says."""
    with tarfile.open(out, "w", format=tarfile.PAX_FORMAT) as tar:
        for file in sorted(tree.rglob("*"), key=lambda path: path.relative_to(tree).as_posix()):
            member = _member(file, file.relative_to(tree).as_posix())
            if member.isreg():
                with file.open("rb") as data:
                    tar.addfile(member, data)
            else:
                tar.addfile(member)


def _member(file: Path, name: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mode = 0o755
    if file.is_symlink():
        member.type, member.linkname, member.mode = tarfile.SYMTYPE, str(file.readlink()), 0o777
    elif file.is_dir():
        member.type = tarfile.DIRTYPE
    else:
        status = file.stat()
        member.size = status.st_size
        member.mode = 0o755 if status.st_mode & 0o100 else 0o644
    return member


def slim(source: Path, out: Path, remove: Sequence[str], append: Mapping[str, str]) -> None:
    """Copy a root file system's tar without the paths in `remove` and without set-id bits.

    `remove` are shell patterns without the leading slash (`usr/share/man/*`; `*` crosses slashes);
    `append` maps a file in the tar to the text to put at its end.
    """
    missing = set(append)
    with tarfile.open(source) as old, tarfile.open(out, "w", format=tarfile.PAX_FORMAT) as new:
        for member in old:
            path = member.name.removeprefix("./")
            if path == "." or any(fnmatch.fnmatchcase(path, pattern) for pattern in remove):
                continue
            member.mode &= ~_SETUID_SETGID
            data = old.extractfile(member) if member.isreg() else None
            if path in append:
                missing.discard(path)
                text = (data.read() if data else b"") + append[path].encode()
                member.size, data = len(text), io.BytesIO(text)
            new.addfile(member, data)
    if missing:
        raise ValueError(f"{source.name} lacks {', '.join(sorted(missing))}")


def prune(tree: Path, patterns: Iterable[str]) -> None:
    """Delete what the patterns name below `tree` (`*` crosses slashes), and folders left empty."""
    chosen = list(patterns)
    for file in sorted(tree.rglob("*"), reverse=True):
        path = file.relative_to(tree).as_posix()
        if file.is_dir() and not file.is_symlink():
            if not any(file.iterdir()):
                file.rmdir()
        elif any(fnmatch.fnmatchcase(path, pattern) for pattern in chosen):
            file.unlink()
