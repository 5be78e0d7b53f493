"""An ONNX graph in the making: nodes and weights, by name."""

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from apps.embedder.build.weights import Source

ORT = "com.microsoft"
"""The domain of ONNX Runtime's own operators; its CPU provider has kernels for those used here."""


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

    def normal(self, source: Source, inputs: list[str], output: str, bias: str, norm: str) -> str:
        """Layer norm of the sum of two inputs and a bias."""
        gamma = self.weight(f"{norm}.w", source.floats(f"{norm}.w"))
        beta = self.weight(f"{norm}.b", source.floats(f"{norm}.b"))
        return self.node(
            "SkipLayerNormalization",
            [*inputs, gamma, beta, bias],
            output,
            ORT,
            epsilon=source.shape.epsilon,
        )
