"""The demo's repository: begun afresh for a fresh cluster, gone on from for a used one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.demo.workshop import Workshop, WorkshopError, run


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    def copy_tree(self: Workshop) -> None:
        (self.tree / "source").write_text("today's")

    monkeypatch.setattr(Workshop, "copy_tree", copy_tree)
    return Workshop(tmp_path / "demo")


def released(workshop: Workshop, name: str) -> str:
    (workshop.tree / name).write_text("changed")
    commit = workshop.commit(f"[AI-1] {name}")
    workshop.push(commit)
    return commit


def test_a_second_demo_goes_on_from_what_the_first_one_promoted(workshop: Workshop) -> None:
    workshop.open(None)
    promoted = released(workshop, "good")
    released(workshop, "undone")
    key = workshop.allowed_signers
    base = workshop.open(promoted)
    assert workshop.allowed_signers != key
    assert workshop.git("merge-base", promoted, base) == promoted
    assert workshop.git("ls-tree", "--name-only", base) == "source"
    assert run("git", f"--git-dir={workshop.bare}", "rev-parse", "main") == promoted
    workshop.push(released(workshop, "next"))


def test_a_fresh_cluster_gets_a_fresh_repository(workshop: Workshop) -> None:
    workshop.open(None)
    old = released(workshop, "good")
    base = workshop.open(None)
    assert workshop.git("rev-list", "--count", base) == "1"
    with pytest.raises(WorkshopError, match=old[:12]):
        workshop.open(old)


def test_a_commit_of_nobodys_repository_is_refused_with_what_to_do(workshop: Workshop) -> None:
    with pytest.raises(WorkshopError, match=r"serves a{12}, .*make down"):
        workshop.open("a" * 40)
