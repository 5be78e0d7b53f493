"""Which scenarios judge a candidate, and how many there may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollout import examination
from rollout.examination import NoScenarios
from rollout.git import TooLarge
from rollout.records import Record
from rollout.scenario import MAX_BYTES
from tests.unit.rollout.scenario_text import scenario
from tests.unit.rollout.signed_tree import Tree


def record(**texts: str) -> Record:
    found = {f"{name}.yaml": text for name, text in texts.items()}
    return Record(number=1, lane="blue", created=0.0, scenarios=found)


def test_the_promoted_text_stands_and_the_candidates_own_are_added() -> None:
    base, candidate = record(a=scenario("old"), b=scenario("b")), record(a=scenario("new"), c="x")
    assert examination.chosen(base, candidate) == {
        "a.yaml": scenario("old"), "b.yaml": scenario("b"), "c.yaml": "x",
    }  # fmt: skip


def test_a_promoted_text_that_nobody_can_read_any_more_can_be_mended_but_not_dropped() -> None:
    base = record(a=scenario("old").replace("ticket", "(?=ticket)"))
    assert (
        examination.chosen(base, record(a=scenario("new"))) == record(a=scenario("new")).scenarios
    )
    with pytest.raises(NoScenarios, match=r"rollout/scenarios/a\.yaml: line 7: "):
        examination.scenarios(examination.chosen(base, record(b=scenario("b"))))


def test_there_is_at_least_one_and_not_too_many() -> None:
    with pytest.raises(NoScenarios, match="add one"):
        examination.scenarios({})
    many = {f"{number}.yaml": scenario("x") for number in range(examination.MAX_SCENARIOS + 1)}
    with pytest.raises(NoScenarios, match="101 scenarios, at most 100"):
        examination.scenarios(many)


def test_the_questions_of_all_scenarios_are_counted() -> None:
    texts = {"a.yaml": scenario("x", runs=1000, turns=5), "b.yaml": scenario("x", 500, 10)}
    assert [one.runs for one in examination.scenarios(texts)] == [1000, 500]
    with pytest.raises(NoScenarios, match="10020 questions in all"):
        examination.scenarios({**texts, "c.yaml": scenario("x")})


def test_a_commits_texts_are_its_yaml_files_at_any_depth(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.commit("[AI-1] a", "rollout/scenarios/a.yaml", "a")
    tree.commit("[AI-2] b", "rollout/scenarios/more/a.yml", "b")
    (tree.path / "rollout/scenarios/link.yaml").symlink_to("/etc/passwd")
    commit = tree.commit("[AI-3] c", "rollout/scenarios/README.md", "c")
    tree.repository.fetch("main")
    assert examination.texts(tree.repository, commit) == {"a.yaml": "a", "more/a.yml": "b"}


def test_a_commit_with_a_long_file_or_with_many_is_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(tmp_path)
    commit = tree.commit("[AI-1] a", "rollout/scenarios/a.yaml", "x" * (MAX_BYTES + 1))
    tree.repository.fetch("main")
    with pytest.raises(TooLarge, match=r"scenarios/a\.yaml is longer than 32768 bytes"):
        examination.texts(tree.repository, commit)
    monkeypatch.setattr(examination, "MAX_SCENARIOS", 0)
    with pytest.raises(NoScenarios, match="1 scenarios, at most 0"):
        examination.texts(tree.repository, commit)
