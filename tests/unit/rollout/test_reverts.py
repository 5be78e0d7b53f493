"""On real git: a rejected release is out of a candidate when the files say so, whatever is said."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rollout import reverts
from rollout.state import REFUSED, Held
from tests.unit.rollout.signed_tree import ADDRESS, Tree

LINES = [f"line {number}\n" for number in range(30)]


class Story(Tree):
    """`base` serves; `text` is a file of 30 lines."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.lines = list(LINES)
        self.base = self.write("[AI-1] start")

    def write(self, subject: str, **lines: str) -> str:
        """Commit with some lines of the file replaced: `_3="new"`; empty takes the line out."""
        for name, line in lines.items():
            self.lines[int(name[1:])] = line and f"{line}\n"
        return self.commit(subject, "text", "".join(self.lines))

    def revert(self, *words: str) -> str:
        self.git("revert", "--no-edit", "-S", *words)
        return self.head()

    def head(self) -> str:
        self.lines = (self.path / "text").read_text().splitlines(keepends=True)
        return self.git("rev-parse", "HEAD")

    def inside(self, *held: str, base: str | None = None) -> str:
        """The held commit that the branch's tip contains; each was rejected while `base` served."""
        tip = self.repository.fetch("main")
        reason = Held("rejected", "wrong", 0.0, self.base)
        found = reverts.inside(self.repository, base or self.base, tip, dict.fromkeys(held, reason))
        return found.commit if found else ""


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path)


def test_a_descendant_contains_it_and_a_true_revert_takes_it_out(story: Story) -> None:
    bad = story.write("[AI-2] bad", _3="bad")
    story.commit("[AI-3] more", "other", "x")
    assert story.inside(bad) == bad
    story.revert(bad)
    assert story.inside(bad) == ""


def test_a_commit_on_top_of_one_that_was_refused_unseen_is_not_held_for_it(story: Story) -> None:
    bad = story.write("[AI-2] no digest yet", _3="new")
    story.commit("[AI-3] its digest", "other", "x")
    tip = story.repository.fetch("main")
    for verdict, found in (("rejected", True), (REFUSED, False)):
        held = {bad: Held(verdict, "no digest", 0.0, story.base)}
        assert bool(reverts.inside(story.repository, story.base, tip, held)) is found


def test_a_message_that_says_so_reverts_nothing(story: Story) -> None:
    bad = story.write("[AI-2] bad", _3="bad")
    story.commit(f'[AI-3] Revert "bad"\n\nThis reverts commit {bad}.', "other", "x")
    assert story.inside(bad) == bad
    story.commit(f'[AI-3] Revert "bad"\n\nThis reverts commit {bad}.', "other", "x")
    assert story.inside(bad) == bad


def test_a_revert_needs_no_message(story: Story) -> None:
    bad = story.write("[AI-2] bad", _3="bad")
    story.write("[AI-3] tidy up", _3="line 3")
    assert story.inside(bad) == ""


def test_a_revert_of_the_revert_brings_it_back(story: Story) -> None:
    bad = story.write("[AI-2] bad", _3="bad")
    back = story.revert(bad)
    again = story.revert(back)
    assert story.inside(bad) == bad
    story.revert(again)
    assert story.inside(bad) == ""


def test_a_partial_revert_is_none(story: Story) -> None:
    bad = story.write("[AI-2] bad", _3="bad", _20="worse")
    story.write("[AI-3] half", _3="line 3")
    assert story.inside(bad) == bad
    story.write("[AI-4] whole", _20="line 20")
    assert story.inside(bad) == ""


def test_neighbours_may_be_edited_before_and_after_the_revert(story: Story) -> None:
    bad = story.write("[AI-2] bad", _10="bad")
    story.write("[AI-3] above", _2="above")
    story.revert(bad)
    story.write("[AI-4] below", _20="below")
    story.commit("[AI-5] elsewhere", "other", "x")
    assert story.inside(bad) == ""


def test_an_edit_beside_what_is_left_does_not_hide_it(story: Story) -> None:
    bad = story.write("[AI-2] bad", _10="bad")
    story.write("[AI-3] beside", _9="beside", _11="beside")
    assert story.inside(bad) == bad
    story.write("[AI-4] on it", _10="bad, but not quite")
    assert story.inside(bad) == bad


def test_files_that_came_with_it_must_go_and_files_that_went_must_come_back(story: Story) -> None:
    (story.path / "new").write_text("bad\n")
    story.git("rm", "-q", "text")
    bad = story.commit("[AI-2] bad", "mode", "x")
    story.git("rm", "-q", "mode")
    story.commit("[AI-3] half", "other", "x")
    assert story.inside(bad) == bad
    story.git("checkout", "-q", story.base, "--", "text")
    story.commit("[AI-4] more", "other", "y")
    assert story.inside(bad) == bad
    (story.path / "new").unlink()
    story.commit("[AI-5] all", "other", "z")
    assert story.inside(bad) == ""


def test_a_file_that_is_only_moved_away_is_not_known_to_be_reverted(story: Story) -> None:
    bad = story.write("[AI-2] bad", _10="bad")
    story.git("mv", "text", "moved")
    story.commit("[AI-3] move", "other", "x")
    assert story.inside(bad) == bad


def test_a_push_of_several_commits_must_be_reverted_as_a_whole(story: Story) -> None:
    guilty = story.write("[AI-2] guilty", _3="bad")
    tip = story.commit("[AI-3] innocent", "other", "x")
    story.revert(guilty)
    assert story.inside(tip) == tip
    story.git("reset", "-q", "--hard", tip)
    story.revert(tip)
    assert story.inside(tip) == tip
    story.git("reset", "-q", "--hard", tip)
    story.revert(f"{story.base}..{tip}")
    assert story.inside(tip) == ""


def test_a_merge_is_reverted_by_reverting_what_it_brought(story: Story) -> None:
    story.git("checkout", "-q", "-b", "side")
    story.write("[AI-2] bad", _3="bad")
    story.git("checkout", "-q", "main")
    main = story.commit("[AI-3] innocent", "other", "x")
    story.git("merge", "-q", "--no-ff", "-S", "-m", "[AI-4] merge", "side")
    tip = story.head()
    story.revert("-m", "1", tip)
    assert story.inside(tip) == tip
    assert story.inside(main, base=story.base) == main
    story.git("reset", "-q", "--hard", tip)
    take_back(story, tip)
    story.git("commit", "-q", "-S", "-m", "[AI-5] take back")
    assert story.inside(tip) == ""


def test_the_bad_one_may_come_in_by_a_merge_and_go_by_a_revert(story: Story) -> None:
    story.git("checkout", "-q", "-b", "side")
    bad = story.write("[AI-2] bad", _3="bad")
    story.git("checkout", "-q", "main")
    story.commit("[AI-3] innocent", "other", "x")
    story.git("merge", "-q", "--no-ff", "-S", "-m", "[AI-4] merge", "side")
    assert story.inside(bad) == bad
    story.revert(bad)
    assert story.inside(bad) == ""


def test_of_two_held_commits_both_must_be_reverted(story: Story) -> None:
    first = story.write("[AI-2] bad", _3="bad")
    second = story.write("[AI-3] worse", _20="worse")
    assert story.inside(first, second) == first
    story.revert(first)
    assert story.inside(first, second) == second
    story.revert(second)
    assert story.inside(first, second) == ""


def test_what_serves_already_and_what_was_never_merged_hold_nothing(story: Story) -> None:
    bad = story.write("[AI-2] approved in the end", _3="bad")
    story.commit("[AI-3] more", "other", "x")
    assert story.inside(bad, base=bad) == ""
    story.git("reset", "-q", "--hard", story.base)
    story.commit("[AI-4] without it", "other", "x")
    assert story.inside(bad) == ""


def test_without_a_base_or_its_commit_nothing_is_known_to_be_reverted(story: Story) -> None:
    bad = story.write("[AI-2] bad", _3="bad")
    tip = story.revert(bad)
    story.repository.fetch("main")
    for base in (None, "f" * 40):
        held = {bad: Held("rejected", "wrong", 0.0, base)}
        found = reverts.inside(story.repository, story.base, tip, held)
        assert found is not None
        assert "no release that served then says what it brought" in found.why


def test_a_mode_must_go_back_too(story: Story) -> None:
    (story.path / "text").chmod(0o755)
    bad = story.commit("[AI-2] bad", "other", "x")
    story.git("rm", "-q", "other")
    story.write("[AI-3] half", _3="new")
    assert story.inside(bad) == bad
    (story.path / "text").chmod(0o644)
    story.write("[AI-4] whole", _4="new")
    assert story.inside(bad) == ""


@pytest.mark.parametrize("kind", ["bytes", "link"])
def test_what_git_cannot_merge_is_reverted_only_if_it_is_as_it_was(story: Story, kind: str) -> None:
    file = story.path / "odd"

    def put(value: str) -> str:
        file.unlink(missing_ok=True)
        if kind == "link":
            file.symlink_to(value)
        else:
            file.write_bytes(b"\0" + value.encode())
        return story.commit(f"[AI-2] {value}", "other", value)

    story.base = put("good")
    bad = put("bad")
    put("neither")
    assert story.inside(bad) == bad
    put("good")
    assert story.inside(bad) == ""


def lock(**digests: str) -> str:
    return "".join(
        f"  {name}:\n    inputs: {digit * 64}\n    digest: sha256:{digit * 64}\n"
        for name, digit in digests.items()
    )


def test_digests_are_made_again_with_every_change_and_only_the_bad_ones_must_go(
    story: Story,
) -> None:
    path = "images/images.lock"
    story.base = story.commit("[AI-2] start", path, lock(gateway="1", pipeline="2"))
    bad = story.commit("[AI-3] bad", path, lock(gateway="1", pipeline="3"))
    story.commit("[AI-4] revert and change", path, lock(gateway="1", pipeline="4"))
    assert story.inside(bad) == ""
    story.commit("[AI-5] the bad image for another", path, lock(gateway="3", pipeline="4"))
    assert story.inside(bad) == bad
    story.commit("[AI-6] neither", path, lock(gateway="5", pipeline="2"))
    assert story.inside(bad) == ""


def test_more_edited_files_than_are_merged_count_as_not_reverted(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = story.write("[AI-2] bad", _3="bad")
    story.revert(bad)
    story.write("[AI-3] below", _20="below")
    assert story.inside(bad) == ""
    monkeypatch.setattr(reverts, "MAX_MERGED", 0)
    assert story.inside(bad) == bad


def test_the_comparison_leaves_nothing_in_the_clone(story: Story) -> None:
    bad = story.write("[AI-2] bad", _3="bad")
    story.write("[AI-3] above", _1="above")
    story.revert(bad)
    story.repository.fetch("main")
    count = ["git", f"--git-dir={story.repository.path}", "count-objects", "-v"]
    before = subprocess.run(count, capture_output=True, check=True).stdout
    assert story.inside(bad) == ""
    assert subprocess.run(count, capture_output=True, check=True).stdout == before


def take_back(story: Story, bad: str) -> None:
    """Type what the controller tells the author of a candidate on top of `bad`."""
    tip = story.commit("[AI-9] on top", "top", "x")
    story.repository.fetch("main")
    held = {bad: Held("rejected", "wrong", 0.0, story.base)}
    found = reverts.inside(story.repository, story.base, tip, held)
    assert found is not None
    for name, value in (("gpg.format", "ssh"), ("user.signingkey", str(story.key))):
        story.git("config", name, value)
    nobody = {
        "GIT_EDITOR": "true", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": ADDRESS,
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": ADDRESS,
    }  # fmt: skip
    command = found.why.split("`")[1]
    environment = {**os.environ, **nobody}
    subprocess.run(command, shell=True, check=True, cwd=story.path, env=environment)


@pytest.mark.parametrize("commits", [1, 3])
def test_the_command_that_is_told_takes_it_out(story: Story, commits: int) -> None:
    for number in range(commits):
        bad = story.write(f"[AI-2] bad {number}", **{f"_{5 * number}": "bad"})
    take_back(story, bad)
    assert story.inside(bad) == ""
