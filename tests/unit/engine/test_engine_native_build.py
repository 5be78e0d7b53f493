"""Building and finding the compiled module."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.engine import native
from apps.engine.native import build as building
from apps.engine.native.__main__ import main
from apps.engine.native.build import BuildError, build, is_current


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the loader looks for the module in this test."""
    module = tmp_path / "_core.abi3.so"
    monkeypatch.setattr(native, "MODULE", module)
    native.load.cache_clear()
    yield module
    native.load.cache_clear()


def test_a_missing_module_names_the_command_that_builds_it(elsewhere: Path) -> None:
    with pytest.raises(
        native.CoreMissing, match=r"is missing; run `python -m apps\.engine\.native`"
    ):
        native.load()


def test_a_module_of_other_sources_is_refused(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copyfile(building.MODULE, elsewhere)
    monkeypatch.setattr(native, "sources_digest", lambda: "0" * 64)
    with pytest.raises(native.CoreMissing, match="built from other sources; run `python"):
        native.load()


def test_what_is_current_is_not_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr("sys.argv", ["native"])
    assert main() == 0


def test_any_change_of_a_source_makes_a_module_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_current(building.MODULE)
    sources = shutil.copytree(
        building.FOLDER, tmp_path / "native", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    monkeypatch.setattr(building, "FOLDER", sources)
    assert is_current(building.MODULE)
    with (sources / "norm.h").open("a") as file:
        file.write("\n")
    assert not is_current(building.MODULE)
    assert not is_current(tmp_path / "nowhere.so")


def test_a_missing_compiler_is_one_line_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr("sys.argv", ["native", "--out", str(tmp_path / "a.so")])
    assert main() == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error == "error: no-such-compiler is missing; run `apt-get install gcc libc6-dev`"
    assert not list(tmp_path.iterdir())


def test_what_the_compiler_refuses_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.c").write_text("int main(void) { return nothing; }\n")
    monkeypatch.setattr(building, "FOLDER", tmp_path)
    with pytest.raises(BuildError, match=r"refuses bad\.c(.|\n)*nothing"):
        build(tmp_path / "a.so")
    assert not (tmp_path / "a.so").exists()
