"""The checks of a candidate's tree: the lint of its manifests, and its images' digests."""

from __future__ import annotations

from pathlib import Path

from rollout import digests, manifests, patches
from rollout.examine import Check
from rollout.finding import Finding
from rollout.git import Repository
from rollout.lint import Kind, against, lint, pair
from rollout.manifests import Manifest
from rollout.records import Record
from rollout.rendered import CANARY, PROD, STAGING, Rendered


def lint_tree(
    repository: Repository, commit: str, tree: Path, rendered: Rendered, base: Record
) -> list[str]:
    """The lane's overlays by their rules, patches that match nothing, and what must stay equal."""
    lane = manifests.lane_of(rendered.canary)
    overlays: list[tuple[Kind, str, list[Manifest]]] = [
        ("canary", CANARY.format(lane=lane), rendered.canary),
        ("prod", PROD.format(lane=lane), rendered.prod),
    ]
    found: list[Finding] = []
    for kind, overlay, objects in overlays:
        found += lint(objects, kind) + patches.unmatched(tree, overlay)
    found += pair(rendered.canary, rendered.prod)
    found += against(manifests.for_lane(base.manifests, lane), rendered.canary)
    return list(dict.fromkeys(str(finding) for finding in found))


def lint_staging(tree: Path, objects: list[Manifest]) -> list[str]:
    """Staging's overlay by its rules, and its patches that match nothing."""
    found = lint(objects, "staging") + patches.unmatched(tree, STAGING)
    return list(dict.fromkeys(str(finding) for finding in found))


def digests_match(
    repository: Repository, commit: str, tree: Path, rendered: Rendered, base: Record
) -> list[str]:
    """Whether each image's digest stands for this commit's sources."""
    found = digests.examine(
        lambda path: repository.read(commit, path, digests.MAX_BYTES),
        lambda paths: repository.tree(commit, paths),
    )
    return [str(finding) for finding in found]


CHECKS: list[Check] = [lint_tree, digests_match]
