"""The hash of an image's inputs: the same from files and from git, and of nothing else."""

import subprocess
from pathlib import Path

import pytest

from images.inputs import (
    Entry,
    InputsError,
    entries_of_tree,
    inputs_hash,
    parse_inputs,
    select,
)

A = Entry("apps/a.py", "100644", "a" * 40)
B = Entry("apps/b/c.py", "100755", "b" * 40)


def git(root: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    return subprocess.run(
        ["git", "-C", str(root), *identity, *words], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "apps/deep").mkdir(parents=True)
    (tmp_path / "apps/plain.py").write_text("x = 1\n")
    (tmp_path / "apps/deep/投诉.txt").write_text("complaint\n")
    (tmp_path / "apps/run").write_text("#!/bin/sh\n")
    (tmp_path / "apps/run").chmod(0o700)
    (tmp_path / "apps/link").symlink_to("deep")
    (tmp_path / "apps.txt").write_text("a neighbour with a longer name")
    (tmp_path / "other").write_text("not an input")
    return tmp_path


def test_entries_of_a_work_tree_are_those_of_its_commit(tree: Path) -> None:
    git(tree, "init", "-q")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "all")
    listed = git(tree, "ls-tree", "-r", "-z", "HEAD").rstrip("\0").split("\0")
    committed = [
        (path, fields.split()[0], fields.split()[2])
        for fields, path in (line.split("\t") for line in listed)
    ]
    from_files = entries_of_tree(tree, ["apps"])
    assert from_files == sorted(select(committed, ["apps"]))
    assert inputs_hash(from_files) == inputs_hash(select(committed, ["apps"]))


def test_what_was_made_of_the_sources_is_no_input(tree: Path) -> None:
    before = entries_of_tree(tree, ["apps"])
    (tree / "apps/__pycache__").mkdir()
    (tree / "apps/__pycache__/plain.cpython-311.pyc").write_bytes(b"\0")
    (tree / "apps/old.pyc").write_bytes(b"\0")
    (tree / "apps/_core.abi3.so").write_bytes(b"\0")
    assert entries_of_tree(tree, ["apps"]) == before


def test_a_neighbour_whose_name_begins_alike_is_no_input(tree: Path) -> None:
    assert [entry.path for entry in entries_of_tree(tree, ["apps.txt"])] == ["apps.txt"]
    assert select([A, B], ["apps/b"]) == [B]


@pytest.mark.parametrize(
    "changed",
    [
        [Entry("apps/a2.py", A.mode, A.blob), B],
        [Entry(A.path, "100755", A.blob), B],
        [Entry(A.path, A.mode, "c" * 40), B],
        [A],
    ],
    ids=["name", "mode", "contents", "number"],
)
def test_hash_changes_with_every_part_of_an_entry(changed: list[Entry]) -> None:
    assert inputs_hash(changed) != inputs_hash([A, B])


def test_hash_knows_no_order() -> None:
    assert inputs_hash([B, A]) == inputs_hash([A, B])


def test_inputs_file_has_comments_and_blank_lines() -> None:
    assert parse_inputs("# how\nimages/x/ # its folder\n\napps/x\n") == ["images/x", "apps/x"]


@pytest.mark.parametrize("line", ["/etc/passwd", "../up", "apps//x", "./apps", "a/../b"])
def test_a_path_that_leaves_the_repository_is_refused(line: str) -> None:
    with pytest.raises(InputsError, match=r"images/x/inputs:2: "):
        parse_inputs(f"apps\n{line}\n", "images/x/inputs")


def test_a_list_without_a_path_is_refused() -> None:
    with pytest.raises(InputsError, match="names no path"):
        parse_inputs("# nothing\n")


def test_an_input_that_is_nowhere_is_refused(tree: Path) -> None:
    with pytest.raises(InputsError, match="apps/missing"):
        entries_of_tree(tree, ["apps/missing"])
    with pytest.raises(InputsError, match="apps/missing"):
        select([A, B], ["apps", "apps/missing"])
