"""Real git: a small commit that asks for very much is refused, and is not tried again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rollout import git, jobs
from rollout.git import Repository, TooLarge


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    found = Repository("nowhere", tmp_path / "bare")
    subprocess.run(["git", "init", "-q", "--bare", str(found.path)], check=True)
    return found


def write(repository: Repository, *words: str, text: str = "") -> str:
    """What git prints when `text` is its input, as an object's id."""
    identity = {
        f"GIT_{who}_{what}": "ann@example.com"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["git", f"--git-dir={repository.path}", *words],
        input=text, env={**os.environ, **identity}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def commit(repository: Repository, tree: str, subject: str = "[AI-1] x", *parents: str) -> str:
    above = [word for parent in parents for word in ("-p", parent)]
    return write(repository, "commit-tree", tree, *above, "-m", subject)


def tree_of(repository: Repository, **files: str) -> str:
    rows = [
        f"100644 blob {write(repository, 'hash-object', '-w', '--stdin', text=text)}\t{name}"
        for name, text in files.items()
    ]
    return write(repository, "mktree", text="\n".join(rows) + "\n")


def test_a_tree_that_repeats_itself_into_billions_of_files_is_refused(
    repository: Repository, tmp_path: Path
) -> None:
    tree = tree_of(repository, f="x")
    for _ in range(9):
        rows = "".join(f"040000 tree {tree}\t{name}\n" for name in range(10))
        tree = write(repository, "mktree", text=rows)
    sha = commit(repository, tree)
    with pytest.raises(TooLarge, match="release in smaller pieces"):
        repository.checkout(sha, tmp_path / "out")
    with pytest.raises(TooLarge):
        repository.tree(sha, ["."])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "most"), [("MAX_TREE", 10), ("MAX_FILES", 1)])
def test_a_commit_with_too_many_files_or_bytes_is_not_checked_out(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    monkeypatch.setattr(git, name, most)
    sha = commit(repository, tree_of(repository, a="12345678", b="123"))
    with pytest.raises(TooLarge, match="2 files of 11 bytes"):
        repository.checkout(sha, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_too_long_is_named(repository: Repository) -> None:
    sha = commit(repository, tree_of(repository, a="12345678"))
    assert repository.read(sha, "a", 8) == b"12345678"
    with pytest.raises(TooLarge, match="a is longer than 7 bytes"):
        repository.read(sha, "a", 7)


def test_too_many_commits_are_refused_and_long_subjects_are_cut(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "MAX_COMMITS", 2)
    tree = tree_of(repository, a="1")
    first = commit(repository, tree, "[AI-1] " + "x" * 10_000)
    second = commit(repository, tree, "[AI-2] y", first)
    subjects = [one.subject for one in repository.commits(None, second)]
    assert subjects == ["[AI-1] " + "x" * (git.MAX_SUBJECT - 7), "[AI-2] y"]
    third = commit(repository, tree, "[AI-3] z", second)
    with pytest.raises(TooLarge, match="more than 2 commits"):
        repository.commits(None, third)


def test_what_is_too_large_is_not_tried_again() -> None:
    assert not issubclass(TooLarge, jobs.TRANSIENT)
