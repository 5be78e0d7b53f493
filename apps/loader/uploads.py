"""`python -m apps.loader.uploads`: load customers' uploads as they become whole.

Environment: DATABASE_URL (the role `loader`), EMBEDDER_MODEL.
"""

import hashlib
import logging
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg

from apps.embedder import Embedder, EmbedderError, default_model
from apps.loader import alive
from apps.loader.errors import Unreadable
from apps.loader.limits import UPLOAD
from apps.loader.load import Result, Source, load
from apps.loader.reader import Reader
from apps.loader.store import CONNECT_S, Database, NoDatabase, Passages, database_url

log = logging.getLogger(__name__)

DEPARTMENT = "uploads"
NAME = 60
"""Characters, of at most four bytes."""
WAIT_S = 20.0
REST_S = 2.0

_CLAIM = """
UPDATE documents.uploads SET state = 'loading', touched_at = now() WHERE id = (
  SELECT id FROM documents.uploads
   WHERE state = 'queued' OR (state = 'loading' AND touched_at < now() - interval '15 minutes')
   ORDER BY touched_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, customer, name, sha256"""


@dataclass(frozen=True, slots=True)
class Upload:
    """A customer's file that is whole; `sha256` is what the customer announced."""

    id: int
    customer: str
    name: str
    sha256: bytes


class Queue:
    """The uploads that wait, in PostgreSQL."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_S)
        self._connection.execute("LISTEN upload")

    def __enter__(self) -> "Queue":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def next(self) -> Upload | None:
        """Claim the one that waits longest; what a process that died had claimed comes again."""
        row = self._connection.execute(_CLAIM).fetchone()
        return Upload(*row) if row else None

    def wait(self, seconds: float) -> None:
        """Until there may be another one."""
        for _ in self._connection.notifies(timeout=seconds, stop_after=1):
            return

    def write(self, upload: Upload, path: Path) -> None:
        """Put the file together, a part at a time. Raises `Unreadable` if it is another file."""
        digest = hashlib.sha256()
        with path.open("wb") as file, self._connection.transaction():
            parts = self._connection.cursor("parts")
            parts.itersize = 1
            parts.execute(
                "SELECT content FROM documents.upload_parts WHERE upload = %s ORDER BY start",
                (upload.id,),
            )
            for (content,) in parts:
                file.write(content)
                digest.update(content)
        if digest.digest() != upload.sha256:
            raise Unreadable("changed", "its parts are not the file announced; send it again")

    def finish(self, upload: Upload, error: str) -> None:
        """Say what became of it; its parts go."""
        with self._connection.transaction():
            self._connection.execute(
                "UPDATE documents.uploads SET state = %s, error = %s, touched_at = now()"
                " WHERE id = %s AND sha256 = %s AND state = 'loading'",
                ("failed" if error else "loaded", error, upload.id, upload.sha256),
            )
            self._connection.execute(
                "DELETE FROM documents.upload_parts AS p USING documents.uploads AS u"
                " WHERE p.upload = u.id AND u.id = %s AND u.sha256 = %s",
                (upload.id, upload.sha256),
            )


def load_next(queue: Queue, reader: Reader, model: Passages, database: Database) -> bool:
    """Load one upload, if one waits; whether there was one."""
    upload = queue.next()
    if upload is None:
        return False
    with tempfile.TemporaryDirectory(prefix="upload-") as folder:
        # A name may have more bytes than a file's.
        path = Path(folder) / f"{upload.name.removesuffix('.pdf')[:NAME]}.pdf"
        try:
            queue.write(upload, path)
            source = Source(path, DEPARTMENT, owner=upload.customer, called=upload.name)
            (result,) = load([source], reader, model, database)
        except Unreadable as error:
            result = Result(upload.name, "failed", error=str(error))
        except OSError as error:
            why = f"not readable: it could not be put together ({error.strerror}); send it again"
            result = Result(upload.name, "failed", error=why)
    queue.finish(upload, result.error)
    # Neither the file's name nor its words: they are the customer's.
    log.warning("upload %d: %s, %d chunks", upload.id, result.outcome, result.chunks)
    return True


def serve(url: str, embedder: Embedder) -> None:
    """Load uploads until killed. Raises psycopg.Error when the database is lost."""
    with (
        Queue(url) as queue,
        Database(url, embedder) as database,
        Reader(UPLOAD) as reader,
    ):
        while True:
            alive.show()
            if not load_next(queue, reader, Passages(embedder), database):
                queue.wait(WAIT_S)


def main() -> int:
    """Serve for ever, trying again when the database is away."""
    logging.basicConfig(stream=sys.stderr, format="%(message)s")
    try:
        url = database_url(os.environ)
        with Embedder.open(default_model()) as embedder:
            while True:
                alive.show()
                try:
                    serve(url, embedder)
                except (NoDatabase, psycopg.Error) as error:
                    log.warning("uploads: %s", str(error).splitlines()[0] if str(error) else error)
                    time.sleep(REST_S)
    except (NoDatabase, EmbedderError) as error:
        print(f"uploads: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
