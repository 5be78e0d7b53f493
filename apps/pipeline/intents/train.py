"""`python -m apps.pipeline.intents.train [--out FILE]`: data.tsv to weights, in seconds.

Full-batch gradient descent from zero, so the same data gives the same weights. The weights of
such a descent are always a combination of the examples, so it runs on the examples' products
[n, n] instead of [BUCKETS, 5]: exact, and a hundred times less work.
"""

import argparse
import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from apps.pipeline.intents import INTENTS
from apps.pipeline.intents.classifier import Classifier
from apps.pipeline.intents.features import BUCKETS, vector

HERE = Path(__file__).parent
STEPS = 500
RATE = 10.0
DECAY = 1e-5
_MANNERS = {
    "en": (
        "Hello, {}",
        "Hi! {} Thanks",
        "good morning, {}",
        "{} please",
        "{}, thank you very much",
    ),
    "zh": ("你好,{}", "您好,请问{}", "{},谢谢", "早上好,{}", "麻烦您,{},非常感谢"),
}


@dataclass(frozen=True)
class Example:
    """One line of a data file: intent, language, text, separated by tabs."""

    intent: str
    language: str
    text: str


def read(path: Path) -> list[Example]:
    """The examples in `path`; raises ValueError naming the first bad line."""
    examples = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fields = line.split("\t")
        if len(fields) != 3 or fields[0] not in INTENTS or fields[1] not in ("zh", "en"):
            raise ValueError(f"{path}:{number}: want INTENT<tab>zh|en<tab>TEXT")
        examples.append(Example(*fields))
    return examples


def train(examples: list[Example]) -> Classifier:
    """A classifier that fits `examples`, plain and with good manners around them."""
    examples = [*examples, *polite(examples)]
    rarity = rarity_of([example.text for example in examples])
    rows = matrix([example.text for example in examples], rarity)
    wanted = np.zeros((len(examples), len(INTENTS)), np.float64)
    wanted[np.arange(len(examples)), [INTENTS.index(e.intent) for e in examples]] = 1.0
    products = (rows @ rows.T).astype(np.float64) + 1.0  # the added 1 is the bias
    mix = np.zeros_like(wanted)
    for _ in range(STEPS):
        scores = products @ mix
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        mix -= RATE * ((chances - wanted) / len(examples) + DECAY * mix)
    weights = (rows.T @ mix).astype(np.float32)
    return Classifier(rarity, weights, mix.sum(axis=0).astype(np.float32))


def polite(examples: list[Example]) -> list[Example]:
    """Every third wish once more between a greeting and thanks, which say nothing about it."""
    wishes = [example for example in examples if example.intent != "other"][::3]
    more = []
    for number, wish in enumerate(wishes):
        manners = _MANNERS[wish.language]
        text = manners[number % len(manners)].format(wish.text)
        more.append(Example(wish.intent, wish.language, text))
    return more


def rarity_of(texts: list[str]) -> NDArray[np.float32]:
    """f32 [BUCKETS]: log((1 + texts) / (1 + texts with the bucket)), so that "the" tells little."""
    common = np.zeros(BUCKETS, np.float32)
    for text in texts:
        common[vector(text, np.ones(BUCKETS, np.float32))[0]] += 1
    rarity: NDArray[np.float32] = np.log((1 + len(texts)) / (1 + common)).astype(np.float32)
    return rarity


def matrix(texts: list[str], rarity: NDArray[np.float32]) -> NDArray[np.float32]:
    """f32 [len(texts), BUCKETS]."""
    rows = np.zeros((len(texts), BUCKETS), np.float32)
    for row, text in zip(rows, texts, strict=True):
        buckets, values = vector(text, rarity)
        row[buckets] = values
    return rows


def mistakes(classifier: Classifier, examples: list[Example]) -> list[tuple[Example, str, float]]:
    """(example, what the classifier said, how sure it was) for each wrong answer."""
    answers = [(example, *classifier.intent(example.text)) for example in examples]
    return [answer for answer in answers if answer[0].intent != answer[1]]


def weights_path() -> Path:
    """Where the weights are: INTENT_WEIGHTS, or a file in the user's cache named by its inputs."""
    if given := os.environ.get("INTENT_WEIGHTS"):
        return Path(given)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    inputs = [HERE / name for name in ("data.tsv", "features.py", "train.py")]
    key = hashlib.sha256(b"".join(path.read_bytes() for path in inputs)).hexdigest()[:12]
    return cache / "switchyard" / f"intents-{key}.npz"


def ensure() -> Path:
    """The path of usable weights, trained now if there are none."""
    path = weights_path()
    if path.exists():
        Classifier.load(path)
        return path
    try:
        train(read(HERE / "data.tsv")).save(path)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; set INTENT_WEIGHTS to a new file") from None
    return path


def main(arguments: list[str] | None = None) -> int:
    """Train, say how good it is on examples it never saw, write the weights."""
    parser = argparse.ArgumentParser(prog="apps.pipeline.intents.train", description=__doc__)
    parser.add_argument("--out", type=Path, default=None, help="default: $INTENT_WEIGHTS or cache")
    out: Path = parser.parse_args(arguments).out or weights_path()
    classifier = train(read(HERE / "data.tsv"))
    heldout = read(HERE / "heldout.tsv")
    wrong = mistakes(classifier, heldout)
    for example, said, sure in wrong:
        print(f"  {example.text!r} is {example.intent}, not {said} ({sure:.2f})")
    print(f"held-out accuracy {1 - len(wrong) / len(heldout):.3f} ({len(heldout)} examples)")
    classifier.save(out)
    print(f"wrote {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
