"""Whether a rejected release is still inside a candidate, by what the files say.

A hold names the tip of the rejected push and the commit that served then, its
base. What the push brought is the difference of these two trees, however many
commits and merges made it. It is reverted in a candidate when taking it back once
more would change nothing there. That is asked of every file that it changed, each
compared with itself only:

- as it was in the base: reverted. As it was in the rejected commit: not reverted.
- edited since: git merges the candidate's text with the base's, the rejected text
  being their common ancestor. It is reverted if that is clean and gives the
  candidate's text. Where git sees a conflict, nobody knows: not reverted.

The two files of digests are generated, and every change of an image rewrites its
lines: there, no hash that the push brought may be left.

Messages play no part, so they cannot lie. Edits of the neighbourhood are merged; a
partial revert, or the revert of a revert, leaves something to take back. What is
not known to be reverted is held, and a person decides.

A commit that the serving release contains is settled: if its change returns in a
new commit, that is a new change and is examined as one.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from images.lock import COMPONENT, LOCK
from rollout.git import MAX_LISTING, GitError, Repository, TooLarge
from rollout.state import Held

MAX_MERGED = 100
"""Files edited since that are merged for one held commit; more count as not reverted."""
_NOTHING = ("000000", "0" * 40)
_TEXT = ("100644", "100755")
_GENERATED = (str(LOCK), str(COMPONENT))
_HASH = re.compile(rb"[0-9a-f]{64}")

Entry = tuple[str, str]
"""Mode and blob of one file of a tree; `_NOTHING` where there is none."""


@dataclass(frozen=True)
class File:
    """A file that a push changed: in its base, in the rejected commit, and in the candidate."""

    path: str
    was: Entry
    bad: Entry
    now: Entry


@dataclass(frozen=True)
class Inside:
    """A held commit that a candidate still contains, and what its author does next."""

    commit: str
    why: str


def inside(
    repository: Repository, base: str | None, tip: str, held: Mapping[str, Held]
) -> Inside | None:
    """The oldest held commit that came with `base..tip` and is not reverted in `tip`.

    `base` is the commit that serves (None: nothing that git knows).
    """
    new = {one.sha for one in repository.commits(base, tip)} - {tip}
    for commit, reason in held.items():
        if reason.binds and commit in new and not reverted(repository, tip, commit, reason.base):
            return Inside(commit, _why(repository, commit, reason))
    return None


def reverted(repository: Repository, tip: str, commit: str, base: str | None) -> bool:
    """Whether nothing is left in `tip` of what `commit` brought on top of `base`."""
    if base is None:
        return False
    try:
        now = {path: (mode, blob) for path, mode, blob in repository.tree(tip, ["."])}
        files = [
            File(path, was, bad, now.get(path, _NOTHING))
            for path, was, bad in _differences(repository, base, commit)
        ]
        if any(file.now == file.bad for file in files):
            return False
        edited = [file for file in files if file.now != file.was]
        return len(edited) <= MAX_MERGED and all(_taken_back(repository, one) for one in edited)
    except (GitError, TooLarge):
        return False


def _differences(
    repository: Repository, base: str, commit: str
) -> Iterator[tuple[str, Entry, Entry]]:
    """Path, entry in `base` and entry in `commit` of every file that differs."""
    words = ("diff-tree", "-r", "-z", "--no-renames", base, commit)
    fields = repository.git(*words, output=MAX_LISTING).stdout.decode("utf8", "surrogateescape")
    records = iter(fields.split("\0")[:-1])
    for head, path in zip(records, records, strict=True):
        old_mode, mode, old_blob, blob, _status = head[1:].split(" ")
        yield path, (old_mode, old_blob), (mode, blob)


def _taken_back(repository: Repository, file: File) -> bool:
    """Whether a file that is not as it was has lost what the bad one brought."""
    modes = [mode for mode, _blob in (file.now, file.bad, file.was)]
    if any(mode not in _TEXT for mode in modes):
        return False
    if modes[1] != modes[2] and modes[0] != modes[2]:
        return False
    now, bad, was = (repository.blob(blob) for _mode, blob in (file.now, file.bad, file.was))
    if file.path in _GENERATED:
        brought = set(_HASH.findall(bad)) - set(_HASH.findall(was))
        if brought & set(_HASH.findall(now)):
            return False
        now, bad, was = (_HASH.sub(b"", text) for text in (now, bad, was))
    return _merged(repository, now, bad, was) == now


def _merged(repository: Repository, now: bytes, ancestor: bytes, other: bytes) -> bytes | None:
    """What git makes of two texts with a common ancestor; None where it sees a conflict."""
    with tempfile.TemporaryDirectory(prefix="merge-") as folder:
        paths = [Path(folder, name) for name in ("now", "ancestor", "other")]
        for path, text in zip(paths, (now, ancestor, other), strict=True):
            path.write_bytes(text)
        done = repository.git("merge-file", "-p", "-q", *map(str, paths), check=False)
    return done.stdout if done.returncode == 0 else None


def _why(repository: Repository, commit: str, reason: Held) -> str:
    still = f"it still contains {commit[:12]}, {reason.verdict}"
    command = _command(repository, commit, reason.base)
    if not command:
        return f"{still}, and no release that served then says what it brought"
    return f"{still}: take back what it brought (`{command}`)"


def _command(repository: Repository, commit: str, base: str | None) -> str:
    """What the author types; empty if nobody knows what `commit` brought."""
    if base is None:
        return ""
    try:
        brought = repository.commits(base, commit)
    except (GitError, TooLarge):
        return ""
    if any(len(one.parents) > 1 for one in brought):
        # git reverts no range with a merge in it.
        return f"git diff --binary {commit[:12]} {base[:12]} | git apply --3way --index"
    span = commit[:12] if len(brought) == 1 else f"{base[:12]}..{commit[:12]}"
    return f"git revert -S {span}"
