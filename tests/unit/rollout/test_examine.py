"""The examination of a commit, on real git and real signatures, with the renderer replaced."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rollout import examine, rendered
from rollout.examine import Subject
from rollout.git import GitError, Repository
from rollout.records import Record
from rollout.render import Manifest, RenderError
from rollout.rendered import Unfit
from rollout.settings import Settings
from rollout.state import Candidate, Held, Phase
from tests.unit.rollout.fake_cluster import deployment

ADDRESS = "ann@example.com"
BASE = Record(number=1, lane="blue", created=0.0, scenarios={"a.yaml": "the promoted one"})


class Tree:
    """A signed work tree."""

    def __init__(self, folder: Path) -> None:
        self.path, self.key = folder / "tree", folder / "key"
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", ADDRESS]
        subprocess.run([*keygen, "-f", str(self.key)], check=True)
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.path)], check=True)
        self.repository = Repository(str(self.path), folder / "bare")

    @property
    def signers(self) -> str:
        return f'{ADDRESS} namespaces="git" {Path(f"{self.key}.pub").read_text()}'

    def git(self, *words: str) -> str:
        identity = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "Ann"), ("EMAIL", ADDRESS))
        }
        nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true"}
        signing = ["-c", "gpg.format=ssh", "-c", f"user.signingkey={self.key}"]
        done = subprocess.run(
            ["git", "-C", str(self.path), *signing, *words],
            env={**os.environ, **identity, **nobody}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, subject: str, file: str = "rollout/scenarios/b.yaml", text: str = "b") -> str:
        path = self.path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-S", "-m", subject)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    def render(checkout: Path, overlay: str) -> list[Manifest]:
        lane = overlay.rpartition("/")[2]
        return [deployment(lane, 1 if "canary" in overlay else 3)]

    monkeypatch.setattr(rendered, "render", render)
    return Tree(tmp_path)


def subject(tree: Tree, commit: str, held: dict[str, Held] | None = None) -> Subject:
    candidate = Candidate(2, commit, "green", time.time(), Phase.VERIFY, time.time())
    settings = Settings(git_url=str(tree.path))
    return Subject(candidate, BASE, held or {}, settings, tree.signers)


def judge(tree: Tree, what: Subject, checks: list[examine.Check] | None = None):
    return examine.examine(tree.repository, what, checks=checks or [], say=lambda _: None)


def test_a_good_commit_gets_a_record_with_all_that_an_undo_needs(tree: Tree) -> None:
    tree.commit("[AI-1] start")
    commit = tree.commit("[AI-2] more [AI-3]", text="b2")
    job, record = judge(tree, subject(tree, commit))
    assert job.passed, job.why
    assert (record.commit, record.subject) == (commit, "[AI-2] more [AI-3]")
    assert record.tickets == ("AI-1", "AI-2", "AI-3")
    assert record.sizes["gateway"].prod == 3
    assert record.manifests == [deployment("green", 1)]
    assert record.tree == tree.git("rev-parse", "HEAD^{tree}")
    assert job.sizes == record.sizes


def test_scenarios_come_from_the_promoted_release_and_the_candidate_only_adds(tree: Tree) -> None:
    tree.commit("[AI-1] x", "rollout/scenarios/a.yaml", "weakened")
    commit = tree.commit("[AI-2] y", "rollout/scenarios/c.yaml", "added")
    _, record = judge(tree, subject(tree, commit))
    assert record.scenarios == {"a.yaml": "weakened", "c.yaml": "added"}
    assert examine.examination(BASE, record) == {"a.yaml": "the promoted one", "c.yaml": "added"}


def test_an_unsigned_commit_is_refused_before_it_is_rendered(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendered, "render", lambda *_: pytest.fail("rendered"))
    tree.git("commit", "-q", "--allow-empty", "--no-gpg-sign", "-m", "[AI-1] x")
    commit = tree.commit("[AI-2] good head over an unsigned ancestor")
    with pytest.raises(Unfit, match="no good signature"):
        judge(tree, subject(tree, commit))


def test_a_tree_that_does_not_render_is_refused(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def render(checkout: Path, overlay: str) -> list[Manifest]:
        raise RenderError(f"{overlay}: does not render: no such file")

    monkeypatch.setattr(rendered, "render", render)
    with pytest.raises(Unfit, match="does not render"):
        judge(tree, subject(tree, tree.commit("[AI-1] x")))


def test_the_first_finding_of_the_checks_is_the_reason_and_the_others_are_counted(
    tree: Tree,
) -> None:
    checks: list[examine.Check] = [lambda *_: [], lambda *_: ["one", "two"]]
    with pytest.raises(Unfit, match=r"^one \(and 1 more\)$"):
        judge(tree, subject(tree, tree.commit("[AI-1] x")), checks)


def test_a_commit_that_is_not_in_the_repository_is_refused(tree: Tree) -> None:
    tree.commit("[AI-1] x")
    with pytest.raises(Unfit, match="not on branch main"):
        judge(tree, subject(tree, "f" * 40))


def test_a_repository_that_cannot_be_reached_is_not_the_commits_fault(
    tree: Tree, tmp_path: Path
) -> None:
    tree.repository = Repository(str(tmp_path / "absent"), tmp_path / "other")
    with pytest.raises(GitError):
        judge(tree, subject(tree, "f" * 40))
    unset = subject(tree, "f" * 40)
    with pytest.raises(GitError, match="git_url"):
        judge(tree, replace(unset, settings=Settings()))


def test_a_descendant_of_a_held_commit_is_held_until_that_one_is_reverted(tree: Tree) -> None:
    tree.commit("[AI-1] start")
    bad = tree.commit("[AI-2] bad", text="bad")
    held = {bad: Held("rejected", "wrong", 0.0)}
    after = tree.commit("[AI-3] on top", "other", "x")
    job, _ = judge(tree, subject(tree, after, held))
    assert (job.passed, job.contains) == (True, bad)
    assert "revert that commit" in job.why
    tree.git("revert", "--no-commit", bad)
    message = f'[AI-4] Revert "bad"\n\nThis reverts commit {bad}.'
    tree.git("commit", "-q", "-S", "-m", message)
    reverted = tree.git("rev-parse", "HEAD")
    job, _ = judge(tree, subject(tree, reverted, held))
    assert job.contains == ""


def test_a_held_commit_that_was_promoted_since_holds_nothing(tree: Tree) -> None:
    tree.commit("[AI-1] start")
    bad = tree.commit("[AI-2] approved in the end", text="bad")
    after = tree.commit("[AI-3] on top", "other", "x")
    tree.repository.fetch("main")
    assert examine.rejected_inside(tree.repository, bad, after, {bad: Held("x", "y", 0.0)}) == ""
