"""`make bench-questions`: does a question find its passage, in its own language and across?

The sample reports, printed and loaded by the loader's command into a PostgreSQL of this bench;
each question of tests/bench/questions asked as the pipeline asks it, as the role `assistant` under
row-level security: by the vector alone (`dense`), by words alone among all passages (`text`), and
by both (`hybrid`, what the product does). The settings were chosen on the half `choose`; the
figures are of the half `report`, hybrid: `recall5`, `recall5_cross` (zh→en and en→zh together),
`mrr` (of the first 10), `recall5_least` (of the worst direction), `cited` (a passage that the
pipeline cites answers) and `routed` (the intent model lets it be searched for).
"""

import argparse
import json
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from apps.embedder import Embedder, default_model
from apps.embedder.embedder import F32
from apps.loader.samples.library import library
from apps.loader.samples.paper import print_report
from apps.pipeline.intents.classifier import Classifier
from apps.pipeline.intents.train import ensure
from apps.pipeline.lookup import Lookup, chosen, is_about_documents, question
from apps.pipeline.text import language_of, normalise
from apps.retrieval.assertion import sign
from apps.retrieval.configuration import LOGIN_ROLES
from apps.retrieval.glossary import bilingual
from apps.retrieval.local import LocalServer
from apps.retrieval.migrate import migrate
from apps.retrieval.pool import Pool
from apps.retrieval.search import Passage, Query, search
from apps.retrieval.terms import shared
from tests.bench.progress import say
from tests.bench.questions.all import all_questions
from tests.bench.questions.question import Question

DIRECTIONS = ("zh→zh", "en→en", "zh→en", "en→zh")
DEPTH = 10
ROOT = Path(__file__).resolve().parents[2]

Found = list[tuple[str, str]]
"""(document, text) of passages, the best first."""


@dataclass(frozen=True)
class Asked:
    """A question as it is searched with."""

    question: Question
    language: str
    lookup: Lookup
    words: str
    vector: F32


def ranks(asked: Sequence[Asked], find: Callable[[Asked], Found]) -> list[int]:
    """For each question the rank (from 1) of the first passage that answers it, or 0."""
    found = []
    for one in asked:
        places = enumerate(find(one), start=1)
        found.append(next((at for at, it in places if one.question.is_answered_by(*it)), 0))
    return found


def recall5(found: Sequence[int]) -> float:
    """The share of ranks from 1 to 5."""
    return float(np.mean([1 <= rank <= 5 for rank in found]))


def mrr(found: Sequence[int]) -> float:
    """The mean of 1 / rank; 0 for what was not found."""
    return float(np.mean([1 / rank if rank else 0.0 for rank in found]))


def show(way: str, split: str, asked: Sequence[Asked], found: list[int]) -> None:
    """One line of the table."""
    cells = []
    for direction in DIRECTIONS:
        mine = _of(asked, found, direction)
        cells.append(f"{recall5(mine):6.3f} ({len(mine)})")
    print(f"{split:7} {way:7} {recall5(found):6.3f} {mrr(found):6.3f}  {'  '.join(cells)}")


def _of(asked: Sequence[Asked], found: Sequence[int], *directions: str) -> list[int]:
    pairs = zip(asked, found, strict=True)
    return [rank for one, rank in pairs if one.question.direction in directions]


def ways(pool: Pool, assertion: str, model: str) -> Iterator[tuple[str, Callable[[Asked], Found]]]:
    """The three ways to search."""

    def query(one: Asked, words: str) -> Found:
        return _places(_passages(pool, assertion, model, one, words, DEPTH))

    with pool.transaction(assertion) as connection:
        rows = connection.execute(
            "SELECT d.name, c.text, c.search_text"
            "  FROM documents.chunks AS c JOIN documents.documents AS d ON d.id = c.document"
        ).fetchall()
    passages = [(str(name), str(text)) for name, text, _ in rows]
    search_texts = [str(text) for _, _, text in rows]

    def by_words(one: Asked) -> Found:
        scores = shared(one.words, search_texts)
        order = sorted(range(len(scores)), key=lambda at: -scores[at])[:DEPTH]
        return [passages[at] for at in order if scores[at] > 0]

    yield "dense", lambda one: query(one, "")
    yield "text", by_words
    yield "hybrid", lambda one: query(one, one.words)


def prepared(embedder: Embedder) -> list[Asked]:
    """Every question with its vector."""
    questions = all_questions()
    languages = [language_of(one.text) for one in questions]
    asked = zip(questions, languages, strict=True)
    lookups = [Lookup(question(one.text, language)) for one, language in asked]
    words = [
        bilingual(*each) for each in zip((one.text for one in lookups), languages, strict=True)
    ]
    vectors = embedder.embed(words, "query").vectors
    return [
        Asked(*each) for each in zip(questions, languages, lookups, words, vectors, strict=True)
    ]


def cited(pool: Pool, assertion: str, model: str, asked: Sequence[Asked]) -> float:
    """The share that a passage answers which the pipeline cites."""

    def find(one: Asked) -> Found:
        found = _passages(pool, assertion, model, one, one.words, one.lookup.find)
        return _places(chosen(one.lookup, one.language, found).passages)

    return float(np.mean([rank > 0 for rank in ranks(asked, find)]))


def routed(asked: Sequence[Asked]) -> float:
    """The share that is searched for at all, as the intent model decides."""
    classifier = Classifier.load(ensure())
    texts = [normalise(one.question.text) for one in asked]
    intents = [(*classifier.intent(text), text) for text in texts]
    return float(np.mean([is_about_documents(*one) for one in intents]))


def _passages(
    pool: Pool, assertion: str, model: str, one: Asked, words: str, limit: int
) -> list[Passage]:
    wanted = Query(one.vector, model, one.language, words, limit=limit)
    return search(pool, assertion, wanted)


def _places(passages: Sequence[Passage]) -> Found:
    return [(passage.document, passage.text) for passage in passages]


def load(folder: Path, url: str) -> None:
    """Print the sample reports and load them by the command that everybody uses."""
    for report in library():
        place = folder / report.department
        place.mkdir(parents=True, exist_ok=True)
        print_report(report, place / f"{report.name}.pdf")
    command = [sys.executable, "-m", "apps.loader", folder]
    done = subprocess.run(
        command, cwd=ROOT, env=environ | {"DATABASE_URL": url}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"the loader failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    say(done.stdout.strip().splitlines()[-2])


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    password, key = secrets.token_hex(16), secrets.token_bytes(32)
    passwords = {role: secrets.token_hex(16) for role in LOGIN_ROLES}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="switchyard-bench-")))
        folder.chmod(0o755)
        server = stack.enter_context(LocalServer(folder / "postgres", password))
        migrate(server.url("postgres", password), passwords, key, {})
        load(folder / "samples", server.url("loader", passwords["loader"]))
        embedder = stack.enter_context(Embedder.open(default_model()))
        say("embedding the questions")
        asked = prepared(embedder)
        url = server.url("assistant", passwords["assistant"])
        pool = stack.enter_context(Pool(url, size=1, deadline_s=60, read_only=True))
        assertion = sign(key, "s-zh", "bench", int(time.time()) + 890)
        print(f"{'half':7} {'way':7} {'r@5':>6} {'mrr':>6}  "
              + "  ".join(f"{name:>12}" for name in DIRECTIONS))  # fmt: skip
        for way, find in ways(pool, assertion, embedder.model):
            for split in ("choose", "report"):
                mine = [one for one in asked if one.question.split == split]
                found = ranks(mine, find)
                show(way, split, mine, found)
        # The last were of the product's way and of the half that is reported.
        figures = {
            "recall5": recall5(found),
            "recall5_cross": recall5(_of(mine, found, "zh→en", "en→zh")),
            "recall5_least": min(recall5(_of(mine, found, one)) for one in DIRECTIONS),
            "mrr": mrr(found),
            "cited": cited(pool, assertion, embedder.model, mine),
            "routed": routed(mine),
        }
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
