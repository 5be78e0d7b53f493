"""Objects of marked types: created and destroyed, exactly, and what keeps one alive."""

import gc
import logging
import threading
from collections.abc import Iterator

import pytest

from observability.probes import holders
from observability.probes.control import BadControl, read
from observability.probes.objects import Objects, find
from tests.unit.probes import marked
from tests.unit.probes.fake_points import FakePoints

MARKED = "tests.unit.probes.marked"


@pytest.fixture
def points() -> FakePoints:
    return FakePoints()


@pytest.fixture
def objects(points: FakePoints) -> Iterator[Objects]:
    made = Objects(points)
    yield made
    made.mark(())


def counts(points: FakePoints) -> dict[tuple[str, str], int]:
    return {(name.rpartition(".")[2], what): n for (name, what), n in points.counts().items()}


def test_every_way_to_make_an_object_counts_once(points: FakePoints, objects: Objects) -> None:
    objects.mark(f"{MARKED}.{name}" for name in ("Plain", "Slotted", "Frozen"))
    for _ in range(7):
        marked.Plain()
    for number in range(11):
        marked.Frozen(number)
    marked.copied(13)
    gc.collect()
    assert counts(points) == {
        ("Plain", "create"): 7,
        ("Plain", "destroy"): 7,
        ("Frozen", "create"): 11,
        ("Frozen", "destroy"): 11,
        ("Slotted", "create"): 26,
        ("Slotted", "destroy"): 26,
    }


def test_a_subclass_counts_once_under_its_own_name(points: FakePoints, objects: Objects) -> None:
    objects.mark([f"{MARKED}.Child", f"{MARKED}.Slotted"])
    kept = [marked.Child(1) for _ in range(3)]
    assert counts(points) == {("Child", "create"): 3}
    kept.clear()
    assert counts(points) == {("Child", "create"): 3, ("Child", "destroy"): 3}


def test_a_classs_own_ways_are_kept(points: FakePoints, objects: Objects) -> None:
    marked.Farewell.said.clear()
    objects.mark([f"{MARKED}.Farewell", f"{MARKED}.Singleton"])
    marked.Farewell()
    assert marked.Farewell.said == ["own"]
    assert marked.Singleton() is marked.Singleton()


def test_wrong_arguments_are_still_wrong(objects: Objects) -> None:
    objects.mark([f"{MARKED}.Plain"])
    with pytest.raises(TypeError, match=r"^Plain\(\) takes no arguments$"):
        marked.Plain(1)  # type: ignore[call-arg]


def test_an_unmarked_class_works_as_before(points: FakePoints, objects: Objects) -> None:
    objects.mark([f"{MARKED}.{name}" for name in ("Plain", "Slotted", "Farewell")])
    objects.mark(())
    points.events.clear()
    assert marked.Slotted(7).value == 7
    marked.copied(2)
    marked.Plain()
    with pytest.raises(TypeError, match="takes no arguments"):
        marked.Plain(1)  # type: ignore[call-arg]
    marked.Farewell()
    assert not points.events
    assert "__del__" not in vars(marked.Slotted)
    objects.mark([f"{MARKED}.Slotted"])
    marked.Slotted(1)
    assert counts(points) == {("Slotted", "create"): 1, ("Slotted", "destroy"): 1}


@pytest.mark.parametrize(
    "name", ["nowhere.Thing", f"{MARKED}.Nothing", f"{MARKED}.holder", "builtins.int", "", "."]
)
def test_what_cannot_be_marked_is_said_in_one_line(
    objects: Objects, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    objects.mark([name])
    assert len(caplog.records) == 1
    assert "cannot be counted" in caplog.text


def test_a_nested_class_is_found() -> None:
    assert find("logging.Logger") is logging.Logger
    assert find("threading._DummyThread") is threading._DummyThread


def test_the_chain_leads_from_an_object_to_its_module(points: FakePoints) -> None:
    marked.holder.kept["s1"] = [marked.Slotted(1)]
    holders.tell(points, f"{MARKED}.Slotted")
    marked.holder.kept.clear()
    (chain,) = points.chains
    assert chain.startswith("Slotted <- list[0] <- dict['s1'] <- ")
    assert chain.endswith(f"{MARKED}.holder")
    assert "Holder" in chain


def test_the_chain_leads_to_a_local_of_a_running_function() -> None:
    def keeps() -> str:
        mine = marked.Slotted(1)
        return holders.chain(mine)

    name = "test_the_chain_leads_to_a_local_of_a_running_function.<locals>.keeps()"
    assert keeps() == f"Slotted <- local mine of {name}"


def test_the_chain_leads_through_a_waiting_generator() -> None:
    def waits() -> Iterator[marked.Slotted]:
        mine = [marked.Slotted(1)]
        yield mine[0]
        del mine

    waiting = waits()
    name = "test_the_chain_leads_through_a_waiting_generator()"
    found = holders.chain(next(waiting))
    assert found == f"Slotted <- list[0] <- generator <- local waiting of {name}"


def test_a_chain_of_nothing_known_is_one_line(
    points: FakePoints, caplog: pytest.LogCaptureFixture
) -> None:
    holders.tell(points, "nowhere.Thing")
    assert not points.chains
    assert "there is no such class" in caplog.text


def test_the_control_file_says_what_is_wanted() -> None:
    wishes = read("# all of it\n\nfunction a.*\ntype b.C # why\nchain b.C\nfunction d\n")
    assert (wishes.functions, wishes.types, wishes.chains) == (("a.*", "d"), ("b.C",), ("b.C",))
    assert wishes.wants("a.b")
    assert not wishes.wants("b.a")
    assert read("").wants("anything")


@pytest.mark.parametrize("text", ["function", "function a b", "Function a", "type\nx", "a" * 999])
def test_a_line_that_says_nothing_is_refused_with_its_number(text: str) -> None:
    with pytest.raises(BadControl, match=r"line 1 is '.{0,80}'; write `function GLOB`"):
        read(text)


def test_there_is_an_end_to_wishes() -> None:
    with pytest.raises(BadControl, match="more than 256 lines"):
        read("function a\n" * 257)
