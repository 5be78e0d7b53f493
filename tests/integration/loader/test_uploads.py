"""A customer's upload from its first part to its passages, on a real database."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest

from apps.embedder import Embedder, default_model
from apps.gateway.directory import Directory, Uploaded
from apps.gateway.part import Part
from apps.gateway.refusal import Refusal
from apps.loader.limits import UPLOAD
from apps.loader.reader import Reader
from apps.loader.samples.library import library
from apps.loader.samples.paper import print_report
from apps.loader.store import Database, Passages
from apps.loader.uploads import Queue, load_next
from tests.fixtures.postgres import Postgres

STEP = 3000


@pytest.fixture(scope="module")
def embedder() -> Iterator[Embedder]:
    with Embedder.open(default_model(), threads=1) as embedder:
        yield embedder


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    report = next(one for one in library() if one.name == "blood-sugar.zh")
    path = tmp_path_factory.mktemp("print") / "a.pdf"
    print_report(report, path)
    return path.read_bytes()


@pytest.fixture
def next_upload(postgres: Postgres, embedder: Embedder) -> Iterator[Callable[[], bool]]:
    with psycopg.connect(postgres.superuser_url) as connection:
        connection.execute("TRUNCATE documents.uploads CASCADE")
    with ExitStack() as stack:
        queue = stack.enter_context(Queue(postgres.url("loader")))
        database = stack.enter_context(Database(postgres.url("loader"), embedder))
        reader = stack.enter_context(Reader(UPLOAD))
        yield lambda: load_next(queue, reader, Passages(embedder), database)


def part_of(content: bytes, start: int | None, name: str = "化验单.pdf") -> tuple[Part, bytes]:
    digest = hashlib.sha256(content).digest()
    if start is None:
        return Part(name, digest, len(content), None, 0), b""
    body = content[start : start + STEP]
    return Part(name, digest, len(content), start, start + len(body)), body


def send(postgres: Postgres, *parts: tuple[Part, bytes], customer: str = "c-1001") -> Uploaded:
    """What the gateway's directory answers to the last part."""

    async def run() -> Uploaded:
        directory = Directory(postgres.url("gateway"))
        await directory.open()
        try:
            for part, body in parts:
                answer = await directory.take_part(customer, part, body)
            return answer
        finally:
            await directory.close()

    return asyncio.run(run())


def whole(content: bytes, name: str = "化验单.pdf") -> list[tuple[Part, bytes]]:
    return [part_of(content, start, name) for start in range(0, len(content), STEP)]


def rows(postgres: Postgres, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(postgres.superuser_url) as connection:
        return connection.execute(query).fetchall()  # type: ignore[arg-type]


def test_an_upload_becomes_its_customers_document(
    postgres: Postgres, content: bytes, next_upload: Callable[[], bool]
) -> None:
    size = len(content)
    assert send(postgres, *whole(content)) == Uploaded(size, "queued", "")
    assert next_upload()
    assert not next_upload()
    assert send(postgres, part_of(content, None)) == Uploaded(size, "loaded", "")
    assert rows(postgres, "SELECT customer, name, department FROM documents.documents") == [
        ("c-1001", "化验单.pdf", "uploads")
    ]
    assert rows(postgres, "SELECT count(*) FROM documents.upload_parts") == [(0,)]


def test_it_is_gone_on_with_after_a_break(
    postgres: Postgres, content: bytes, next_upload: Callable[[], bool]
) -> None:
    parts = whole(content)
    assert send(postgres, parts[0]) == Uploaded(STEP, "receiving", "")
    # The reply was lost: the same part again, and one that is ahead of its turn.
    assert send(postgres, parts[0]) == Uploaded(STEP, "receiving", "")
    assert send(postgres, parts[2]) == Uploaded(STEP, "receiving", "")
    assert send(postgres, part_of(content, None)) == Uploaded(STEP, "receiving", "")
    assert send(postgres, *parts[1:]).state == "queued"
    assert next_upload()
    assert send(postgres, part_of(content, None)).state == "loaded"


def test_a_file_that_cannot_be_read_says_why(
    postgres: Postgres, next_upload: Callable[[], bool]
) -> None:
    noise = b"%PDF-1.7 " + bytes(range(256)) * 9
    send(postgres, part_of(noise, 0))
    assert next_upload()
    answer = send(postgres, part_of(noise, None))
    assert answer.state == "failed"
    assert answer.error.startswith("damaged: ")
    # Sent again from its first byte, it is taken again.
    assert send(postgres, part_of(noise, 0)).state == "queued"


def test_parts_that_are_not_the_announced_file_are_not_loaded(
    postgres: Postgres, content: bytes, next_upload: Callable[[], bool]
) -> None:
    parts = whole(content)
    parts[1] = (parts[1][0], bytes(len(parts[1][1])))
    send(postgres, *parts)
    assert next_upload()
    assert "not the file announced" in send(postgres, part_of(content, None)).error
    assert rows(postgres, "SELECT count(*) FROM documents.documents") == [(0,)]


def test_another_file_of_the_same_name_begins_anew_and_replaces(
    postgres: Postgres, content: bytes, next_upload: Callable[[], bool]
) -> None:
    send(postgres, *whole(content))
    assert next_upload()
    newer = content + b"\n% a newer version\n"
    assert send(postgres, part_of(newer, 0)) == Uploaded(STEP, "receiving", "")
    send(postgres, *whole(newer))
    assert next_upload()
    assert rows(postgres, "SELECT count(*) FROM documents.documents") == [(1,)]


def test_customers_do_not_meet(postgres: Postgres, content: bytes, next_upload: object) -> None:
    send(postgres, whole(content)[0], customer="c-1001")
    assert send(postgres, part_of(content, None), customer="c-1002").received == 0


def test_there_is_an_end_to_uploads_under_way(
    postgres: Postgres, content: bytes, next_upload: object
) -> None:
    for number in range(4):
        send(postgres, part_of(content, 0, f"{number}.pdf"))
    with pytest.raises(Refusal, match="too many uploads") as caught:
        send(postgres, part_of(content, 0, "one-more.pdf"))
    assert caught.value.http == 429


def test_what_a_process_that_died_had_claimed_is_loaded_later(
    postgres: Postgres, content: bytes, next_upload: Callable[[], bool]
) -> None:
    send(postgres, *whole(content))
    with psycopg.connect(postgres.superuser_url) as connection:
        connection.execute(
            "UPDATE documents.uploads SET state = 'loading',"
            " touched_at = now() - interval '16 minutes'"
        )
    assert next_upload()


@pytest.mark.parametrize("role", ["gateway", "assistant", "tickets"])
def test_no_other_role_reads_uploads(postgres: Postgres, role: str, next_upload: object) -> None:
    denied = pytest.raises(psycopg.errors.InsufficientPrivilege)
    with psycopg.connect(postgres.url(role)) as connection, denied:
        connection.execute("SELECT * FROM documents.uploads")


def test_a_folder_is_no_part_of_a_name(postgres: Postgres) -> None:
    refused = pytest.raises(psycopg.errors.CheckViolation)
    with psycopg.connect(postgres.superuser_url) as connection, refused:
        connection.execute(
            "SELECT documents.take_part('c-1001', '../a.pdf', sha256(''), 9, 0, 'x')"
        )


@pytest.mark.parametrize("name", [f"{'化' * 200}.pdf", f"{'😀' * 200}.pdf"])
def test_a_name_may_be_longer_than_a_files(
    postgres: Postgres, content: bytes, next_upload: Callable[[], bool], name: str
) -> None:
    send(postgres, *whole(content, name))
    assert next_upload()
    assert send(postgres, part_of(content, None, name)).state == "loaded"
    found = rows(postgres, "SELECT name FROM documents.documents WHERE owner = 'c-1001'")
    assert (name,) in found


def test_a_file_that_cannot_be_put_together_fails_alone(
    postgres: Postgres,
    content: bytes,
    next_upload: Callable[[], bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    send(postgres, *whole(content))
    with monkeypatch.context() as broken:
        broken.setattr(Queue, "write", full)
        assert next_upload()
    answer = send(postgres, part_of(content, None))
    assert answer.state == "failed"
    assert "No space left on device" in answer.error
