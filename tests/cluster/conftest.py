"""What tests of the rollout share: namespaces, a repository and a first release of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.tiny_cluster import Tiny, tiny_rollout


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Tiny]:
    """A tiny rollout with release 1 on blue and no controller yet."""
    with tiny_rollout(tmp_path) as made:
        yield made
