"""The intent model: logistic regression over hashed n-grams, read from one .npz file."""

from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from apps.pipeline.intents import INTENTS
from apps.pipeline.intents.features import BUCKETS, vector

# Below this the model only guesses, and a wrong ticket or somebody's balance unasked for
# is worse than asking again.
SURE = 0.35


@dataclass(frozen=True)
class Classifier:
    """`rarity` f32 [BUCKETS], `weights` f32 [BUCKETS, 5], `bias` f32 [5]; columns as INTENTS."""

    rarity: NDArray[np.float32]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]

    def probabilities(self, text: str) -> NDArray[np.float64]:
        """f64 [5], sums to 1."""
        buckets, values = vector(text, self.rarity)
        scores = (values @ self.weights[buckets] + self.bias).astype(np.float64)
        scores = np.exp(scores - scores.max())
        chances: NDArray[np.float64] = scores / scores.sum()
        return chances

    def intent(self, text: str) -> tuple[str, float]:
        """(intent, its probability); "other" when no intent is likely enough."""
        chances = self.probabilities(text)
        best = int(chances.argmax())
        if chances[best] < SURE:
            return "other", float(chances[INTENTS.index("other")])
        return INTENTS[best], float(chances[best])

    def save(self, path: Path) -> None:
        """Write the file so that a reader never sees half of it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part.npz")
        half = {
            "rarity": self.rarity.astype(np.float16),
            "weights": self.weights.astype(np.float16),
        }
        np.savez(part, bias=self.bias, **half)
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> "Classifier":
        """Raises ValueError with one line when the file is not such a model."""
        try:
            with np.load(path, allow_pickle=False) as arrays:
                rarity = np.asarray(arrays["rarity"], np.float32)
                weights = np.asarray(arrays["weights"], np.float32)
                bias = np.asarray(arrays["bias"], np.float32)
        except (OSError, EOFError, BadZipFile, ValueError, KeyError) as error:
            raise ValueError(f"{path}: not an intent model ({error})") from None
        shapes = (rarity.shape, weights.shape, bias.shape)
        if shapes != ((BUCKETS,), (BUCKETS, len(INTENTS)), (len(INTENTS),)):
            raise ValueError(f"{path}: made for other features; train it again")
        return cls(rarity, weights, bias)
