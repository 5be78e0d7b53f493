"""Counters become findings, with the counters as evidence."""

from pathlib import Path

import pytest

from observability.bpf.errors import TraceError
from observability.gpu.rules import findings, load

QUIET = {
    "pcie_rx_gb_s": 1.0,
    "compute_percent": 90.0,
    "power_w": 300.0,
    "power_limit_w": 700.0,
    "memory_used_bytes": 50e9,
    "memory_total_bytes": 100e9,
    "memory_controller_percent": 70.0,
    "ecc_uncorrected": 0.0,
}


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({}, []),
        ({"pcie_rx_gb_s": 12.1, "compute_percent": 5.0}, ["data starves"]),
        ({"pcie_rx_gb_s": 12.1}, []),
        ({"power_w": 665.0, "compute_percent": 60.0}, ["clocks are throttled"]),
        ({"power_w": 664.0, "compute_percent": 60.0}, []),
        (
            {"memory_used_bytes": 98e9, "memory_controller_percent": 40.0},
            ["cache is too large", "memory is full"],
        ),
        ({"memory_used_bytes": 98e9}, ["memory is full"]),
        # The driver's own part is nobody's to fill.
        ({"memory_used_bytes": 93.1e9, "memory_reserved_bytes": 5e9}, ["memory is full"]),
        ({"memory_used_bytes": 93.0e9, "memory_reserved_bytes": 5e9}, []),
        ({"ecc_uncorrected": 1.0}, ["memory decays"]),
        ({"refused_bytes": 8e9, "memory_free_bytes": 9e9}, ["free memory is in pieces"]),
        ({"refused_bytes": 9e9, "memory_free_bytes": 9e9}, []),
        ({"refused_bytes": 9e9, "memory_free_bytes": None}, []),
        ({"refused_bytes": None, "memory_free_bytes": 9e9}, []),
    ],
)
def test_our_rules(changed: dict[str, float], names: list[str]) -> None:
    assert [finding.name for finding in findings(load(), QUIET | changed)] == names


def test_a_finding_shows_its_evidence() -> None:
    (found,) = findings(load(), QUIET | {"memory_used_bytes": 99e9})
    assert found.evidence == {"memory_percent": 99.0}
    assert str(found).startswith("memory is full (memory_percent 99): the next allocation")


def test_what_a_gpu_does_not_tell_is_not_zero() -> None:
    starved = QUIET | {"pcie_rx_gb_s": 13.0, "compute_percent": None}
    assert findings(load(), starved) == []
    assert findings(load(), {"memory_used_bytes": 1.0, "memory_total_bytes": 0.0}) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[rule]]\nname = 'x'\n", "a rule has `name`, `when` and `do`"),
        ("[[rule]]\nname = 'x'\ndo = 'y'\nwhen = ['a = 1']\n", "'a = 1' is not `field < number`"),
        ("[[rule]]\nname = 'x'\ndo = 'y'\nwhen = []\n", "has no condition"),
        ("[[rule", "cannot read the rules"),
    ],
)
def test_a_rule_that_is_none_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    with pytest.raises(TraceError, match=complaint):
        load(file)
