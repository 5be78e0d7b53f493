"""A candidate's staging manifests, rendered for the rehearsal while its pods start already."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rollout import checks
from rollout.examine import refuse_if
from rollout.git import Repository
from rollout.manifests import Manifest
from rollout.rendered import render_staging


def staged(repository: Repository, commit: str) -> list[Manifest]:
    """The manifests of an examined commit, linted. Raises Unfit, or GitError."""
    with tempfile.TemporaryDirectory(prefix="checkout-") as folder:
        tree = Path(folder, "tree")
        repository.checkout(commit, tree)
        manifests = render_staging(tree)
        refuse_if(checks.lint_staging(tree, manifests))
    return manifests
