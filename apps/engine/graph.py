"""The Llama graph as a plan over the mapped file.

Source: Touvron et al., LLaMA, 2023 (pre-norm RMSNorm, SwiGLU, rotary positions),
with grouped queries (Ainslie et al., GQA, 2023).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.engine.config import Config
from apps.engine.errors import BadArtefact
from apps.engine.model import Model
from apps.engine.native import load
from apps.engine.plan import CODES, SIZES, Kind, Plan
from apps.engine.tensor import Tensor


@dataclass(frozen=True)
class Room:
    """How much a plan is made for: `rows` of a step, `pages` of the pool, and `positions`."""

    rows: int
    pages: int
    positions: int


def plan(model: Model, room: Room) -> Plan:
    """The operations of one step. Errors: `BadArtefact` names operation, wanted and found."""
    config = model.config
    made = Plan(_sizes(config, room))
    made.sizes["mixes_at"] = made.place(
        int(made.sizes["mixes"]) * config.heads * load().mix_bytes(config.head)
    )
    _Graph(model, made).add_all()
    return made


def _sizes(config: Config, room: Room) -> npt.NDArray[Any]:
    module = load()
    sizes = np.zeros((), SIZES)
    sizes["rows"], sizes["pages"], sizes["positions"] = room.rows, room.pages, room.positions
    for name in ("layers", "heads", "kv_heads", "head", "vocabulary"):
        sizes[name] = getattr(config, name)
    sizes["rotated"] = 2 * len(config.rotary.frequencies)
    # A step of a few sequences whose segments all fit shares these among the threads.
    sizes["mixes"] = room.pages * module.PAGE // module.SEGMENT + 32
    return sizes


class _Graph:
    """Adds the operations; widths: w = the model's, q = heads x head, k = KV heads x head."""

    def __init__(self, model: Model, made: Plan) -> None:
        config = model.config
        self._model = model
        self._plan = made
        self._w, self._f = config.width, config.feed_forward
        self._q, self._k = config.heads * config.head, config.kv_heads * config.head
        self._x = made.rows(self._w)
        self._normed = made.activations(self._w)
        self._heads = made.rows(self._q + 2 * self._k)
        self._mixed = made.activations(self._q)
        self._gates = made.rows(2 * self._f)
        self._gated = made.activations(self._f)

    def add_all(self) -> None:
        config = self._model.config
        embedding = self._matrix("token_embd", config.vocabulary, self._w)
        self._plan.add(Kind.EMBED, (embedding, 0), target=self._x, target_width=self._w)
        for layer in range(config.layers):
            self._attention(layer)
            self._feed_forward(layer)
        self._norm("output_norm", selected=1)
        head = "token_embd" if self._model.tied else "output"
        self._plan.add(
            Kind.PRODUCT,
            (self._matrix(head, config.vocabulary, self._w), 0),
            source=self._normed,
            target_width=config.vocabulary,
            selected=1,
            to_logits=1,
        )

    def _attention(self, layer: int) -> None:
        config, block = self._model.config, f"blk.{layer}."
        width = self._q + 2 * self._k
        self._norm(block + "attn_norm")
        self._product(
            self._normed,
            self._heads,
            width,
            (self._matrix(block + "attn_q", self._q, self._w), 0),
            (self._matrix(block + "attn_k", self._k, self._w), self._q),
            (self._matrix(block + "attn_v", self._k, self._w), self._q + self._k),
        )
        places = {"source": self._heads, "source_width": width, "layer": layer}
        self._plan.add(Kind.ROTATE, **places)
        scale = config.head**-0.5
        self._plan.add(Kind.ATTEND, **places, target=self._mixed, constant=scale)
        self._plan.add(Kind.MERGE, layer=layer, target=self._mixed)
        output = self._matrix(block + "attn_output", self._w, self._q)
        self._product(self._mixed, self._x, self._w, (output, 0), add=1)

    def _feed_forward(self, layer: int) -> None:
        block = f"blk.{layer}."
        self._norm(block + "ffn_norm")
        self._product(
            self._normed,
            self._gates,
            2 * self._f,
            (self._matrix(block + "ffn_gate", self._f, self._w), 0),
            (self._matrix(block + "ffn_up", self._f, self._w), self._f),
        )
        self._plan.add(Kind.GATE, source=self._gates, source_width=2 * self._f, target=self._gated)
        down = self._matrix(block + "ffn_down", self._w, self._f)
        self._product(self._gated, self._x, self._w, (down, 0), add=1)

    def _norm(self, name: str, selected: int = 0) -> None:
        weight = self._tensor(name, (self._w,), ("F32",))
        self._plan.add(
            Kind.NORM,
            (weight, 0),
            source=self._x,
            source_width=self._w,
            target=self._normed,
            constant=self._model.config.epsilon,
            selected=selected,
        )

    def _product(
        self, source: int, target: int, width: int, *parts: tuple[Tensor, int], add: int = 0
    ) -> None:
        self._plan.add(
            Kind.PRODUCT, *parts, source=source, target=target, target_width=width, add=add
        )

    def _matrix(self, name: str, rows: int, columns: int) -> Tensor:
        return self._tensor(name, (rows, columns), tuple(CODES))

    def _tensor(self, name: str, shape: tuple[int, ...], formats: tuple[str, ...]) -> Tensor:
        """A tensor of the file, as the operation that takes it declares it."""
        name += ".weight"
        tensor = self._model.file.tensors[name]
        if tensor.shape != shape or tensor.format.name not in formats:
            raise BadArtefact(
                f"the operation on {name!r} takes {'/'.join(formats)} {list(shape)}, the file has"
                f" {tensor.format.name} {list(tensor.shape)}; use a model whose tensors fit"
            )
        return tensor
