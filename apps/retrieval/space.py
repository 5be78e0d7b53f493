"""Which column of `documents.vectors` holds which model's vectors.

There are two, as there are two lanes: while one release searches its column, the next release's
loader fills the other in the background, and each search reads the column of its own model. A
column counts from the moment it is ready, and is free again once its model is retired:

    python -m apps.retrieval.space            # what is in which column
    python -m apps.retrieval.space retire MODEL
"""

import argparse
import os
import sys
from dataclasses import dataclass
from typing import LiteralString

import psycopg

from apps.retrieval.pool import Connection

DIMENSIONS = 384
COLUMNS: dict[str, LiteralString] = {"a": "embedding_a", "b": "embedding_b"}


class NoSpace(Exception):
    """Both columns hold other models' vectors; `str()` is one line with what to do next."""


@dataclass(frozen=True, slots=True)
class Space:
    """Where one model's vectors are; `ready` once every chunk has one."""

    slot: str
    model: str
    ready: bool

    @property
    def column(self) -> LiteralString:
        """The column of documents.vectors."""
        return COLUMNS[self.slot]


def spaces(connection: Connection) -> list[Space]:
    """The columns in use."""
    rows = connection.execute("SELECT slot, model, ready FROM documents.spaces ORDER BY slot")
    return [Space(str(slot), str(model), bool(ready)) for slot, model, ready in rows]


def claim(connection: Connection, model: str) -> Space:
    """The column of `model`, which is taken for it if it has none. Raises `NoSpace`."""
    for slot in COLUMNS:
        connection.execute(
            "INSERT INTO documents.spaces (slot, model, ready)"
            # Where there is no chunk yet, every chunk has its vector.
            " VALUES (%s, %s, NOT EXISTS (SELECT FROM documents.vectors)) ON CONFLICT DO NOTHING",
            (slot, model),
        )
    found = {space.model: space for space in spaces(connection)}
    if model not in found:
        raise NoSpace(
            f"no column is free for {model}; free one that no lane uses: "
            f"python -m apps.retrieval.space retire {' | '.join(found)}"
        )
    return found[model]


def set_ready(connection: Connection, space: Space) -> None:
    """Let `space` be searched."""
    connection.execute(
        "UPDATE documents.spaces SET ready = true WHERE model = %s AND NOT ready", (space.model,)
    )


def retire(connection: Connection, model: str) -> None:
    """Forget all of the model's vectors, so that its column can be taken for another."""
    space = next((space for space in spaces(connection) if space.model == model), None)
    if space is None:
        raise NoSpace(f"no column holds {model}; see python -m apps.retrieval.space")
    with connection.transaction():
        connection.execute("DELETE FROM documents.spaces WHERE model = %s", (model,))
        connection.execute(
            psycopg.sql.SQL("UPDATE documents.vectors SET {0} = NULL WHERE {0} IS NOT NULL").format(
                psycopg.sql.Identifier(space.column)
            )
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m apps.retrieval.space",
        description="Show which model's vectors each column holds.",
        epilog="example: python -m apps.retrieval.space retire MODEL",
    )
    commands = parser.add_subparsers(dest="command")
    old = commands.add_parser("retire", help="forget a model's vectors, to free their column")
    old.add_argument("model", metavar="MODEL", help="as shown without a command")
    return parser


def main(arguments: list[str]) -> int:
    """0, or 1 with one line on standard error; reads DATABASE_URL (of the role `loader`)."""
    chosen = _parser().parse_args(arguments)
    try:
        with psycopg.connect(os.environ.get("DATABASE_URL", "")) as connection:
            if chosen.command:
                retire(connection, chosen.model)
            for space in spaces(connection):
                print(f"{space.column}  {'ready' if space.ready else 'filling'}  {space.model}")
    except (NoSpace, psycopg.Error) as error:
        print(f"space: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
