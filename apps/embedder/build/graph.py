"""The network as an ONNX graph, with its weights: a BERT encoder, masked mean, L2 norm.

Inputs: `ids` i64 [batch, tokens] and `mask` i32 [batch, tokens] (1 where a token is, 0 where
there is padding behind it). Output: `vector` f32 [batch, hidden]. The operators of the domain
com.microsoft are ONNX Runtime's; its CPU provider has kernels for all of them.
"""

from collections.abc import Callable

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from apps.embedder.build.packed import BLOCK, Blocks, Packed

_OPSET = 21
_IR = 10
_ORT = "com.microsoft"
# Activations are rounded to int8 a block for the products; 4-bit weights stay as they are.
_INT8_ACTIVATIONS = 4

Product = Callable[["Graph", str, str, Blocks, str], str]


class Graph:
    """Collects nodes and weights; each method adds one and gives the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, value: NDArray[np.generic]) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(
        self, kind: str, inputs: list[str], output: str, domain: str = "", **more: float
    ) -> str:
        node = helper.make_node(kind, inputs, [output], name=output, domain=domain)
        node.attribute.extend(helper.make_attribute(name, more[name]) for name in sorted(more))
        self.nodes.append(node)
        return output

    def normal(self, packed: Packed, inputs: list[str], output: str, bias: str, norm: str) -> str:
        """Layer norm of the sum of two inputs and a bias."""
        gamma = self.weight(f"{norm}.w", packed.floats(f"{norm}.w"))
        beta = self.weight(f"{norm}.b", packed.floats(f"{norm}.b"))
        return self.node(
            "SkipLayerNormalization",
            [*inputs, gamma, beta, *([bias] if bias else [])],
            output,
            _ORT,
            epsilon=packed.shape.epsilon,
        )


def four_bit(graph: Graph, inputs: str, name: str, weights: Blocks, output: str) -> str:
    """A product with the packed weights where they lie. A row's result depends on no other."""
    rows, blocks = weights.scales.shape
    packed = graph.weight(f"{name}.nibbles", weights.nibbles)
    scales = graph.weight(f"{name}.scales", weights.scales)
    return graph.node(
        "MatMulNBits",
        [inputs, packed, scales],
        output,
        _ORT,
        K=blocks * BLOCK,
        N=rows,
        bits=4,
        block_size=BLOCK,
        accuracy_level=_INT8_ACTIVATIONS,
    )


def int8(graph: Graph, inputs: str, name: str, weights: Blocks, output: str) -> str:
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
        _ORT,
    )


PRODUCTS: dict[str, Product] = {"int4": four_bit, "int8": int8}


def graph_of(packed: Packed, product: Product) -> onnx.ModelProto:
    """The whole model; the same input gives the same bytes."""
    graph = Graph()
    states = _embedded(graph, packed)
    for layer in range(packed.shape.layers):
        states = _layer(graph, packed, product, states, layer)
    _pooled(graph, states)
    shape = ["batch", "tokens"]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "embedder",
            [
                helper.make_tensor_value_info("ids", TensorProto.INT64, shape),
                helper.make_tensor_value_info("mask", TensorProto.INT32, shape),
            ],
            [
                helper.make_tensor_value_info(
                    "vector", TensorProto.FLOAT, ["batch", packed.shape.hidden]
                )
            ],
            graph.weights,
        ),
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(_ORT, 1)],
        producer_name="switchyard",
    )
    model.ir_version = _IR
    return model


def _embedded(graph: Graph, packed: Packed) -> str:
    shape = packed.shape
    words = packed.matrix("emb.word", shape.vocabulary)
    # The table stays in 4 bit; only the rows that are asked for are unpacked.
    graph.weight("word.nibbles", words.nibbles.reshape(shape.vocabulary, shape.hidden // 2))
    graph.weight("word.scales", words.scales)
    graph.node(
        "GatherBlockQuantized",
        ["word.nibbles", "ids", "word.scales"],
        "words",
        _ORT,
        bits=4,
        block_size=BLOCK,
        gather_axis=0,
        quantize_axis=1,
    )
    # Every token is of type 0, so its row is part of each position.
    type_ = packed.floats("emb.type").reshape(shape.types, shape.hidden)[0]
    table = packed.floats("emb.pos").reshape(shape.positions, shape.hidden) + type_
    graph.weight("position.table", table)
    for name, value in (("zero", 0), ("one", 1), ("two", 2)):
        graph.weight(name, np.array([value], np.int64))
    graph.node("Shape", ["ids"], "shape")
    graph.node("Slice", ["shape", "one", "two"], "length")
    graph.node("Slice", ["position.table", "zero", "length", "zero"], "positions")
    graph.node("Add", ["words", "positions"], "placed")
    gamma = graph.weight("emb.ln.w", packed.floats("emb.ln.w"))
    beta = graph.weight("emb.ln.b", packed.floats("emb.ln.b"))
    return graph.node(
        "LayerNormalization", ["placed", gamma, beta], "embedded", epsilon=shape.epsilon
    )


def _layer(graph: Graph, packed: Packed, product: Product, states: str, layer: int) -> str:
    shape, name = packed.shape, f"l{layer}"

    def matrix(part: str, rows: int) -> Blocks:
        return packed.matrix(f"{name}.{part}.w", rows)

    def bias(part: str) -> str:
        return graph.weight(f"{name}.{part}.b", packed.floats(f"{name}.{part}.b"))

    parts = [matrix(part, shape.hidden) for part in "qkv"]
    joined = Blocks(
        np.concatenate([part.nibbles for part in parts]),
        np.concatenate([part.scales for part in parts]),
    )
    both = product(graph, states, f"{name}.qkv", joined, f"{name}.qkv")
    qkv = [f"{name}.{part}" for part in "qkv"]
    graph.nodes.append(
        helper.make_node("Split", [both], qkv, name=f"{name}.split", axis=2, num_outputs=3)
    )
    biases = np.concatenate([packed.floats(f"{name}.{part}.b") for part in "qkv"])
    attended = graph.node(
        "MultiHeadAttention",
        [*qkv, graph.weight(f"{name}.qkv.b", biases), "mask"],
        f"{name}.attended",
        _ORT,
        num_heads=shape.heads,
    )
    mixed = product(graph, attended, f"{name}.ao", matrix("ao", shape.hidden), f"{name}.mixed")
    states = graph.normal(packed, [mixed, states], f"{name}.states", bias("ao"), f"{name}.aln")
    inner = product(graph, states, f"{name}.fi", matrix("fi", shape.inner), f"{name}.inner")
    active = graph.node("BiasGelu", [inner, bias("fi")], f"{name}.active", _ORT)
    outer = product(graph, active, f"{name}.fo", matrix("fo", shape.hidden), f"{name}.outer")
    return graph.normal(packed, [outer, states], f"{name}.out", bias("fo"), f"{name}.oln")


def _pooled(graph: Graph, states: str) -> None:
    """The mean over the tokens that the mask allows, at length 1."""
    graph.node("Cast", ["mask"], "counted", to=TensorProto.FLOAT)
    graph.node("Unsqueeze", ["counted", "two"], "weights")
    graph.node("Mul", [states, "weights"], "kept")
    graph.node("ReduceSum", ["kept", "one"], "sum", keepdims=0)
    graph.node("ReduceSum", ["counted", "one"], "number", keepdims=1)
    graph.node("Div", ["sum", "number"], "mean")
    graph.node("LpNormalization", ["mean"], "vector", axis=-1, p=2)
