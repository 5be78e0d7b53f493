"""Files of JSON lines, damaged ones too."""

import json
from pathlib import Path

import pytest

from observability.bpf.errors import TraceError
from observability.native import load
from observability.ring import Ring
from observability.session.reading import Reading, older_first


def test_a_damaged_line_costs_itself_alone(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_bytes(b'{"layer":"a"}\n{"lay\xff\n[1]\n{"x":1}\n{"layer":"b"}\n')
    reading = Reading([file])
    assert [record["layer"] for record in reading] == ["a", "b"]
    assert reading.bad == 3


def test_half_a_last_line_is_one_being_written(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text('{"layer":"a"}\n{"layer":')
    reading = Reading([file])
    assert len(list(reading)) == 1
    assert reading.bad == 0


def test_a_line_without_a_layer_is_the_rings(tmp_path: Path) -> None:
    file = tmp_path / "ring.jsonl"
    file.write_text(json.dumps({"request_id": "r"}) + "\n")
    assert list(Reading([file])) == [{"request_id": "r", "layer": "ring"}]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"cannot read .*none: No such file"):
        list(Reading([tmp_path / "none"]))


def test_the_file_put_aside_is_read_first(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    assert older_first(file) == [file]
    aside = tmp_path / "t.jsonl.1"
    aside.touch()
    assert older_first(file) == [aside, file]


def test_a_ring_is_read_as_it_lies(tmp_path: Path) -> None:
    file = tmp_path / "ring"
    ring = Ring(file, load())
    ring.append({"request_id": "r1", "intent": "complaint"})
    (record,) = Reading([file])
    assert record["layer"] == "ring"
    assert record["intent"] == "complaint"
