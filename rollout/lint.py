"""Read a candidate's manifests before anything is applied: what must not be in them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Literal

from rollout import patches
from rollout.compare import against, pair
from rollout.finding import Finding
from rollout.lane_rules import lane_of, own_lane, own_part
from rollout.names import LANES, STAGING, Names
from rollout.render import Manifest, RenderError, render
from rollout.rules import (
    Rule,
    applied,
    at_home,
    image_by_digest,
    no_marks,
    no_role,
    no_size,
    own_subjects,
    plain_service,
    secure_pod,
)

__all__ = ["Finding", "Kind", "against", "examine", "lint", "pair"]

Kind = Literal["canary", "prod", "staging", "platform"]


def lint(objects: Sequence[Manifest], kind: Kind) -> list[Finding]:
    """What is wrong with the rendered `objects` of an overlay of this kind."""
    rules: list[Rule] = [image_by_digest, no_role]
    found: list[Finding] = []
    if kind == "platform":
        rules += [own_subjects(objects)]
    else:
        names, staging = Names(), kind == "staging"
        rules += [applied, no_size, no_marks, secure_pod, plain_service]
        rules += [at_home(names.staging if staging else names.lanes)]
        lane = lane_of(objects, (STAGING,) if staging else LANES)
        if lane:
            rules += [own_lane(lane), own_part(lane)]
        else:
            what = "its Deployments are not all labelled with one lane"
            found.append(Finding("lane", f"overlay {kind}", what, "use one lane component"))
    return found + [finding for item in objects for rule in rules for finding in rule(item)]


def examine(checkout: Path, lane: str, previous: Sequence[Manifest] | None = None) -> list[Finding]:
    """Everything about a candidate's tree for one lane.

    `previous`: the manifests of the release that serves, rendered for the same
    lane, if there are any.
    """
    overlays: dict[Kind, str] = {
        "canary": f"deploy/overlays/canary/{lane}",
        "prod": f"deploy/overlays/prod/{lane}",
        "staging": "deploy/overlays/staging",
    }
    found: list[Finding] = []
    rendered: dict[Kind, list[Manifest]] = {}
    with ThreadPoolExecutor(len(overlays)) as pool:
        results = pool.map(partial(_rendered, checkout), overlays.values())
        for (kind, overlay), result in zip(overlays.items(), results, strict=True):
            if isinstance(result, Finding):
                found.append(result)
                continue
            rendered[kind] = result
            found += lint(result, kind) + patches.unmatched(checkout, overlay)
    if "canary" in rendered and "prod" in rendered:
        found += pair(rendered["canary"], rendered["prod"])
        found += against(previous or [], rendered["canary"])
    return list(dict.fromkeys(found))


def _rendered(checkout: Path, overlay: str) -> list[Manifest] | Finding:
    try:
        return render(checkout, overlay)
    except RenderError as bad:
        where, what = str(bad).split(": ", 1)
        remedy = f"mend it until `kubectl kustomize {overlay}` succeeds"
        return Finding("render", where, what, remedy)
