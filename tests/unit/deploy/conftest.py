"""Every overlay rendered once for all tests of this folder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from rollout.render import Manifest, render
from tests.tree import OVERLAYS, copy_deploy

Rendered = dict[str, list[Manifest]]


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    """Manifests by overlay (`canary/blue`)."""
    tree = copy_deploy(tmp_path_factory.mktemp("tree"))
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(partial(render, tree), [f"deploy/overlays/{name}" for name in OVERLAYS])
        return dict(zip(OVERLAYS, found, strict=True))
