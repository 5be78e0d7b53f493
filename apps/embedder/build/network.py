"""The network as an ONNX graph, with its weights: a BERT encoder, masked mean, L2 norm.

Inputs: `ids` i64 [batch, tokens] and `mask` i32 [batch, tokens] (1 where a token is, 0 where
there is padding behind it). Output: `vector` f32 [batch, hidden].
"""

import numpy as np
import onnx
from onnx import TensorProto, helper

from apps.embedder.build.graph import ORT, Graph
from apps.embedder.build.products import Product
from apps.embedder.build.weights import BLOCK, Blocks, Floats, Matrix, Source

_OPSET = 21
_IR = 10


def graph_of(source: Source, product: Product) -> onnx.ModelProto:
    """The whole model; the same input gives the same bytes."""
    graph = Graph()
    states = _embedded(graph, source)
    for layer in range(source.shape.layers):
        states = _layer(graph, source, product, states, layer)
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
                    "vector", TensorProto.FLOAT, ["batch", source.shape.hidden]
                )
            ],
            graph.weights,
        ),
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(ORT, 1)],
        producer_name="switchyard",
    )
    model.ir_version = _IR
    return model


def _embedded(graph: Graph, source: Source) -> str:
    shape = source.shape
    _words(graph, source.matrix("emb.word", shape.vocabulary))
    # Every token is of type 0, so its row is part of each position.
    type_ = source.floats("emb.type").reshape(shape.types, shape.hidden)[0]
    table = source.floats("emb.pos").reshape(shape.positions, shape.hidden) + type_
    graph.weight("position.table", table)
    for name, value in (("zero", 0), ("one", 1), ("two", 2)):
        graph.weight(name, np.array([value], np.int64))
    graph.node("Shape", ["ids"], "shape")
    graph.node("Slice", ["shape", "one", "two"], "length")
    graph.node("Slice", ["position.table", "zero", "length", "zero"], "positions")
    graph.node("Add", ["words", "positions"], "placed")
    gamma = graph.weight("emb.ln.w", source.floats("emb.ln.w"))
    beta = graph.weight("emb.ln.b", source.floats("emb.ln.b"))
    return graph.node(
        "LayerNormalization", ["placed", gamma, beta], "embedded", epsilon=shape.epsilon
    )


def _words(graph: Graph, table: Matrix) -> None:
    if isinstance(table, Floats):
        graph.node("Gather", [graph.weight("word.table", table.values), "ids"], "words")
        return
    # The table stays in 4 bit; only the rows that are asked for are unpacked.
    rows, blocks = table.scales.shape
    graph.weight("word.nibbles", table.nibbles.reshape(rows, blocks * BLOCK // 2))
    graph.weight("word.scales", table.scales)
    graph.node(
        "GatherBlockQuantized",
        ["word.nibbles", "ids", "word.scales"],
        "words",
        ORT,
        bits=4,
        block_size=BLOCK,
        gather_axis=0,
        quantize_axis=1,
    )


def _layer(graph: Graph, source: Source, product: Product, states: str, layer: int) -> str:
    shape, name = source.shape, f"l{layer}"

    def matrix(part: str, rows: int) -> Matrix:
        return source.matrix(f"{name}.{part}.w", rows)

    def bias(part: str) -> str:
        return graph.weight(f"{name}.{part}.b", source.floats(f"{name}.{part}.b"))

    parts = [matrix(part, shape.hidden) for part in "qkv"]
    both = product(graph, states, f"{name}.qkv", _joined(parts), f"{name}.qkv")
    qkv = [f"{name}.{part}" for part in "qkv"]
    graph.nodes.append(
        helper.make_node("Split", [both], qkv, name=f"{name}.split", axis=2, num_outputs=3)
    )
    biases = np.concatenate([source.floats(f"{name}.{part}.b") for part in "qkv"])
    attended = graph.node(
        "MultiHeadAttention",
        [*qkv, graph.weight(f"{name}.qkv.b", biases), "mask"],
        f"{name}.attended",
        ORT,
        num_heads=shape.heads,
    )
    mixed = product(graph, attended, f"{name}.ao", matrix("ao", shape.hidden), f"{name}.mixed")
    states = graph.normal(source, [mixed, states], f"{name}.states", bias("ao"), f"{name}.aln")
    inner = product(graph, states, f"{name}.fi", matrix("fi", shape.inner), f"{name}.inner")
    active = graph.node("BiasGelu", [inner, bias("fi")], f"{name}.active", ORT)
    outer = product(graph, active, f"{name}.fo", matrix("fo", shape.hidden), f"{name}.outer")
    return graph.normal(source, [outer, states], f"{name}.out", bias("fo"), f"{name}.oln")


def _joined(parts: list[Matrix]) -> Matrix:
    blocks = [part for part in parts if isinstance(part, Blocks)]
    return Blocks.joined(blocks) if blocks else Floats(np.concatenate([p.weights() for p in parts]))


def _pooled(graph: Graph, states: str) -> None:
    """The mean over the tokens that the mask allows, at length 1."""
    graph.node("Cast", ["mask"], "counted", to=TensorProto.FLOAT)
    graph.node("Unsqueeze", ["counted", "two"], "weights")
    graph.node("Mul", [states, "weights"], "kept")
    graph.node("ReduceSum", ["kept", "one"], "sum", keepdims=0)
    graph.node("ReduceSum", ["counted", "one"], "number", keepdims=1)
    graph.node("Div", ["sum", "number"], "mean")
    graph.node("LpNormalization", ["mean"], "vector", axis=-1, p=2)
