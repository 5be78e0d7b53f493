"""What the engine says where its kernels were not compiled."""

from dataclasses import replace
from pathlib import Path

import pytest

from apps.engine import EngineError, native


def test_missing_kernels_are_an_error_of_the_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = replace(native.EXTENSION, module=tmp_path / "gone.so")
    monkeypatch.setattr(native, "EXTENSION", gone)
    native.load.cache_clear()
    with pytest.raises(EngineError, match=r"is missing; run `python -m apps\.engine\.native`"):
        native.load()
    native.load.cache_clear()
