"""Bring a cluster to what this tree says: `python -m deploy.apply`.

Secrets and settings are made once and then kept; the platform is applied by its
own field manager; the lanes are only touched before the controller has taken
them over, since from then on they change by a release.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from deploy import addresses, jobs, lanes, leftovers, setup, waits
from deploy.cluster.errors import ClusterError
from deploy.cluster.steps import step
from deploy.errors import ApplyError
from deploy.kubectl import Kubectl
from deploy.target import Target, target
from images.errors import ImageError
from images.lock import read as read_lock
from rollout.lint import Finding, examine, lint
from rollout.patches import unmatched
from rollout.render import Manifest, RenderError, render

ROOT = Path(__file__).parent.parent
MIGRATE_OVERLAY = "deploy/overlays/migrate"
LOAD_OVERLAY = "deploy/overlays/load"


def main(words: list[str] | None = None) -> int:
    """Exit status 0 when everything is Ready, 1 with one line otherwise."""
    parser = argparse.ArgumentParser(
        prog="python -m deploy.apply",
        description=__doc__,
        epilog="example: KUBECONFIG=admin.conf python -m deploy.apply --overlay platform",
    )
    parser.add_argument("--overlay", help="platform overlay (default: local or platform)")
    parser.add_argument(
        "--lane",
        choices=("blue", "green"),
        help="apply this lane too, although the controller owns it: its pods restart",
    )
    given = parser.parse_args(words)
    try:
        began = time.monotonic()
        wished = target(os.environ)
        print(apply(wished, given.overlay or wished.overlay, given.lane))
        print(f"Everything is Ready after {time.monotonic() - began:.0f} s.")
    except (ApplyError, ClusterError, ImageError, RenderError) as bad:
        print(f"deploy.apply: {bad}", file=sys.stderr)
        return 1
    return 0


def apply(wished: Target, overlay: str, lane: str | None) -> str:
    """Apply everything in order and wait for it; returns the report for a person."""
    kubectl = Kubectl(wished.kubeconfig)
    with step(f"render {overlay}"):
        check_registry(wished)
        platform = render(ROOT, overlay)
        (schema,), (documents,) = render(ROOT, MIGRATE_OVERLAY), render(ROOT, LOAD_OVERLAY)
        serving = lanes.serving_lane(kubectl)
        wanted = lane or serving or lanes.FIRST
        parts = render(ROOT, f"deploy/overlays/prod/{wanted}")
        own = lint([*platform, schema, documents], "platform")
        check(own + unmatched(ROOT, overlay) + examine(ROOT, wanted))
    with step("namespaces"):
        kubectl.apply([item for item in platform if item["kind"] == "Namespace"], setup.MANAGER)
    with step("secrets and settings"):
        tokens = setup.make_secrets(kubectl)
        setup.make_settings(kubectl, wished.environment)
    with step(f"apply {overlay}"):
        if wished.local:
            setup.make_volume(wished.volumes / "postgres")
        kubectl.apply(platform, setup.MANAGER)
    waits.ready(kubectl, early(waits.workloads(platform)))
    with step("migrate the database"):
        jobs.run(kubectl, jobs.stamped(schema, tokens), setup.MANAGER)
    with step("load the sample reports"):
        wished_load = jobs.stamped(documents, {})
        jobs.run(kubectl, wished_load, setup.MANAGER, jobs.LOADED_WITHIN_S)
    if lane or serving is None:
        lanes.apply(kubectl, parts)
    if serving is None:
        lanes.init(wished.kubeconfig)
    waits.ready(kubectl, late(waits.workloads(platform)))
    with step("remove old ConfigMaps"):
        leftovers.remove(kubectl, platform)
    stale = lanes.stale(kubectl, parts)
    report = addresses.report(kubectl, wished, serving or lanes.FIRST)
    return f"{report}\n{lanes.advice(serving, stale)}" if serving and stale else report


def check_registry(wished: Target) -> None:
    """The digests must be those of the registry that this cluster pulls from."""
    lock = read_lock(ROOT)
    remedy = "run `python -m images build --push`"
    if lock is None:
        raise ApplyError(f"images/images.lock is missing: {remedy}")
    if lock.registry != wished.registry:
        raise ApplyError(
            f"images/images.lock is for registry {lock.registry}, not {wished.registry}: {remedy}"
        )


def check(findings: list[Finding]) -> None:
    """Nothing is applied that the controller's own lint would refuse."""
    if findings:
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        raise ApplyError(f"{findings[0]}{more}")


def early(platform: list[Manifest]) -> list[Manifest]:
    """What the lanes need: everything but the controller."""
    return [item for item in platform if item["metadata"]["name"] != "rollout"]


def late(platform: list[Manifest]) -> list[Manifest]:
    """The controller, which is Ready once its journal is there."""
    return [item for item in platform if item["metadata"]["name"] == "rollout"]


if __name__ == "__main__":
    sys.exit(main())
