"""The loader as its users run it: the command, a real model, a real PostgreSQL."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from apps.loader.samples.library import library
from apps.loader.samples.paper import print_report
from tests.fixtures.postgres import Postgres

NAMES = ("blood-sugar.zh", "blood-lipids.en")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "medical"
    place.mkdir()
    for report in library():
        if report.name in NAMES:
            print_report(report, place / f"{report.name}.pdf")
    return place


def loader(postgres: Postgres, *words: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DATABASE_URL": postgres.url("loader")}
    command = [sys.executable, "-m", "apps.loader", *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def rows(postgres: Postgres, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(postgres.superuser_url) as connection:
        return connection.execute(query).fetchall()  # type: ignore[arg-type]


def test_reports_are_loaded_whole_and_known_again(postgres: Postgres, folder: Path) -> None:
    done = loader(postgres, folder, "--output", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["totals"]["outcomes"] == {"added": 2}
    assert report["totals"]["skipped"] == {"cover": 2, "table of contents": 2}

    found = rows(
        postgres,
        "SELECT d.name, d.department, d.reported_on::text, d.language, count(v.embedding_a)"
        " FROM documents.documents d JOIN documents.chunks c ON c.document = d.id"
        " JOIN documents.vectors v ON v.chunk = c.id GROUP BY d.id ORDER BY d.name",
    )
    assert [row[:4] for row in found] == [
        ("blood-lipids.en.pdf", "medical", "2026-04-02", "en"),
        ("blood-sugar.zh.pdf", "medical", "2026-03-15", "zh"),
    ]
    chunks = {each["name"]: each["chunks"] for each in report["files"]}
    assert [row[4] for row in found] == [chunks[str(row[0])] for row in found]

    again = loader(postgres, folder, "--output", "json")
    assert json.loads(again.stdout)["totals"]["outcomes"] == {"unchanged": 2}


def test_a_row_knows_its_page_and_box(postgres: Postgres, folder: Path) -> None:
    loader(postgres, folder)
    ((text, boxes, section),) = rows(
        postgres,
        "SELECT text, boxes, section FROM documents.chunks"
        " WHERE kind = 'table_row' AND text LIKE '%孕妇%'",
    )
    assert text == "人群 | 下限 | 上限 | 建议复查间隔\n孕妇 | 3.3 | 5.1 | 1个月"
    assert section == ["1 空腹血糖"]
    (box,) = boxes  # type: ignore[misc]
    assert box["page"] == 3
    assert 60 < box["x0"] < box["x1"] < 540
    assert 10 < box["y1"] - box["y0"] < 16


def test_a_newer_version_replaces_the_document(postgres: Postgres, folder: Path) -> None:
    loader(postgres, folder)
    newer = next(report for report in library() if report.name == "blood-count.en")
    print_report(newer, folder / "blood-sugar.zh.pdf")
    done = loader(postgres, folder, "--output", "json")
    assert json.loads(done.stdout)["totals"]["outcomes"] == {"unchanged": 1, "replaced": 1}
    assert rows(postgres, "SELECT count(*) FROM documents.chunks WHERE text LIKE '%空腹%'") == [
        (0,)
    ]


def test_killed_while_it_stores_a_document_is_absent_and_the_next_run_loads_it(
    postgres: Postgres, folder: Path
) -> None:
    environment = {**os.environ, "DATABASE_URL": postgres.url("loader")}
    command = [sys.executable, "-m", "apps.loader", str(folder)]
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        " AND usename = 'loader'"
    )
    with psycopg.connect(postgres.superuser_url) as holder:
        # Its document and chunks are written by then, its vectors are not.
        holder.execute("LOCK TABLE documents.vectors IN ACCESS EXCLUSIVE MODE")
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while rows(postgres, waiting) != [(1,)]:
            assert process.poll() is None, "it ended without storing anything"
            assert time.monotonic() < deadline, "it never came to the vectors"
            time.sleep(0.1)
        process.kill()
        process.wait(10)
    for table in ("documents", "chunks", "vectors"):
        assert rows(postgres, f"SELECT count(*) FROM documents.{table}") == [(0,)]
    done = loader(postgres, folder, "--output", "json")
    assert json.loads(done.stdout)["totals"]["outcomes"] == {"added": 2}


def test_bad_files_are_reported_and_the_others_loaded(postgres: Postgres, folder: Path) -> None:
    (folder / "empty.pdf").write_bytes(b"")
    (folder / "noise.pdf").write_bytes(b"%PDF-1.7 " + bytes(range(256)) * 40)
    done = loader(postgres, folder)
    assert done.returncode == 1
    assert "empty: it has no bytes; copy it again" in done.stdout
    assert "4 files (2 added, 2 failed)" in done.stdout
    assert rows(postgres, "SELECT count(*) FROM documents.documents") == [(2,)]


def test_an_upload_is_its_owners_row(postgres: Postgres, folder: Path) -> None:
    done = loader(postgres, folder / "blood-lipids.en.pdf", "--owner", "c-1001")
    assert done.returncode == 0, done.stderr
    assert rows(postgres, "SELECT owner, department FROM documents.documents") == [
        ("c-1001", "uploads")
    ]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "DATABASE_URL is missing"),
        ("postgresql://loader:x@127.0.0.1:1/switchyard", "loader: "),
    ],
)
def test_without_a_database_there_is_one_line(folder: Path, url: str, words: str) -> None:
    environment = {**os.environ, "DATABASE_URL": url}
    command = [sys.executable, "-m", "apps.loader", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
