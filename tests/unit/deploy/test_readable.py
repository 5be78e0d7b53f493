"""Every overlay of this repository is one that the controller's strict reader reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rollout.patches import unmatched

ROOT = Path(__file__).parents[3]
OVERLAYS = sorted(
    str(file.parent.relative_to(ROOT))
    for file in (ROOT / "deploy" / "overlays").rglob("kustomization.yaml")
)


def test_there_are_overlays() -> None:
    assert "deploy/overlays/platform" in OVERLAYS


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_controller_can_read_our_own_overlays_and_every_patch_matches(
    overlay: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy", ignore=shutil.ignore_patterns("*.py"))
    # Generated for one registry, so a fresh checkout has none.
    images = tmp_path / "deploy" / "components" / "images" / "kustomization.yaml"
    images.parent.mkdir(exist_ok=True)
    images.write_text("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n")
    assert unmatched(tmp_path, overlay) == []
