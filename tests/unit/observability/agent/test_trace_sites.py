"""Links by file: opened once, told of each process, closed with the last of them."""

import os
from collections.abc import Iterable
from typing import Any

import pytest

from observability.agent import sites
from observability.agent.points import Point
from observability.agent.process import MappedFile, Process
from observability.agent.sites import Linked
from observability.bpf.errors import TraceError
from observability.bpf.link import Place
from observability.bpf.program import FILES

ONE, TWO, MANY, GONE = (Process(pid, 1) for pid in (1, 2, 3, 4))


class Loaded:
    """Programs that are none; `told` is which files each process is followed on."""

    programs = frozenset({"python"})

    def __init__(self) -> None:
        self.told: dict[int, set[int]] = {}
        self.refused: set[int] = set()

    def function(self, name: str) -> int:
        return len(name)

    def follow(self, pid: int, files: Iterable[int]) -> None:
        if pid in self.refused:
            raise TraceError("the table is full")
        self.told[pid] = set(files)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[Place]]]:
    links: list[tuple[str, list[Place]]] = []

    def uprobes(program: int, path: str, places: list[Place], *, at_return: bool) -> int:
        links.append((path, places))
        return os.open(os.devnull, os.O_RDONLY)

    def points(file: MappedFile, path: str, *_: Any, links: bool) -> list[Point]:
        if "bad" in file.path or path.startswith(f"/proc/{GONE.pid}/"):
            raise TraceError("it is damaged")
        return [Point("enter", 1, "a", cookie=5), Point("leave", 1, "a", at_return=True),
                Point("enter", 2, "b")]  # fmt: skip

    monkeypatch.setattr(sites, "uprobes", uprobes)
    monkeypatch.setattr(sites, "points", points)
    return links


def file(inode: int, name: str = "libcuda.so") -> MappedFile:
    return MappedFile("8:1", inode, f"/{name}")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_file_has_a_link_for_each_program_and_a_number_in_its_cookies(opened: Any) -> None:
    loaded: Any = Loaded()
    linked = Linked(loaded)
    assert linked.attach({ONE: [file(7)]}) == {ONE: {file(7): 3}}
    assert linked.attach({TWO: [file(7), file(8)]})[TWO][file(8)] == 3
    assert [[place.cookie for place in places] for _, places in opened] == [
        [5, 0], [0], [1 << 32 | 5, 1 << 32], [1 << 32],
    ]  # fmt: skip
    assert loaded.told == {1: {0}, 2: {0, 1}}
    linked.close()


def test_links_go_with_their_last_process_and_numbers_come_again(opened: Any) -> None:
    before = descriptors()
    loaded: Any = Loaded()
    linked = Linked(loaded)
    linked.attach({ONE: [file(7)], TWO: [file(7), file(8)]})
    linked.leave(ONE)
    assert loaded.told[1] == set()
    assert descriptors() == before + 4
    linked.leave(TWO)
    assert descriptors() == before
    linked.attach({MANY: [file(9)]})
    assert loaded.told[3] == {0}
    linked.close()
    assert descriptors() == before


def test_what_is_wrong_with_one_is_the_matter_of_one(opened: Any) -> None:
    loaded: Any = Loaded()
    loaded.refused = {2}
    linked = Linked(loaded)
    found = linked.attach({ONE: [file(6, "bad"), file(7)], TWO: [file(7)]})
    assert (str(found[ONE][file(6, "bad")]), found[ONE][file(7)]) == ("it is damaged", 3)
    assert str(found[TWO][file(7)]) == "the table is full"
    linked.close()


def test_a_file_that_went_with_its_first_process_is_opened_for_another(opened: Any) -> None:
    before = descriptors()
    loaded: Any = Loaded()
    linked = Linked(loaded)
    found = linked.attach({GONE: [file(7), file(8)], ONE: [file(7)]})
    assert found[ONE] == {file(7): 3}
    assert isinstance(found[GONE][file(8)], TraceError)
    assert linked.attach({TWO: [file(7), file(8)]}) == {TWO: {file(7): 3, file(8): 3}}
    assert [path for path, _ in opened] == [
        "/proc/1/root/libcuda.so", "/proc/1/root/libcuda.so",
        "/proc/2/root/libcuda.so", "/proc/2/root/libcuda.so",
    ]  # fmt: skip
    linked.close()
    assert descriptors() == before


def test_more_files_than_there_are_numbers_are_a_problem(opened: Any) -> None:
    loaded: Any = Loaded()
    linked = Linked(loaded)
    found = linked.attach({MANY: [file(inode) for inode in range(FILES + 3)]})[MANY]
    problems = [str(one) for one in found.values() if isinstance(one, TraceError)]
    assert len(problems) == 3
    assert "256 files have probes" in problems[0]
    assert loaded.told[3] == set(range(FILES))
    linked.close()
