"""`make bench-loader`: rows, numbers and reading order on files with known contents; speed; memory.

100 files, 20 each from PyMuPDF, ReportLab, fpdf2, a browser's print and LibreOffice, half Chinese
and half English: ruled, half-ruled, zebra and plain tables, white heads on dark ground, wrapped
labels with values beside their top, middle or bottom, tables and single rows over two pages,
prose in two columns, pages turned by /Rotate and cropped. They are printed once, into the cache.

`rows_exact`: rows found with all their cells, of all true rows; the order of cells counts, white
space does not. `numbers_exact`: numbers of true rows found in a row with the right label. `order`:
paragraphs and rows that are found whole and after what they follow. A program that has two ways
to find tables is given the rows of both.

`pages_ratio`: pages a CPU second of ours (reading, tables, chunks; no embedding) over those of
bare `get_text("blocks")`, both one thread in this process, in turn, the median of the rounds; and
the same for each printer's files: the less a page's fonts cost, the more our part of it weighs.
`rss_growth_ratio`: the reading process's resident memory after FILES files over that after a
tenth of them, one process for all of them. Prints a table and one line of JSON last.
"""

import argparse
import hashlib
import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import pymupdf

from apps.loader.chunker import chunks
from apps.loader.file import read
from apps.loader.limits import Limits
from apps.loader.reader import Reader
from deploy.cluster.topology import cache_folder
from tests.bench.documents import ours
from tests.bench.documents.truth import Row, Score, row
from tests.bench.peers.installed import interpreter
from tests.bench.progress import say
from tests.reports.collection import PRINTERS, Printed, printed

ROOT = Path(__file__).parents[2]
PEERS = Path(__file__).parent / "documents" / "peers.py"
_MAKING = ("apps/loader/samples", "tests/reports")


def folder() -> Path:
    """Where the files are kept; another one when what prints them changes."""
    digest = hashlib.sha256()
    for place in _MAKING:
        for path in sorted((ROOT / place).rglob("*")):
            if path.suffix in (".py", ".txt", ".j2"):
                digest.update(path.read_bytes())
    return cache_folder() / "bench" / f"reports-{digest.hexdigest()[:16]}"


def judge_ours(files: Sequence[Printed], wrong: bool) -> tuple[Score, dict[str, Score]]:
    """The whole score, and one for each printer."""
    whole = Score()
    each = {printer: Score() for printer in PRINTERS}
    for one in files:
        rows, text = ours.extract(one.path)
        missing = whole.add(one.report, rows, text)
        each[one.printer].add(one.report, rows, text)
        for true in missing if wrong else ():
            say(f"  {one.path.name}: not found: {' | '.join(true)}")
    return whole, each


def judge_peer(program: str, python: Path, files: Sequence[Printed]) -> tuple[Score, float]:
    """Its score, and its pages a CPU second."""
    say(f"{program} reads {len(files)} files")
    command = [str(python), str(PEERS), program, *(str(one.path) for one in files)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{program} failed: {done.stderr.strip().splitlines()[-1:]}")
    score, pages, seconds = Score(), 0, 0.0
    for one, line in zip(files, _answers(done.stdout), strict=True):
        found: list[Row] = [row(cells) for cells in line["rows"]]
        score.add(one.report, found, line["text"])
        pages += line["pages"]
        seconds += line["cpu_s"]
    return score, pages / seconds


def _answers(output: str) -> list[dict]:
    """The JSON lines; the libraries print hints among them."""
    return [json.loads(line) for line in output.splitlines() if line.startswith('{"rows"')]


def bare(path: Path) -> int:
    """What everybody starts from; the number of pages."""
    with pymupdf.open(stream=path.read_bytes(), filetype="pdf") as document:
        for page in document:
            page.get_text("blocks")
        return len(document)


def whole(path: Path) -> int:
    """Everything the loader does before embedding."""
    reading = read(path, Limits())
    chunks(reading, len)
    return reading.pages


def rates(files: Sequence[Printed], rounds: int) -> tuple[float, float]:
    """Pages a CPU second: ours, bare."""
    found: dict[Callable[[Path], int], list[float]] = {whole: [], bare: []}
    for _ in range(rounds):
        for way, speeds in found.items():
            begun = time.process_time()
            pages = sum(way(one.path) for one in files)
            speeds.append(pages / (time.process_time() - begun))
    return median(found[whole]), median(found[bare])


def growth(files: Sequence[Printed], count: int) -> float:
    """Resident memory after `count` files over that after a tenth of them."""
    early, process = 0, None
    with Reader(Limits()) as reader:
        for at in range(count):
            reader.read(files[at % len(files)].path)
            process = process or reader.pid
            if at + 1 == count // 10:
                early = _resident(process)
        # Another one would have forgotten what the first had kept.
        if reader.pid != process:
            raise SystemExit(f"the reading process {process} ended while its memory was measured")
        return _resident(process) / early


def _resident(process: int | None) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--per-printer", type=int, default=20)
    parser.add_argument("--files", type=int, default=1000, help="for the memory (1000)")
    parser.add_argument("--rounds", type=int, default=7, help="for the speed (7)")
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--wrong", action="store_true", help="say which rows were not found")
    chosen = parser.parse_args()
    say("printing the reports (the browser takes a few seconds a file, once)")
    files = list(printed(folder(), chosen.per_printer))
    score, each = judge_ours(files, chosen.wrong)
    figures = score.shares("")
    lines = [("ours", figures, 0.0)]
    lines += [(f"  from {printer}", one.shares(""), 0.0) for printer, one in each.items()]
    fast, base = rates(files, chosen.rounds)
    for printer in PRINTERS:
        own, plain = rates([one for one in files if one.printer == printer], chosen.rounds)
        figures[f"pages_ratio_{printer}"] = round(own / plain, 3)
    figures["pages_ratio"] = round(fast / base, 3)
    figures["rss_growth_ratio"] = round(growth(files, chosen.files), 4)
    lines[0] = ("ours", lines[0][1], fast)
    for program in () if chosen.without_peers else ("pdfplumber", "pymupdf4llm"):
        other, speed = judge_peer(program, interpreter("documents"), files)
        lines.append((program, other.shares(""), speed))
        figures |= other.shares(f"_{program}")
    print(f"{len(files)} files, {score.rows} rows, {score.numbers} numbers")
    print(f"{'':20} {'rows':>7} {'numbers':>8} {'order':>7} {'pages/CPU s':>12}")
    for name, found, speed in lines:
        shown = f"{speed:12.1f}" if speed else ""
        print(f"{name:20} {found['rows_exact']:7.2%} {found['numbers_exact']:8.2%} "
              f"{found['order']:7.2%} {shown}")  # fmt: skip
    print(f"{'bare blocks':20} {'':7} {'':8} {'':7} {base:12.1f}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
