"""A release's overlays, rendered from a checkout."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
    """A release's manifests; `staging` is empty where there is no rehearsal."""

    canary: list[Manifest]
    prod: list[Manifest]
    staging: list[Manifest]


def render_all(tree: Path, lane: str, rehearse: bool) -> Rendered:
    """Render a lane's overlays, and staging's, at once. Raises Unfit."""
    overlays = [CANARY.format(lane=lane), PROD.format(lane=lane)]
    overlays += [STAGING] if rehearse else []
    try:
        with ThreadPoolExecutor(len(overlays)) as pool:
            found = list(pool.map(lambda overlay: render(tree, overlay), overlays))
    except RenderError as error:
        raise Unfit(str(error)) from None
    return Rendered(found[0], found[1], found[2] if rehearse else [])
