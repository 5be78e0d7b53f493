"""Load PDF files: read them, cut them into passages, embed and store these.

A FOLDER stands for every PDF file below it. Without --department a file's folder names it.
Environment: DATABASE_URL (the role `loader`), EMBEDDER_MODEL (a folder; built where it can be).
Exit status: 0 all files loaded, 1 some were not, 2 none could be.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from apps.loader.errors import Unreadable
from apps.loader.limits import UPLOAD, Limits
from apps.loader.load import Source, load
from apps.loader.reader import Reader
from apps.loader.report import Progress, as_json, as_table

_DEPARTMENT = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class BadCommand(Exception):
    """The command line asks for something that cannot be: one line."""


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says."""
    chosen = _parser().parse_args(arguments)
    try:
        paths = _paths(chosen.files)
        if chosen.preview:
            return _preview(paths, chosen.preview)
        sources = _sources(paths, chosen.department, chosen.date, chosen.owner)
        return _load(sources, UPLOAD if chosen.owner else Limits(), chosen.output == "json")
    except BadCommand as error:
        print(f"loader: {error}", file=sys.stderr)
        return 2


_EXAMPLES = """\
examples:
  python -m apps.loader reports/ --output json
  python -m apps.loader letter.pdf --department medical --date 2026-03-31
  python -m apps.loader letter.pdf --preview letter.html
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m apps.loader",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE|FOLDER")
    parser.add_argument("--department", help="for all files, such as medical")
    parser.add_argument("--date", type=date.fromisoformat, help="of all reports, YYYY-MM-DD")
    parser.add_argument("--owner", metavar="CUSTOMER", help="their uploads (≤ 200 pages each)")
    parser.add_argument("--output", choices=("table", "json"), default="table")
    parser.add_argument(
        "--preview",
        type=Path,
        metavar="OUT.html",
        help="store nothing; show the pages with their blocks, rows and chunks drawn on them",
    )
    return parser


def _paths(files: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for file in files:
        paths = _below(file) if file.is_dir() else [file]
        if not paths:
            raise BadCommand(f"{file}: there is no PDF file below it; name another folder")
        found += paths
    return found


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".pdf")


def _sources(
    paths: Sequence[Path], department: str | None, day: date | None, owner: str | None
) -> list[Source]:
    found: list[Source] = []
    for path in paths:
        name = department or ("uploads" if owner else path.resolve().parent.name)
        if not _DEPARTMENT.fullmatch(name):
            raise BadCommand(f"{path}: {name!r} is no department's name; give --department")
        found.append(Source(path, name, day, owner))
    return found


def _load(sources: Sequence[Source], limits: Limits, json: bool) -> int:
    # Not at the top: whoever asks for help or a preview needs neither model nor database.
    import psycopg

    from apps.embedder import Embedder, EmbedderError, default_model
    from apps.loader.store import Database, NoDatabase, Passages, database_url

    progress = Progress(len(sources), sys.stderr)
    results = []
    try:
        with (
            Embedder.open(default_model()) as embedder,
            Database(database_url(), embedder) as database,
            Reader(limits) as reader,
        ):
            progress.step(0, sources[0].path.name)
            for result in load(sources, reader, Passages(embedder), database):
                results.append(result)
                coming = sources[len(results) :][:1]
                progress.step(len(results), coming[0].path.name if coming else "")
            database.finish()
    except (NoDatabase, EmbedderError) as error:
        raise BadCommand(str(error)) from None
    except psycopg.Error as error:
        why = (str(error).splitlines() or ["the connection was lost"])[0]
        raise BadCommand(f"after {len(results)} files: {why}; run it again") from None
    finally:
        progress.end()
    print(as_json(results) if json else as_table(results))
    return 1 if any(result.outcome == "failed" for result in results) else 0


def _preview(paths: Sequence[Path], out: Path) -> int:
    from apps.embedder import Embedder, EmbedderError, default_model
    from apps.loader.preview import preview
    from apps.loader.store import Passages

    try:
        with Embedder.open(default_model()) as embedder:
            text = preview(paths, Passages(embedder).count)
        out.write_text(text, "utf-8")
    except (Unreadable, EmbedderError) as error:
        raise BadCommand(str(error)) from None
    except OSError as error:
        raise BadCommand(f"{out}: {error.strerror}; choose another file") from None
    print(f"{out}: open it in a browser")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
