"""The products of activations and weights, by the kind of weights."""

from collections.abc import Callable

import numpy as np

from apps.embedder.build.graph import ORT, Graph
from apps.embedder.build.weights import BLOCK, Floats, Matrix
from apps.embedder.errors import BadModel

# Activations are rounded to int8 a block for the products; 4-bit weights stay as they are.
_INT8_ACTIVATIONS = 4

Product = Callable[[Graph, str, str, Matrix, str], str]
"""(graph, inputs, name of the weights, the weights [out, in], output) to the output's name."""


def float32(graph: Graph, inputs: str, name: str, weights: Matrix, output: str) -> str:
    """A product with float32 weights."""
    return graph.node("MatMul", [inputs, graph.weight(f"{name}.w", weights.weights().T)], output)


def int4(graph: Graph, inputs: str, name: str, weights: Matrix, output: str) -> str:
    """A product with the packed weights where they lie. A row's result depends on no other."""
    if isinstance(weights, Floats):
        raise BadModel("these weights are not packed in 4 bit; build float32 or int8")
    rows, blocks = weights.scales.shape
    nibbles = graph.weight(f"{name}.nibbles", weights.nibbles)
    scales = graph.weight(f"{name}.scales", weights.scales)
    return graph.node(
        "MatMulNBits",
        [inputs, nibbles, scales],
        output,
        ORT,
        K=blocks * BLOCK,
        N=rows,
        bits=4,
        block_size=BLOCK,
        accuracy_level=_INT8_ACTIVATIONS,
    )


def int8(graph: Graph, inputs: str, name: str, weights: Matrix, output: str) -> str:
    """A product with int8 weights, one scale an output. The inputs of a run share one scale, so
    a text's result depends on what else is in the run: give it one text a run."""
    columns = weights.weights().T
    scales = np.abs(columns).max(axis=0) / 127
    rounded = np.rint(columns / np.where(scales > 0, scales, 1)).astype(np.int8)
    return graph.node(
        "DynamicQuantizeMatMul",
        [
            inputs,
            graph.weight(f"{name}.int8", rounded),
            graph.weight(f"{name}.scales", scales.astype(np.float32)),
            graph.weight(f"{name}.zero", np.zeros(len(scales), np.int8)),
        ],
        output,
        ORT,
    )


PRODUCTS: dict[str, Product] = {"int4": int4, "int8": int8, "float32": float32}
