"""Symbols and static probes of files that a compiler made, and of damaged ones."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from observability.agent.elf import Elf
from observability.agent.points import points
from observability.agent.process import MappedFile
from observability.bpf.errors import TraceError

SOURCE = r"""
unsigned short counter __attribute__((section(".probes"))) = 0;
__attribute__((visibility("default"))) int first(void) { return 1; }
__attribute__((visibility("default"))) int second(void) {
    __asm__ volatile(".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"
        ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
        "993: .8byte second\n.8byte 0\n.8byte counter\n"
        ".asciz \"mine\"\n.asciz \"there\"\n.asciz \"\"\n994: .balign 4\n.popsection");
    return 0x5eed;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elf")
    (folder / "x.c").write_text(SOURCE)
    # Position-dependent notes need the addresses that the linker relocates at link time.
    subprocess.run(
        ["gcc", "-O1", "-shared", "-fPIC", "-Wl,-Bsymbolic", "x.c", "-o", "x.so"],
        cwd=folder,
        check=True,
    )
    return folder / "x.so"


def test_a_functions_offset_is_where_its_code_lies_in_the_file(library: Path) -> None:
    offset = Elf(str(library)).functions(["second", "absent"])["second"]
    assert (0x5EED).to_bytes(4, "little") in library.read_bytes()[offset : offset + 16]


def test_a_static_probe_is_found_with_its_semaphore(library: Path) -> None:
    elf = Elf(str(library))
    (probe,) = elf.probes("mine")
    assert probe.name == "there"
    assert probe.offset == elf.functions(["second"])["second"]
    assert library.read_bytes()[probe.semaphore : probe.semaphore + 2] == b"\0\0"
    assert probe.semaphore > 0
    assert elf.probes("another") == []


def test_a_stripped_file_still_has_its_exports(library: Path, tmp_path: Path) -> None:
    out = tmp_path / "stripped.so"
    subprocess.run(["strip", "-o", out, library], check=True)
    assert Elf(str(out)).functions(["first"]) == Elf(str(library)).functions(["first"])


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF", b"#!/bin/sh\n", b"\x7fELF\x02\x01" + b"\0" * 20]
)
def test_what_is_no_elf_file_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x"
    file.write_bytes(content)
    with pytest.raises(TraceError, match=str(file)):
        Elf(str(file))


def test_a_pipe_in_a_librarys_place_does_not_hold_us_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.so")
    with pytest.raises(TraceError, match="cannot read"):
        Elf(str(tmp_path / "x.so"))


def test_a_file_that_is_cut_short_while_we_read_it_is_named(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.so"
    file.write_bytes(library.read_bytes())
    elf = Elf(str(file))
    os.truncate(file, 1)
    with pytest.raises(TraceError, match="damaged"):
        elf.functions(["first"])


def test_a_table_without_an_end_is_not_read(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.so"
    file.write_bytes(library.read_bytes())
    os.truncate(file, 1 << 40)
    with file.open("r+b") as opened:
        # The section table, of the largest entries that there can be, lies in the hole.
        opened.seek(0x28)
        opened.write((1 << 30).to_bytes(8, "little"))
        opened.seek(0x3A)
        opened.write(b"\xff\xff\xff\xff")
    with pytest.raises(TraceError, match="no whole"):
        Elf(str(file))


def test_a_file_may_promise_our_points_and_no_other_program_of_ours(tmp_path: Path) -> None:
    names = ["function_entry", "gil_taken", "task_ended", "function_entry"]
    source = SOURCE.replace("mine", "switchyard")
    parts = [source.replace("there", names[0])]
    for i, name in enumerate(names[1:]):
        more = source.replace("there", name).replace("second", f"f{i}").replace("first", f"g{i}")
        parts.append(more.replace("counter", f"counter{i}"))
    (tmp_path / "x.c").write_text("\n".join(parts))
    file = tmp_path / "_native.so"
    flags = ["-O1", "-shared", "-fPIC", "-Wl,-Bsymbolic"]
    subprocess.run(["gcc", *flags, tmp_path / "x.c", "-o", file], check=True)
    assert len(Elf(str(file)).probes("switchyard")) == len(names)
    mapped = MappedFile("8:1", 1, str(file))
    found = points(mapped, str(file), frozenset({"python"}), links=True)
    assert [point.program for point in found] == ["function_entry", "function_entry"]


def test_any_damage_is_an_answer_or_one_clear_line(library: Path, tmp_path: Path) -> None:
    whole = library.read_bytes()
    numbers = random.Random(5)
    file = tmp_path / "damaged.so"
    for _ in range(400):
        data = bytearray(
            whole[: numbers.randrange(len(whole))] if numbers.random() < 0.3 else whole
        )
        for _ in range(numbers.randrange(8)):
            if data:
                data[numbers.randrange(len(data))] = numbers.randrange(256)
        file.write_bytes(data)
        try:
            elf = Elf(str(file))
            elf.functions(["first"])
            elf.probes("mine")
        except TraceError:
            pass
