"""`make bench-attention`: one layer's causal attention, block-wise and unblocked.

Block-wise is the engine's own kernel over KV pages; unblocked is the textbook form in numpy, with
its [heads, tokens, tokens] scores. Each size of each form runs in a process of its own: seconds,
and by how many MB the process grew beyond its inputs. Shapes are the packaged model's: 9 heads
over 3 KV heads of 64.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from time import perf_counter

import numpy as np
import numpy.typing as npt

from apps.engine.core import PAGE
from apps.engine.native import load
from apps.engine.slices import ROWS
from apps.engine.threads import default_threads
from tests.bench.progress import say
from tests.unit.engine.native_attention import NativeAttention

F32 = npt.NDArray[np.float32]

TOKENS = (128, 256, 512, 1024, 2048, 4096, 8192)
HEADS, KV_HEADS, HEAD = 9, 3, 64
WIDTH = (HEADS + 2 * KV_HEADS) * HEAD
ROOT = Path(__file__).resolve().parents[2]


def blockwise(table: F32) -> Callable[[], F32]:
    """The engine's kernel, chunk by chunk as a prompt is read; gives the last chunk's rows."""
    count = len(table)
    pages = -(-count // PAGE)
    kernel = NativeAttention(table, HEADS, KV_HEADS, HEAD, pages=pages, rows=ROWS, mixes=0,
                             isa=load().available()[0], threads=default_threads())  # fmt: skip

    def run() -> F32:
        for at in range(0, count, ROWS):
            rows = range(at, min(at + ROWS, count))
            last = rows.stop == count
            out = kernel.step(rows, [(at, len(rows), range(pages))], last)
        return out

    return run


def unblocked(table: F32) -> Callable[[], F32]:
    """softmax(QKᵀ) V with the whole square of scores; gives as many last rows as `blockwise`."""
    count = len(table)
    heads = table.reshape(count, HEADS + 2 * KV_HEADS, HEAD).transpose(1, 0, 2)
    repeated = [np.repeat(part, HEADS // KV_HEADS, axis=0)
                for part in (heads[HEADS:-KV_HEADS], heads[-KV_HEADS:])]  # fmt: skip

    def run() -> F32:
        keys, values = repeated
        scores = heads[:HEADS] @ keys.transpose(0, 2, 1)
        scores *= np.float32(HEAD**-0.5)
        scores[:, np.triu(np.ones((count, count), bool), 1)] = -np.inf
        scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=2, keepdims=True)
        mixed: F32 = (scores @ values).transpose(1, 0, 2).reshape(count, -1)
        return mixed[(count - 1) // ROWS * ROWS :]

    return run


FORMS = {"blockwise": blockwise, "unblocked": unblocked}


def one(form: str, tokens: int, rounds: int) -> None:
    """Measure in this process; print seconds, MB and the sum of the result."""
    table = np.random.default_rng(1).standard_normal((tokens, WIDTH)).astype(np.float32)
    before = peak_mb()
    run = FORMS[form](table)
    seconds = []
    for _ in range(rounds):
        begun = perf_counter()
        out = run()
        seconds.append(perf_counter() - begun)
    grown = peak_mb() - before
    print(json.dumps({"s": median(seconds), "mb": grown, "sum": float(np.abs(out).sum())}))


def peak_mb() -> float:
    """The most memory that this process ever had resident."""
    return getrusage(RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def measure(form: str, tokens: int, rounds: int) -> dict[str, float]:
    argv = [sys.executable, "-m", "tests.bench.attention", "--one", form, str(tokens)]
    done = subprocess.run([*argv, "--rounds", str(rounds)], cwd=ROOT, check=True,
                          stdout=subprocess.PIPE, text=True)  # fmt: skip
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=2, metavar=("FORM", "TOKENS"), help="measure in here")
    wanted = parser.parse_args()
    if wanted.one:
        one(wanted.one[0], int(wanted.one[1]), wanted.rounds)
        return
    figures: dict[str, float] = {}
    say("tokens   blockwise s      MB   unblocked s      MB")
    for tokens in TOKENS:
        ours, theirs = (measure(form, tokens, wanted.rounds) for form in FORMS)
        if abs(ours["sum"] / theirs["sum"] - 1) > 1e-3:
            raise SystemExit(f"the two forms differ at {tokens} tokens: {ours}, {theirs}")
        say(f"{tokens:>6}  {ours['s']:>12.4f}{ours['mb']:>8.1f}"
            f"  {theirs['s']:>12.4f}{theirs['mb']:>8.1f}")  # fmt: skip
        for form, got in zip(FORMS, (ours, theirs), strict=True):
            figures[f"{form}_s_{tokens}"] = round(got["s"], 5)
            figures[f"{form}_mb_{tokens}"] = round(got["mb"], 2)
    print(json.dumps({"name": "bench-attention", "figures": figures}))


if __name__ == "__main__":
    main()
