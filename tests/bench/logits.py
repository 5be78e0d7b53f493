"""`make bench-logits`: our logits and llama.cpp's against float64, on the same positions.

Every position of the four texts in tests/bench/corpus (English, Chinese, numbers, code) is fed
its true predecessors to both engines and to the reference, which computes the file's own
dequantised weights in float64. Perplexity is that of the same texts.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from apps.engine.model import Model, default_path
from tests.bench.contest.contestant import Contestant
from tests.bench.judgement import Judgement, mcnemar
from tests.bench.peers import llamacpp
from tests.bench.progress import say
from tests.unit.engine.reference import each_logits

CORPUS = Path(__file__).with_name("corpus")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", nargs="?", type=Path, default=default_path())
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    wanted = parser.parse_args()
    peer = llamacpp.interpreter()
    model = Model.open(wanted.file)
    texts = {path.stem: model.tokenizer.encode(path.read_text("utf-8")) for path in corpus()}
    say(f"{sum(map(len, texts.values()))} positions: float64 first, then both engines")
    ours, theirs, truth = Judgement(), Judgement(), Judgement()
    with (
        tempfile.TemporaryDirectory(prefix="switchyard-bench-") as folder,
        Contestant("ours", Path(sys.executable), "tests.bench.contest.ours",
                   wanted.file, wanted.threads) as our_core,
        Contestant("llama.cpp", peer, "tests.bench.contest.llamacpp",
                   wanted.file, wanted.threads) as llama,
    ):  # fmt: skip
        for (name, tokens), expected in zip(
            texts.items(), each_logits(model, list(texts.values())), strict=True
        ):
            here = Judgement(), Judgement()
            truth.see(expected, expected, tokens)
            for contestant, whole, part in zip(
                (our_core, llama), (ours, theirs), here, strict=True
            ):
                path = Path(folder) / "logits.npy"
                contestant.ask("logits", tokens=tokens, to=str(path))
                got = np.load(path)
                for judgement in (whole, part):
                    judgement.see(expected, got, tokens)
            row(f"{name} ({len(tokens)})", *here)
    row(f"all ({len(truth.agreed)})", ours, theirs)
    p = mcnemar(ours.agreed, theirs.agreed)
    apart = 100 * (ours.perplexity / theirs.perplexity - 1)
    say(f"McNemar's test on the argmax: p = {p:.3f}")
    say(f"perplexity in float64: {truth.perplexity:.3f}; ours against llama.cpp: {apart:+.2f} %")
    figures = {
        "positions": len(truth.agreed),
        "rms": round(ours.rms, 4),
        "rms_llamacpp": round(theirs.rms, 4),
        "argmax": round(ours.argmax, 4),
        "argmax_llamacpp": round(theirs.argmax, 4),
        "mcnemar_p": round(p, 4),
        "perplexity": round(ours.perplexity, 4),
        "perplexity_llamacpp": round(theirs.perplexity, 4),
        "perplexity_float64": round(truth.perplexity, 4),
        "perplexity_apart_percent": round(apart, 3),
    }
    print(json.dumps({"name": "bench-logits", "figures": figures}))


def corpus() -> list[Path]:
    """The committed texts, in order of their names."""
    return sorted(CORPUS.glob("*.txt"))


def row(name: str, ours: Judgement, theirs: Judgement) -> None:
    pairs = " | ".join(
        f"{what} {getattr(ours, what):8.4f} {getattr(theirs, what):8.4f}"
        for what in ("rms", "argmax", "perplexity")
    )
    say(f"{name:<15} ours, llama.cpp: {pairs}")


if __name__ == "__main__":
    main()
