"""Real git and real SSH signatures: who may release, commit by commit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rollout.git import GitError, Repository
from rollout.trust import PolicyError, current_signers, verify

NOW = datetime(2030, 1, 1, tzinfo=UTC)


class Author:
    """Somebody with a name, a key and a work tree."""

    def __init__(self, tree: Path, keys: Path, address: str) -> None:
        self.tree = tree
        self.address = address
        self.key = keys / address
        if not self.key.exists():
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", address]
            subprocess.run([*command, "-f", str(self.key)], check=True)

    @property
    def line(self) -> str:
        return f'{self.address} namespaces="git" {Path(f"{self.key}.pub").read_text()}'

    def git(self, *arguments: str, author: str | None = None) -> str:
        identity = {
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": author or self.address,
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": self.address,
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip
        settings = ["-c", "gpg.format=ssh", "-c", f"user.signingkey={self.key}"]
        done = subprocess.run(
            ["git", "-C", str(self.tree), *settings, *arguments],
            env={**os.environ, **identity}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, subject: str, sign: bool = True, author: str | None = None) -> str:
        flag = "-S" if sign else "--no-gpg-sign"
        self.git("commit", "--allow-empty", flag, "-m", subject, author=author)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def people(tmp_path: Path) -> Callable[[str], Author]:
    tree, keys = tmp_path / "tree", tmp_path / "keys"
    keys.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", str(tree)], check=True)
    return lambda address: Author(tree, keys, address)


@pytest.fixture
def repository(tmp_path: Path, people: Callable[[str], Author]) -> Repository:
    return Repository(str(tmp_path / "tree"), tmp_path / "bare")


def test_signed_commits_with_tickets_are_trusted(people, repository):
    ann = people("ann@example.com")
    base = ann.commit("[AI-1] start")
    ann.commit("[AI-2] more")
    tip = ann.commit("mend [AI-3]")
    assert repository.fetch("main") == tip
    assert verify(repository, base, tip, ann.line, NOW) == []
    assert verify(repository, None, tip, ann.line, NOW) == []


def test_an_unsigned_ancestor_under_a_good_head_is_refused_by_name(people, repository):
    ann = people("ann@example.com")
    base = ann.commit("[AI-1] start")
    bad = ann.commit("[AI-2] unsigned", sign=False)
    tip = ann.commit("[AI-3] signed")
    repository.fetch("main")
    (refusal,) = verify(repository, base, tip, ann.line, NOW)
    assert refusal.sha == bad
    assert "no good signature" in refusal.reason
    assert "-S" in refusal.remedy


def test_an_unsigned_commit_on_a_merged_side_branch_is_refused(people, repository):
    ann = people("ann@example.com")
    base = ann.commit("[AI-1] start")
    ann.git("checkout", "-q", "-b", "side")
    bad = ann.commit("[AI-2] unsigned", sign=False)
    ann.git("checkout", "-q", "main")
    ann.commit("[AI-3] main")
    ann.git("merge", "-q", "--no-ff", "-S", "-m", "[AI-4] merge", "side")
    tip = repository.fetch("main")
    assert [refusal.sha for refusal in verify(repository, base, tip, ann.line, NOW)] == [bad]


def test_a_foreign_key_is_refused(people, repository):
    ann, eve = people("ann@example.com"), people("eve@example.com")
    base = ann.commit("[AI-1] start")
    tip = eve.commit("[AI-2] hello")
    repository.fetch("main")
    (refusal,) = verify(repository, base, tip, ann.line, NOW)
    assert refusal.sha == tip


def test_an_allowed_signer_cannot_commit_in_another_name(people, repository):
    ann, bob = people("ann@example.com"), people("bob@example.com")
    base = ann.commit("[AI-1] start")
    tip = ann.commit("[AI-2] by bob?", author=bob.address)
    repository.fetch("main")
    (refusal,) = verify(repository, base, tip, ann.line + bob.line, NOW)
    assert "author bob@example.com is not the signer ann@example.com" in refusal.reason


def test_a_subject_without_ticket_is_refused(people, repository):
    ann = people("ann@example.com")
    base = ann.commit("[AI-1] start")
    tip = ann.commit("oops [AI-0]")
    repository.fetch("main")
    (refusal,) = verify(repository, base, tip, ann.line, NOW)
    assert "names no ticket" in refusal.reason
    assert "[AI-123]" in refusal.remedy


def test_a_history_that_dropped_the_promoted_commit_is_refused(people, repository):
    ann = people("ann@example.com")
    start = ann.commit("[AI-1] start")
    promoted = ann.commit("[AI-2] promoted")
    repository.fetch("main")
    ann.git("reset", "-q", "--hard", start)
    ann.commit("[AI-3] rewritten")
    tip = repository.fetch("main")
    (refusal,) = verify(repository, promoted, tip, ann.line, NOW)
    assert "does not contain the promoted commit" in refusal.reason


def test_a_key_that_expired_today_does_not_count_for_a_backdated_commit(people, repository):
    ann, bob = people("ann@example.com"), people("bob@example.com")
    base = ann.commit("[AI-1] start")
    tip = ann.commit("[AI-2] more")
    repository.fetch("main")
    expired = ann.line.replace('namespaces="git"', 'namespaces="git",valid-before="20291231"')
    (refusal,) = verify(repository, base, tip, expired + bob.line, NOW)
    assert refusal.sha == tip


@pytest.mark.parametrize("text", ["", "# nobody\n", 'a@b.c valid-before="20200101" ssh-ed25519 A'])
def test_a_policy_without_a_valid_signer_says_so(text):
    with pytest.raises(PolicyError, match="no valid signer"):
        current_signers(text, NOW)


@pytest.mark.parametrize("principal", ["*@example.com", "a@b.c,d@e.f", "!a@b.c", "root"])
def test_a_principal_that_is_not_one_address_is_refused(principal):
    with pytest.raises(PolicyError, match="not one plain e-mail address"):
        current_signers(f"{principal} ssh-ed25519 AAAA", NOW)


def test_a_checkout_holds_the_commits_files_and_no_links(people, repository, tmp_path):
    ann = people("ann@example.com")
    (ann.tree / "app").mkdir()
    (ann.tree / "app/main.py").write_text("print()\n")
    (ann.tree / "passwd").symlink_to("/etc/passwd")
    ann.git("add", ".")
    tip = ann.commit("[AI-1] files")
    repository.fetch("main")
    repository.checkout(tip, tmp_path / "out")
    assert (tmp_path / "out/app/main.py").read_text() == "print()\n"
    assert not (tmp_path / "out/passwd").is_symlink()
    assert (tmp_path / "out/passwd").read_text() == "/etc/passwd"
    paths = {path: mode for path, mode, _blob in repository.tree(tip, ["."])}
    assert paths == {"app/main.py": "100644", "passwd": "120000"}
    assert repository.read(tip, "app/main.py") == b"print()\n"


def test_an_unknown_branch_or_commit_is_one_line(people, repository):
    people("ann@example.com").commit("[AI-1] start")
    with pytest.raises(GitError, match="fetch"):
        repository.fetch("nowhere")
    repository.fetch("main")
    with pytest.raises(GitError, match="no commit 'feed'"):
        repository.resolve("feed")
