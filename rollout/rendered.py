"""A release's overlays, rendered from a checkout: its lane's first, staging's when it is needed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rollout.errors import RolloutError
from rollout.manifests import Manifest
from rollout.render import RenderError, render

CANARY = "deploy/overlays/canary/{lane}"
PROD = "deploy/overlays/prod/{lane}"
STAGING = "deploy/overlays/staging"


class Unfit(RolloutError):
    """Why a commit may not run, and what its author does next."""


@dataclass(frozen=True)
class Rendered:
    """A release's manifests for one lane."""

    canary: list[Manifest]
    prod: list[Manifest]


def render_lane(tree: Path, lane: str) -> Rendered:
    """Render a lane's two overlays at once. Raises Unfit."""
    overlays = (CANARY.format(lane=lane), PROD.format(lane=lane))
    try:
        with ThreadPoolExecutor(len(overlays)) as pool:
            return Rendered(*pool.map(partial(render, tree), overlays))
    except RenderError as error:
        raise Unfit(str(error)) from None


def render_staging(tree: Path) -> list[Manifest]:
    """Render staging's overlay. Raises Unfit."""
    try:
        return render(tree, STAGING)
    except RenderError as error:
        raise Unfit(str(error)) from None
