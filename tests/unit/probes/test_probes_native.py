"""The compiled points: as a tracer finds them, and as their callers use them."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from observability import native
from observability.native import MODULE

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


def test_a_file_that_is_no_module_costs_the_traces_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module = tmp_path / "_native.abi3.so"
    module.write_text("no module")
    monkeypatch.setattr(native, "EXTENSION", replace(native.EXTENSION, module=module))
    native.load.cache_clear()
    assert native.available() is None
    assert "this process cannot be traced: " in caplog.text
    native.load.cache_clear()


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
