from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.engine.engine import Engine
from apps.engine.model import Model, default_path
from tests.unit.engine.signed_model import Signed, sign
from tests.unit.engine.tiny_gguf import gguf, tiny_metadata, tiny_tensors, write


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("engine") / "tiny.gguf"
    return write(path, gguf(tiny_metadata(), tiny_tensors()))


@pytest.fixture(scope="session")
def tiny(tiny_path: Path) -> Model:
    return Model.open(tiny_path)


@pytest.fixture
def signed(tmp_path: Path, tiny_path: Path) -> Signed:
    return sign(tmp_path, tiny_path.read_bytes())


@pytest.fixture
def engine(tiny: Model) -> Iterator[Engine]:
    """A running engine of 400 positions."""
    with Engine(tiny, pool_tokens=400, threads=1) as engine:
        yield engine


@pytest.fixture(scope="session")
def packaged() -> Model:
    """The model that the pipeline serves; only its header is read here."""
    return Model.open(default_path())
