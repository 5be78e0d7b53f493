"""A tracer that is not ours counts our probes exactly, in a container, on each Python."""

from collections import Counter
from pathlib import Path

import pytest

from observability.probes.request import SHARED
from tests.integration.probes.bpftrace import counting, wait_until_counted
from tests.integration.probes.container import BASES, LIBRARY, running
from tests.integration.probes.target import PACKAGE

PLAIN = {
    "leaf": 24, "descend": 5, "calls": 1, "pauses": 1, "nested": 5, "nested.<locals>.inner": 5,
    "Kind.method": 2, "Kind.static": 1, "Kind.of_class": 1, "Kind.property": 1, "Kind.cached": 1,
}  # fmt: skip


@pytest.mark.parametrize("python", sorted(BASES))
def test_every_call_is_counted_in_a_container(python: str) -> None:
    with running(python, "tests.integration.probes.target") as (target, pid):
        library = f"/proc/{pid}/root{LIBRARY}"
        assert not Path(LIBRARY).exists()
        with counting(library) as counts:
            wait_until_counted(pid, Path(library))
            assert target.stdin
            assert target.stdout
            target.stdin.write("go\n")
            target.stdin.flush()
            assert target.stdout.readline() == "done\n"
    seen: Counter[tuple[str, str, str]] = Counter()
    for (request, name, event), hits in counts.items():
        seen[request, name.removeprefix(f"{PACKAGE}."), event] = hits
    closed = seen.pop(("plain", "generator", "unwind"), 0)
    suspended = {key: hits for key, hits in seen.items() if key[1] in ("awaits", "elsewhere")}
    assert seen - Counter(suspended) == {
        **{("plain", name, "entry"): hits for name, hits in PLAIN.items()},
        **{("plain", name, "return"): hits for name, hits in PLAIN.items()},
        ("plain", "fails", "entry"): 3,
        ("plain", "fails", "unwind"): 3,
        ("plain", "generator", "entry"): 2,
        ("plain", "generator", "yield"): 5,
        ("plain", "generator", "resume"): 4 + closed,
        ("plain", "generator", "return"): 1,
        **{("plain", "managed", event): 1 for event in ("entry", "yield", "resume", "return")},
        ("plain", "Made", "create"): 1,
        ("", "Made", "destroy"): 1,
        ("async", "coroutine", "entry"): 8,
        ("async", "coroutine", "yield"): 15,
        ("async", "coroutine", "resume"): 15,
        ("async", "coroutine", "return"): 7,
        ("async", "coroutine", "unwind"): 1,
        ("async", "asynchronous", "entry"): 2,
        ("async", "asynchronous", "yield"): 8,
        ("async", "asynchronous", "resume"): 8,
        ("async", "asynchronous", "return"): 1,
        ("async", "asynchronous", "unwind"): 1,
        ("async", "leaf", "entry"): 7,
        ("async", "leaf", "return"): 7,
        **{(name, "leaf", "entry"): 1 for name in ("alone", SHARED, "")},
        **{(name, "leaf", "return"): 1 for name in ("alone", SHARED, "")},
        ("plain", "token", "token"): 31,
    }
