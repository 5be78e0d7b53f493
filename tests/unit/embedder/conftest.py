"""One small model, built once."""

from pathlib import Path

import pytest

from tests.unit.embedder.built import build
from tests.unit.embedder.tiny_packed import write


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("embedder")
    build(write(root), root / "model", "int4")
    return root / "model"
