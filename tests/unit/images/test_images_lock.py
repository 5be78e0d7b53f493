"""The lock and the component that is made from it."""

from pathlib import Path

import pytest
import yaml

from images.errors import ImageError
from images.lock import COMPONENT, LOCK, Lock, Locked, component, dump, parse, read, write

DIGEST = "sha256:" + "d" * 64
OTHER = "sha256:" + "e" * 64
LOCKED = Lock("10.203.0.2:5000", {"gateway": Locked("1" * 64, DIGEST)})


def test_a_lock_survives_writing_and_reading() -> None:
    assert parse(dump(LOCKED)) == LOCKED


def test_the_order_of_building_does_not_show() -> None:
    one, two = Locked("1" * 64, DIGEST), Locked("2" * 64, OTHER)
    assert dump(Lock("r", {"b": one, "a": two})) == dump(Lock("r", {"a": two, "b": one}))


def test_component_replaces_the_bare_name_by_registry_and_digest() -> None:
    made = yaml.safe_load(component(LOCKED))
    assert made["kind"] == "Component"
    assert made["images"] == [
        {
            "name": "switchyard/gateway",
            "newName": "10.203.0.2:5000/switchyard/gateway",
            "digest": DIGEST,
        }
    ]


def test_reference_is_by_digest() -> None:
    assert LOCKED.reference("gateway") == f"10.203.0.2:5000/switchyard/gateway@{DIGEST}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "registry: r",
        "registry: r\nimages: {gateway: sha256}",
        "registry: r\nimages: {gateway: {inputs: short, digest: latest}}",
        f"registry: r\nimages: {{gateway: {{inputs: {'1' * 64}, digest: 'sha256:d', tag: x}}}}",
        "registry: [",
    ],
)
def test_a_lock_that_is_none_says_how_to_mend_it(text: str) -> None:
    with pytest.raises(ImageError, match=r"python -m images lock") as refused:
        parse(text)
    assert "\n" not in str(refused.value)


def test_both_files_are_written_and_unchanged_ones_left_alone(tmp_path: Path) -> None:
    assert read(tmp_path) is None
    write(tmp_path, LOCKED)
    assert read(tmp_path) == LOCKED
    before = [(tmp_path / path).stat().st_ino for path in (LOCK, COMPONENT)]
    write(tmp_path, LOCKED)
    assert [(tmp_path / path).stat().st_ino for path in (LOCK, COMPONENT)] == before
