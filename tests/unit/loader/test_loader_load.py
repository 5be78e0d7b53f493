"""A run over many files: each gets its row, a bad one stops no other."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from apps.loader.chunk import Document
from apps.loader.errors import Unreadable
from apps.loader.file import Reading
from apps.loader.limits import Limits
from apps.loader.load import BATCH, F32, Result, Source, load
from apps.loader.report import as_json, as_table, totals
from apps.loader.wire import decode, encode
from tests.unit.loader.readings import heading, paragraph, reading, table


class FakeReader:
    """Gives what the file's name says."""

    limits = Limits(bytes=1000)

    def read(self, path: Path) -> Reading:
        if path.stem.startswith("bad"):
            raise Unreadable("encrypted", "it needs a password; save it without one")
        if path.stem.startswith("scan"):
            return reading()
        many = [paragraph("A sentence about claims. " * 9) for _ in range(400)]
        return reading(*(many if path.stem == "long" else [paragraph("Claims are paid.")]))


class FakeModel:
    def __init__(self) -> None:
        self.batches: list[int] = []

    def count(self, text: str) -> int:
        return len(text) // 4

    def embed(self, texts: Sequence[str]) -> F32:
        self.batches.append(len(texts))
        return np.ones((len(texts), 384), np.float32)


class FakeStore:
    def __init__(self) -> None:
        self.kept: dict[str, Document] = {}

    def has(self, sha3: str, name: str, owner: str | None) -> bool:
        return name in self.kept

    def put(self, document: Document, vectors: F32) -> str:
        assert len(vectors) == len(document.chunks)
        self.kept[document.name] = document
        return "added"


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


def run(
    folder: Path, store: FakeStore, *names: str, model: FakeModel | None = None
) -> list[Result]:
    sources = []
    for name in names:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"%PDF-")
        sources.append(Source(path, "medical", owner="c-1001"))
    return list(load(sources, FakeReader(), model or FakeModel(), store))  # type: ignore[arg-type]


def test_a_bad_file_gets_one_line_and_the_others_go_on(tmp_path: Path, store: FakeStore) -> None:
    results = run(tmp_path, store, "a.pdf", "bad.pdf", "scan.pdf", "b.pdf")
    assert [result.outcome for result in results] == ["added", "failed", "failed", "added"]
    assert results[1].error == "encrypted: it needs a password; save it without one"
    assert results[2].error.startswith("no text: nothing to store: 3 pages, 1 cover")
    assert set(store.kept) == {"a.pdf", "b.pdf"}


def test_a_file_that_is_gone_gets_one_line(tmp_path: Path, store: FakeStore) -> None:
    source = Source(tmp_path / "none.pdf", "medical")
    (result,) = load([source], FakeReader(), FakeModel(), store)  # type: ignore[arg-type]
    assert result.error == "not readable: No such file or directory; look at its path"


def test_a_pipe_and_a_folder_are_no_files(tmp_path: Path, store: FakeStore) -> None:
    """A read from a pipe would wait for ever."""
    os.mkfifo(tmp_path / "pipe.pdf")
    (tmp_path / "folder.pdf").mkdir()
    sources = [Source(tmp_path / name, "medical") for name in ("pipe.pdf", "folder.pdf")]
    results = list(load(sources, FakeReader(), FakeModel(), store))  # type: ignore[arg-type]
    assert [result.error for result in results] == [
        "not readable: it is no plain file; name another one"
    ] * 2


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path, store: FakeStore) -> None:
    path = tmp_path / "huge.pdf"
    with path.open("wb") as file:
        file.truncate(1 << 34)
    (result,) = load([Source(path, "medical")], FakeReader(), FakeModel(), store)  # type: ignore[arg-type]
    assert result.error.startswith("too large")


def test_a_name_that_is_no_text_is_refused_and_shown(tmp_path: Path, store: FakeStore) -> None:
    path = tmp_path / os.fsdecode(b"bad\xff.pdf")
    path.write_bytes(b"%PDF-")
    (result,) = load([Source(path, "medical")], FakeReader(), FakeModel(), store)  # type: ignore[arg-type]
    assert (result.name, result.outcome) == ("bad?.pdf", "failed")
    assert "bad?.pdf" in as_table([result])


def test_a_file_of_too_many_passages_is_refused(tmp_path: Path, store: FakeStore) -> None:
    reader = FakeReader()
    reader.limits = Limits(chunks=3)
    paths = [tmp_path / name for name in ("long.pdf", "good.pdf")]
    for path in paths:
        path.write_bytes(b"%PDF-")
    sources = [Source(path, "medical") for path in paths]
    bad, good = load(sources, reader, FakeModel(), store)  # type: ignore[arg-type]
    assert bad.error == "too large: it gives more than 3 passages; split it"
    assert good.outcome == "added"


def test_a_file_that_is_stored_is_neither_read_nor_embedded(
    tmp_path: Path, store: FakeStore
) -> None:
    run(tmp_path, store, "a.pdf")
    model = FakeModel()
    (result,) = run(tmp_path, store, "a.pdf", model=model)
    assert (result.outcome, model.batches) == ("unchanged", [])


def test_two_files_of_one_name_do_not_replace_each_other(tmp_path: Path, store: FakeStore) -> None:
    results = run(tmp_path, store, "x/a.pdf", "y/a.pdf")
    assert [result.outcome for result in results] == ["added", "failed"]
    assert results[1].error.startswith("named twice")


def test_vectors_are_made_in_batches(tmp_path: Path, store: FakeStore) -> None:
    model = FakeModel()
    (result,) = run(tmp_path, store, "long.pdf", model=model)
    assert sum(model.batches) == result.chunks > BATCH
    assert max(model.batches) == BATCH


def test_an_upload_is_its_customers(tmp_path: Path, store: FakeStore) -> None:
    run(tmp_path, store, "a.pdf")
    assert store.kept["a.pdf"].owner == "c-1001"
    assert store.kept["a.pdf"].report == {
        "pages": 3,
        "skipped": {"cover": 1},
        "hidden": {"not painted": 5},
        "repaired": False,
    }


def test_the_report_says_what_was_left_out_and_why(tmp_path: Path, store: FakeStore) -> None:
    results = run(tmp_path, store, "a.pdf", "bad.pdf")
    text = as_table(results)
    assert "2 files (1 added, 1 failed): 3 pages, 1 chunks" in text
    assert "pages left out: 1 cover" in text
    assert "characters that nobody sees, left out: 5 not painted" in text
    assert json.loads(as_json(results))["totals"] == totals(results)


def test_a_reading_crosses_to_the_loader_unchanged() -> None:
    sent = reading(heading("A"), paragraph("text", 1, 2), table(["x"], ["1", "2"], title="t"))
    assert decode(encode(sent)) == sent
    with pytest.raises(Unreadable, match="encrypted: locked"):
        decode(encode(Unreadable("encrypted", "locked")))
