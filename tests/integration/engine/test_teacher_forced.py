"""The packaged model against a float64 reference, every position teacher-forced.

Limits are llama.cpp's own on this file (logit rms 0.190, argmax equal on 124 of 128);
float32 sums are expected to be hundreds of times nearer.
"""

import numpy as np
import numpy.typing as npt
import pytest

from apps.engine.graph import Graph
from apps.engine.kv import Cache
from apps.engine.model import Model, default_path
from apps.engine.weights import load_weights
from tests.unit.engine.reference import F64, reference_logits

POSITIONS = 128
TEXTS = {
    "english": (
        "A health insurance policy pays part of the cost of medical care. Before the insurer pays"
        " anything, the insured person usually has to pay a fixed amount each year, which is"
        " called the deductible. After that, the insurer and the insured share the cost of each"
        " visit. A laboratory report lists the values that were measured in a blood sample, and"
        " beside each value the range that is found in most healthy people. A value outside this"
        " range does not always mean that somebody is ill; it is a reason to ask a doctor, who"
        " knows the history of the patient. The doctor may repeat the test after some weeks and"
        " compare both results before any treatment is started."
    ),
    "chinese": (
        "医疗保险账户的余额可以用来支付门诊费用。化验报告列出了每一项指标的数值和参考范围，"
        "如果数值超出参考范围，请咨询医生。客户对服务不满意时，可以提出投诉，我们会尽快处理。"
    ),
    "numbers": (
        "Invoice 2031-07-14: 3 x 19.95 = 59.85; 12 x 4.50 = 54.00; total 113.85, of which the plan"
        " pays 80 % = 91.08 and you pay 22.77. Glucose 5.4 mmol/L (3.9-6.1), HbA1c 38 mmol/mol"
        " (20-42), LDL 3.21 mmol/L (< 3.00), creatinine 71 umol/L (45-84), sodium 139 (136-145)."
    ),
    "code": (
        "def mean(values: list[float]) -> float:\n"
        '    """The arithmetic mean; an empty list is an error."""\n'
        "    if not values:\n"
        '        raise ValueError("no values")\n'
        "    return sum(values) / len(values)\n\n\n"
        "class Account:\n"
        "    def __init__(self, owner: str, balance: int = 0) -> None:\n"
        "        self.owner = owner\n"
        "        self.balance = balance\n\n"
        "    def pay(self, amount: int) -> None:\n"
        "        if amount > self.balance:\n"
        "            raise ValueError(amount)\n"
        "        self.balance -= amount\n\n"
        "    def __repr__(self) -> str:\n"
        '        return f"Account({self.owner}, {self.balance})"\n'
    ),
}


@pytest.fixture(scope="module")
def model() -> Model:
    return Model.open(default_path())


@pytest.fixture(scope="module")
def graph(model: Model) -> Graph:
    return Graph(model.config, load_weights(model, lambda line: None), 512)


@pytest.fixture(scope="module")
def texts(model: Model) -> dict[str, list[int]]:
    return {name: model.tokenizer.encode(text)[:POSITIONS] for name, text in TEXTS.items()}


@pytest.fixture(scope="module")
def truth(model: Model, texts: dict[str, list[int]]) -> dict[str, F64]:
    return dict(zip(texts, reference_logits(model, list(texts.values())), strict=True))


def compare(name: str, got: npt.NDArray[np.float32], want: F64) -> None:
    rms = float(np.sqrt(np.mean((got - want) ** 2)))
    equal = int((got.argmax(axis=1) == want.argmax(axis=1)).sum())
    print(f"{name}: logit rms {rms:.2e}, argmax equal {equal}/{len(want)}")
    assert len(want) == POSITIONS
    assert rms <= 0.002
    assert equal >= 127


@pytest.mark.parametrize("name", TEXTS)
def test_reading_a_text_at_once_gives_the_reference_logits(
    name: str, model: Model, graph: Graph, texts: dict[str, list[int]], truth: dict[str, F64]
) -> None:
    cache = Cache(model.config, POSITIONS)
    compare(name, graph.forward(texts[name], cache, every=True), truth[name])


@pytest.mark.parametrize("name", ["english", "chinese"])
def test_token_by_token_gives_the_reference_logits(
    name: str, model: Model, graph: Graph, texts: dict[str, list[int]], truth: dict[str, F64]
) -> None:
    cache = Cache(model.config, POSITIONS)
    rows = [graph.forward([token], cache)[0] for token in texts[name]]
    compare(f"{name}, token by token", np.stack(rows), truth[name])


def test_the_reference_itself_predicts_known_facts(model: Model) -> None:
    # A reading of the file that both share but that is wrong would not: rotating halves
    # instead of neighbours gives a perplexity of 23 here, swapped nibbles 1e8, the right one 4.6.
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
