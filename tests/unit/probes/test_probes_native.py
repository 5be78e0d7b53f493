"""The compiled points: as a tracer finds them, and as their callers use them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from observability import native
from observability.native import build as building
from observability.native.__main__ import main
from observability.native.build import MODULE, BuildError, build, is_current

ROOT = Path(__file__).parents[3]
POINTS = {
    "function_entry": "8@%rdi 8@%rsi 8@%rdx",
    "function_return": "8@%rdi 8@%rsi 8@%rdx -4@%ecx",
    "object_create": "8@%rdi 8@%rsi 8@%rdx 8@%rcx",
    "object_destroy": "8@%rdi 8@%rsi",
    "object_chain": "8@%rdi 8@%rsi 8@%rdx",
    "token": "8@%rdi 4@%esi 4@%edx 4@%ecx",
}
NOP = bytes.fromhex("0f1f440000")


def notes() -> dict[str, dict[str, str]]:
    """What binutils reads in the module's notes, by name."""
    text = subprocess.run(
        ["readelf", "-n", MODULE], capture_output=True, text=True, check=True
    ).stdout
    found = {}
    for note in text.split("stapsdt  ")[1:]:
        said = dict(re.findall(r"(\w+): ([^,\n]*)", note))
        found[said["Name"]] = said
    return found


def test_each_point_has_its_note_and_its_semaphore() -> None:
    assert {name: note["Arguments"] for name, note in notes().items()} == POINTS
    assert {note["Provider"] for note in notes().values()} == {"switchyard"}
    assert len({note["Semaphore"] for note in notes().values()}) == len(POINTS)


def test_each_point_begins_with_the_nop_that_the_kernel_is_quick_at() -> None:
    module = MODULE.read_bytes()
    for name, note in notes().items():
        at = int(note["Location"], 16)  # the first segment: addresses are offsets
        assert module[at : at + 5] == NOP, name


def test_each_point_is_a_symbol_of_its_own() -> None:
    symbols = subprocess.run(
        ["readelf", "--dyn-syms", "-W", MODULE], capture_output=True, text=True, check=True
    ).stdout
    for name, note in notes().items():
        line = next(line for line in symbols.splitlines() if line.endswith(f"switchyard_{name}"))
        assert int(line.split()[1], 16) == int(note["Location"], 16)


def test_nobody_is_attached_and_firing_does_nothing() -> None:
    points = native.load()
    assert points.attached() == 0
    points.entry(b"name", 2**64 - 1)
    points.leave(b"name", 0, native.RETURNED)
    points.created(b"type", 1, 2)
    points.destroyed(b"type", 1)
    points.chain(b"type", 1, b"chain")
    points.token(b"r", 2**32 - 1, 0, 0)


@pytest.mark.parametrize("call", ["entry", "leave", "created", "destroyed", "chain", "token"])
def test_wrong_arguments_are_refused(call: str) -> None:
    with pytest.raises(TypeError):
        getattr(native.load(), call)("text", 1, 2, 3, 4)


def test_code_is_watched_and_forgotten_without_a_leak() -> None:
    points = native.load()
    codes = [compile("1", str(number), "exec") for number in range(1009)]
    before = sys.getrefcount(codes[7])
    for code in codes:
        points.watch(code, b"name", False)
        points.watch(code, b"name", False)
        points.on_start(code, 0)
    watched = sys.getrefcount(codes[7])
    points.forget()
    forgotten = sys.getrefcount(codes[7])
    assert (watched, forgotten) == (before + 1, before)
    points.on_start(codes[7], 0)


def test_the_known_workload_waits_for_a_line() -> None:
    command = [sys.executable, "-m", "observability.probes", "exercise", "--count", "3"]
    done = subprocess.run(command, cwd=ROOT, input="\n", capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n", "")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the loader looks for the module in this test."""
    monkeypatch.setattr(native, "MODULE", tmp_path / "_native.abi3.so")
    monkeypatch.setattr(native, "load", native.load.__wrapped__)
    return tmp_path / "_native.abi3.so"


def test_a_module_of_other_sources_is_refused(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copyfile(MODULE, elsewhere)
    monkeypatch.setattr(native, "sources_digest", lambda: "0" * 64)
    with pytest.raises(native.NativeMissing, match="built from other sources; run `python"):
        native.load()


def test_a_file_that_is_no_module_costs_the_traces_only(
    elsewhere: Path, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere.write_text("no module")
    assert native.available() is None
    assert "this process cannot be traced: " in caplog.text


def test_what_is_current_is_not_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr("sys.argv", ["native"])
    assert main() == 0


def test_any_change_of_a_source_makes_a_module_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_current(MODULE)
    sources = shutil.copytree(
        building.FOLDER, tmp_path / "native", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    monkeypatch.setattr(building, "FOLDER", sources)
    assert is_current(MODULE)
    with (sources / "points.h").open("a") as file:
        file.write("\n")
    assert not is_current(MODULE)


def test_a_missing_compiler_is_one_line_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr("sys.argv", ["native", "--out", str(tmp_path / "a.so")])
    assert main() == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error == "error: no-such-compiler is missing; run `apt-get install gcc libc6-dev`"
    assert not list(tmp_path.iterdir())


def test_what_the_compiler_refuses_is_shown_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.c").write_text("int main(void) { return nothing; }\n")
    monkeypatch.setattr(building, "FOLDER", tmp_path)
    with pytest.raises(BuildError, match=r"refuses the sources:(.|\n)*nothing"):
        build(tmp_path / "a.so")
    assert [file.name for file in tmp_path.iterdir()] == ["bad.c"]


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    build(tmp_path / "a.so")
    build(tmp_path / "b.so")
    assert (tmp_path / "a.so").read_bytes() == (tmp_path / "b.so").read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [(), (b"name",), ("name", 0), (b"name", "0"), (b"name", None), (b"name", 0.5)],
)
def test_a_point_that_is_called_wrongly_says_so(arguments: tuple[object, ...]) -> None:
    points = native.load()
    for call, more in ((points.entry, ()), (points.leave, (0,))):
        with pytest.raises(TypeError):
            call(*arguments, *more)  # type: ignore[arg-type]
    for frame in (-1, 2**64):
        with pytest.raises(OverflowError):
            points.entry(b"name", frame)
    with pytest.raises(TypeError):
        points.leave(b"name", 0, "0")  # type: ignore[arg-type]
