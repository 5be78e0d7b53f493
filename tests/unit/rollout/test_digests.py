"""A commit whose sources changed without their digest is refused; the line says what mends it."""

from __future__ import annotations

import hashlib

import pytest

from images.inputs import inputs_hash
from images.lock import COMPONENT, LOCK, Lock, Locked, component, dump
from rollout.digests import MAX_IMAGES, MAX_INPUTS, check, examine

DIGEST = "sha256:" + "d" * 64


class Commit:
    """The files of a commit: path to text."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def read(self, path: str) -> bytes:
        return self.files[path].encode()

    def tree(self, paths):
        return [
            (path, "100644", hashlib.sha1(text.encode()).hexdigest())
            for path, text in sorted(self.files.items())
            if any(path == top or path.startswith(f"{top}/") for top in paths)
        ]


@pytest.fixture
def commit():
    sources = {
        "images/gateway/Containerfile": "FROM x",
        "images/gateway/inputs": "images/gateway\napps/gateway\n",
        "apps/gateway/__init__.py": "one",
        "deploy/base/assistant/gateway.yaml": "not an input",
    }
    made = Commit(sources)
    return relock(made)


def relock(commit: Commit) -> Commit:
    entries = commit.tree(["images/gateway", "apps/gateway"])
    lock = Lock("registry.example", {"gateway": Locked(inputs_hash(entries), DIGEST)})
    commit.files |= {str(LOCK): dump(lock), str(COMPONENT): component(lock)}
    return commit


def test_a_commit_whose_lock_is_right_has_no_finding(commit):
    assert examine(commit.read, commit.tree) == []


def test_a_changed_source_without_its_digest_is_refused_with_the_command(commit):
    commit.files["apps/gateway/__init__.py"] = "two"
    (finding,) = examine(commit.read, commit.tree)
    assert finding.where == "image gateway"
    assert "python -m images build gateway --push" in finding.remedy


def test_an_added_source_counts_as_a_change(commit):
    commit.files["apps/gateway/more.py"] = ""
    assert len(examine(commit.read, commit.tree)) == 1


def test_a_change_in_deploy_needs_no_new_digest(commit):
    commit.files["deploy/base/assistant/gateway.yaml"] = "changed"
    assert examine(commit.read, commit.tree) == []


def test_an_image_without_a_digest_is_found(commit):
    commit.files |= {"images/new/Containerfile": "FROM x", "images/new/inputs": "images/new\n"}
    (finding,) = examine(commit.read, commit.tree)
    assert (finding.where, finding.what) == ("image new", "it has no digest")


def test_a_locked_image_that_is_gone_is_found():
    lock = Lock("registry.example", {"old": Locked("0" * 64, DIGEST)})
    (finding,) = check({}, lock)
    assert "image old" in finding.where


def test_a_component_that_says_another_digest_than_the_lock_is_found(commit):
    text = commit.files[str(COMPONENT)]
    commit.files[str(COMPONENT)] = text.replace("d" * 64, "e" * 64)
    (finding,) = examine(commit.read, commit.tree)
    assert finding.where == str(COMPONENT)


def test_a_lock_that_cannot_be_read_is_one_line(commit):
    commit.files[str(LOCK)] = "images: [\n"
    (finding,) = examine(commit.read, commit.tree)
    assert "\n" not in str(finding)
    assert "images build" in finding.remedy


def test_an_inputs_list_that_leads_out_of_the_repository_is_found(commit):
    commit.files["images/gateway/inputs"] = "../etc\n"
    (finding,) = examine(commit.read, commit.tree)
    assert "images/gateway/inputs" in finding.what


@pytest.mark.parametrize(
    "text",
    ["a: &a [1]\nimages: *a\n", "a: " + "[" * 500 + "]" * 500, "a: [" * 50_000, "a: \t- b: {"],
)
def test_a_lock_that_costs_more_than_it_shows_is_one_finding(commit, text):
    commit.files[str(LOCK)] = text
    (finding,) = examine(commit.read, commit.tree)
    assert finding.where == str(LOCK)
    assert "\n" not in str(finding)


def test_more_images_or_inputs_than_are_counted_are_one_finding(commit):
    commit.files["images/gateway/inputs"] = "apps/gateway\n" * (MAX_INPUTS + 1)
    (finding,) = examine(commit.read, commit.tree)
    assert "images/gateway/inputs names 201 paths, at most 200" in finding.what
    commit.files |= {f"images/{number}/Containerfile": "" for number in range(MAX_IMAGES)}
    (finding,) = examine(commit.read, commit.tree)
    assert "makes 51 images, at most 50" in finding.what
