"""`make bench-engine`: our core and llama.cpp on the same file, in turn, in the same run.

Each has a process of its own, the same threads and a context of 2,048 tokens. A round starts both
anew (load; ours also in two parts: opening with its checks and tokeniser, and the core), then
measures each in turn: decode (128 tokens after 128), prefill (512), first token (128, warm); then
again beside a busy process on one core; then ours alone: 4 sessions in common steps, two engines
at once, and the AVX2 kernels. Medians of the rounds; a ratio is the median of the rounds' ratios.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter

from apps.engine.model import Model, default_path
from tests.bench.contest.contestant import Contestant
from tests.bench.peers import llamacpp
from tests.bench.progress import say

PROMPT = 128
COUNT = 128
LONG = 512
SESSIONS = 4
TEXT = Path(__file__).with_name("corpus") / "english.txt"

Figures = dict[str, float]


class Contest:
    """The file, the threads and the prompts that all measurements share."""

    def __init__(self, file: Path, threads: int, peer: Path) -> None:
        self.file = file
        self.threads = threads
        self.peer = peer
        self.tokens = Model.open(file).tokenizer.encode(TEXT.read_text("utf-8"))[:LONG]

    def ours(self, **environment: str) -> Contestant:
        return Contestant("ours", Path(sys.executable), "tests.bench.contest.ours",
                          self.file, self.threads, environment)  # fmt: skip

    def llamacpp(self) -> Contestant:
        return Contestant("llama.cpp", self.peer, "tests.bench.contest.llamacpp",
                          self.file, self.threads)  # fmt: skip

    def decode(self, contestant: Contestant) -> float:
        """Tokens a second."""
        return self._per_s(contestant.ask("decode", tokens=self.tokens[:PROMPT], count=COUNT))

    def prefill(self, contestant: Contestant) -> float:
        """Tokens a second."""
        return self._per_s(contestant.ask("prefill", tokens=self.tokens))

    def first_token(self, contestant: Contestant) -> float:
        """Milliseconds."""
        return float(contestant.ask("prefill", tokens=self.tokens[:PROMPT])["ms"])

    def _per_s(self, result: dict[str, float]) -> float:
        return result["per_s"]


def one_round(contest: Contest, number: int) -> Figures:
    """All measurements once; who goes first alternates."""
    figures: Figures = {}
    with contest.ours() as ours, contest.llamacpp() as theirs:
        pair = [("", ours), ("_llamacpp", theirs)]
        for end, contestant in pair:
            figures["load_s" + end] = contestant.loaded["load_s"]
            contest.first_token(contestant)
        figures |= ours.ask("loading")
        if number % 2:
            pair.reverse()
        for end, contestant in pair:
            figures["decode" + end] = contest.decode(contestant)
        for end, contestant in pair:
            figures["prefill" + end] = contest.prefill(contestant)
        for end, contestant in pair:
            figures["first_token_ms" + end] = contest.first_token(contestant)
        for end, contestant in pair:
            for name, value in contestant.ask("memory").items():
                figures[name + end] = value
        with busy_core():
            for end, contestant in pair:
                figures["busy_decode" + end] = contest.decode(contestant)
            for end, contestant in pair:
                figures["busy_prefill" + end] = contest.prefill(contestant)
        figures |= alone(contest, ours)
    with contest.ours(ENGINE_ISA="avx2") as avx2:
        contest.first_token(avx2)
        figures["avx2_decode"] = contest.decode(avx2)
        figures["avx2_prefill"] = contest.prefill(avx2)
    return figures


def alone(contest: Contest, ours: Contestant) -> Figures:
    """Sessions in common steps, and a second engine at the same time."""
    figures: Figures = {}
    how = {"tokens": contest.tokens[:PROMPT], "count": COUNT}
    for sessions in (1, SESSIONS):
        figures[f"sessions_{sessions}"] = ours.ask("sessions", sessions=sessions, **how)["per_s"]
    with contest.ours() as second:
        contest.first_token(second)
        for contestant in (ours, second):
            contestant.tell("decode", **how)
        figures["two_engines"] = sum(one.answer()["per_s"] for one in (ours, second))
    return figures


@contextmanager
def busy_core() -> Iterator[None]:
    """Another process that never rests, on the first core we may use."""
    core = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, [{core}])\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        yield
    finally:
        process.kill()
        process.wait()


# Each is the median over the rounds of the first figure over the second.
RATIOS = {
    "decode_ratio": ("decode", "decode_llamacpp"),
    "prefill_ratio": ("prefill", "prefill_llamacpp"),
    "first_token_ratio": ("first_token_ms", "first_token_ms_llamacpp"),
    "busy_decode_ratio": ("busy_decode", "busy_decode_llamacpp"),
    "busy_prefill_ratio": ("busy_prefill", "busy_prefill_llamacpp"),
    "avx2_decode_ratio": ("avx2_decode", "decode_llamacpp"),
    "avx2_prefill_ratio": ("avx2_prefill", "prefill_llamacpp"),
    "two_engines_ratio": ("two_engines", "decode"),
    "sessions_ratio": (f"sessions_{SESSIONS}", "sessions_1"),
}


def summary(rounds: list[Figures]) -> Figures:
    """Medians of every figure, and of every ratio."""
    figures = {name: median(one[name] for one in rounds) for name in rounds[0]}
    for name, (over, under) in RATIOS.items():
        figures[name] = median(one[over] / one[under] for one in rounds)
    return {name: round(value, 3) for name, value in figures.items()}


def hashing_s(file: Path) -> float:
    """Seconds to hash the file once, which a start with a signature check takes besides."""
    begun = perf_counter()
    hashlib.sha3_512(file.read_bytes())
    return perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", nargs="?", type=Path, default=default_path())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--openmp", action="store_true", help="llama.cpp built with OpenMP")
    wanted = parser.parse_args()
    contest = Contest(wanted.file, wanted.threads, llamacpp.interpreter(wanted.openmp))
    rounds = []
    for number in range(wanted.rounds):
        rounds.append(one_round(contest, number))
        say(f"round {number + 1} of {wanted.rounds}: {json.dumps(summary(rounds[-1:]))}")
    figures = summary(rounds)
    for name, value in figures.items():
        values = [one[name] for one in rounds if name in one] or [value]
        say(f"{name:<26} {value:10.3f}   ({min(values):.3f} to {max(values):.3f})")
    load = os.getloadavg()[0]
    say(f"{wanted.threads} threads, a pool of 2,048 tokens; the machine's load is {load:.1f}")
    figures |= {"hashing_s": round(hashing_s(wanted.file), 3), "threads": wanted.threads}
    print(json.dumps({"name": "bench-engine", "figures": figures}))


if __name__ == "__main__":
    main()
