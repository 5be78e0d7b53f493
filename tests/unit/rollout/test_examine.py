"""The examination of a commit, on real git and real signatures, with the renderer replaced."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from rollout import examination, examine, rendered
from rollout.candidate import Candidate, Phase
from rollout.examination import NoScenarios
from rollout.examine import Subject
from rollout.git import GitError, Repository
from rollout.records import Record
from rollout.render import Manifest, RenderError
from rollout.rendered import Unfit
from rollout.settings import Settings
from rollout.state import Held
from tests.unit.rollout.fake_cluster import deployment
from tests.unit.rollout.scenario_text import scenario
from tests.unit.rollout.signed_tree import Tree

BASE = Record(
    number=1, lane="blue", created=0.0, scenarios={"a.yaml": scenario("the promoted one")}
)


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
    weakened, added = scenario("weakened"), scenario("added")
    tree.commit("[AI-1] x", "rollout/scenarios/a.yaml", weakened)
    commit = tree.commit("[AI-2] y", "rollout/scenarios/c.yaml", added)
    _, record = judge(tree, subject(tree, commit))
    assert record.scenarios == {"a.yaml": weakened, "c.yaml": added}
    assert examination.chosen(BASE, record) == {**BASE.scenarios, "c.yaml": added}


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
    base = tree.commit("[AI-1] start")
    bad = tree.commit("[AI-2] bad", text="bad")
    held = {bad: Held("rejected", "wrong", 0.0, base)}
    after = tree.commit("[AI-3] on top", "other", "x")
    job, _ = judge(tree, subject(tree, after, held))
    assert (job.passed, job.contains) == (True, bad)
    assert f"git revert -S {bad[:12]}" in job.why
    tree.git("revert", "--no-edit", "-S", bad)
    job, _ = judge(tree, subject(tree, tree.git("rev-parse", "HEAD"), held))
    assert (job.contains, job.why) == ("", "fit to run")


def test_a_scenario_that_cannot_be_read_is_refused_with_its_place(tree: Tree) -> None:
    text = scenario("hello").replace("ticket", "(?=ticket)")
    commit = tree.commit("[AI-1] x", "rollout/scenarios/c.yaml", text)
    with pytest.raises(NoScenarios) as refused:
        judge(tree, subject(tree, commit))
    place = "rollout/scenarios/c.yaml: line 7: turns[0].expect.reply_matches[0]: '(?=ticket)' is"
    assert str(refused.value).startswith(place)
