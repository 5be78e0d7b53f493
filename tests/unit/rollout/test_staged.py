"""Staging's manifests of a candidate, on real git, with the renderer replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollout import rendered
from rollout.git import Repository
from rollout.render import Manifest, RenderError
from rollout.rendered import STAGING, Unfit
from rollout.staged import staged
from tests.unit.rollout.fake_cluster import deployment


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    found = Repository(str(tmp_path / "tree"), tmp_path / "tree" / ".git")
    found.git("init", "--quiet", str(tmp_path / "tree"))
    identity = ("user.name=Ann", "user.email=ann@example.com")
    found.git("commit", "--quiet", "--allow-empty", "-m", "[AI-1] start", settings=identity)
    return found


def test_a_staging_overlay_that_does_not_render_is_the_commits_fault(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def render(checkout: Path, overlay: str) -> list[Manifest]:
        assert overlay == STAGING
        raise RenderError(f"{overlay}: does not render: no such file")

    monkeypatch.setattr(rendered, "render", render)
    with pytest.raises(Unfit, match="staging: does not render"):
        staged(repository, repository.resolve("HEAD"))


def test_a_staging_overlay_with_a_finding_is_refused(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendered, "render", lambda *_: [deployment("staging", 1)])
    with pytest.raises(Unfit, match="gateway"):
        staged(repository, repository.resolve("HEAD"))
