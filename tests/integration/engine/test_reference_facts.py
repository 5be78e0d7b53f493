"""The float64 reference by which the engine is judged, judged by what the model knows."""

import numpy as np

from apps.engine.model import Model, default_path
from tests.unit.engine.reference import reference_logits


def test_the_reference_itself_predicts_known_facts() -> None:
    # A reading of the file that both share but that is wrong would not: rotating halves
    # instead of neighbours gives a perplexity of 23 here, swapped nibbles 1e8, the right one 4.6.
    model = Model.open(default_path())
    text = model.tokenizer.encode(
        "The capital of France is Paris. The capital of Germany is Berlin. The capital of Italy"
        " is Rome. Water boils at 100 degrees Celsius."
    )
    logits, tokens = reference_logits(model, [text])[0][:-1], text[1:]
    shifted = logits - logits.max(axis=1, keepdims=True)
    chosen = shifted[np.arange(len(tokens)), tokens] - np.log(np.exp(shifted).sum(axis=1))
    perplexity = float(np.exp(-chosen.mean()))
    print(f"perplexity {perplexity:.1f}")
    assert perplexity < 5
