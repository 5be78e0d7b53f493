"""Building, finding and refusing a compiled module."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from apps.engine import native as kernels
from observability import native as points
from observability.extension import BuildError, Extension, ExtensionMissing, main

SOURCE = """
#include <Python.h>
#include "value.h"
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_tiny"};
PyMODINIT_FUNC PyInit__tiny(void) {
  PyObject *module = PyModule_Create(&definition);
  PyModule_AddStringConstant(module, "SOURCES", SOURCES);
  PyModule_AddIntConstant(module, "VALUE", VALUE);
  return module;
}
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Extension:
    """A module of the smallest sources, not compiled yet."""
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "tiny.c").write_text(SOURCE)
    (sources / "value.h").write_text("#define VALUE 23\n")
    return Extension("some.package", sources, tmp_path / "_tiny.abi3.so")


def test_what_was_built_is_loaded(tiny: Extension) -> None:
    tiny.build(tiny.module)
    assert tiny.is_current(tiny.module)
    assert tiny.load().VALUE == 23


def test_the_same_sources_give_the_same_bytes_anywhere(tiny: Extension, tmp_path: Path) -> None:
    elsewhere = replace(tiny, folder=shutil.copytree(tiny.folder, tmp_path / "elsewhere"))
    tiny.build(tmp_path / "a.so")
    elsewhere.build(tmp_path / "b.so")
    assert (tmp_path / "a.so").read_bytes() == (tmp_path / "b.so").read_bytes()


def test_a_missing_module_names_the_command_that_builds_it(tiny: Extension) -> None:
    assert not tiny.is_current(tiny.module)
    with pytest.raises(ExtensionMissing, match=r"is missing; run `python -m some\.package`"):
        tiny.load()


@pytest.mark.parametrize("change", ["source", "header", "flags"])
def test_any_change_makes_a_module_old(tiny: Extension, change: str) -> None:
    tiny.build(tiny.module)
    if change == "flags":
        tiny = replace(tiny, flags=("-O1",))
    else:
        file = tiny.folder / {"source": "tiny.c", "header": "value.h"}[change]
        file.write_text(file.read_text() + "\n")
    assert not tiny.is_current(tiny.module)
    with pytest.raises(ExtensionMissing, match=r"built from other sources; run `python -m some"):
        tiny.load()


@pytest.mark.parametrize("extension", [kernels.EXTENSION, points.EXTENSION])
def test_what_is_current_is_not_built_again(
    extension: Extension, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr("sys.argv", ["native"])
    assert main(extension) == 0


def test_a_missing_compiler_is_one_line_with_the_remedy(
    tiny: Extension, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr("sys.argv", ["native"])
    assert main(tiny) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error == "error: no-such-compiler is missing; run `apt-get install gcc libc6-dev`"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("int wrong(void) { return nothing; }\n", r"refuses more\.c(.|\n)*nothing"),
        ("int PyInit__tiny(void) { return 0; }\n", r"refuses _tiny\.abi3\.so(.|\n)*multiple def"),
    ],
    ids=["compiler", "linker"],
)
def test_what_is_refused_is_shown_and_leaves_the_old_module(
    tiny: Extension, text: str, refused: str
) -> None:
    tiny.module.write_text("old")
    (tiny.folder / "more.c").write_text(text)
    with pytest.raises(BuildError, match=refused):
        tiny.build(tiny.module)
    assert tiny.module.read_text() == "old"
    assert {file.name for file in tiny.module.parent.iterdir()} == {"sources", "_tiny.abi3.so"}
