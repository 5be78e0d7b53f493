"""A list of operations for the compiled kernels, and the work space that they need.

An operation names memory by offsets; the compiled side proves each of them before the
first step.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.engine.native import load
from apps.engine.quant import FORMATS
from apps.engine.tensor import Tensor

CODES = {form.name: code for code, form in FORMATS.items()}
_ALIGNMENT = 64

# As `Matrix`, `Op` and `Sizes` of native/core.h: every field takes eight bytes.
MATRIX = np.dtype([(name, "<i8") for name in ("format", "rows", "columns", "offset", "column")])
OP = np.dtype(
    [
        *((name, "<i8") for name in ("kind", "selected", "source", "source_width")),
        *((name, "<i8") for name in ("target", "target_width", "layer", "add", "to_logits")),
        ("constant", "<f8"),
        ("part", MATRIX, (3,)),
    ]
)
SIZES = np.dtype(
    [
        *((name, "<i8") for name in ("rows", "pages", "positions", "layers", "heads", "kv_heads")),
        *((name, "<i8") for name in ("head", "rotated", "vocabulary", "mixes", "mixes_at")),
    ]
)


class Kind(IntEnum):
    """The operations of native/core.h."""

    EMBED = 0
    NORM = 1
    PRODUCT = 2
    ROTATE = 3
    ATTEND = 4
    MERGE = 5
    GATE = 6


@dataclass
class Plan:
    """`ops` and `sizes` as the compiled side reads them, and the `work_bytes` that they need."""

    sizes: npt.NDArray[Any]
    work_bytes: int = 0
    _ops: list[npt.NDArray[Any]] = field(default_factory=list)

    @property
    def ops(self) -> npt.NDArray[Any]:
        return np.concatenate(self._ops)

    def place(self, size: int) -> int:
        """The offset of `size` more bytes of work space."""
        at = self.work_bytes
        self.work_bytes += -(-size // _ALIGNMENT) * _ALIGNMENT
        return at

    def rows(self, width: int) -> int:
        """Work space for every row of a step: `width` floats each."""
        return self.place(int(self.sizes["rows"]) * width * 4)

    def activations(self, columns: int) -> int:
        """Work space for every row of a step as a product reads it."""
        return self.place(load().activation_bytes(int(self.sizes["rows"]), columns))

    def add(self, kind: Kind, *parts: tuple[Tensor, int], **fields: float) -> None:
        """One operation; a part is a tensor and the column that its product goes to."""
        op = np.zeros(1, OP)
        op["kind"] = kind
        for name, value in fields.items():
            op[name] = value
        for number, (tensor, column) in enumerate(parts):
            rows, columns = tensor.shape if len(tensor.shape) == 2 else (1, *tensor.shape)
            code = CODES[tensor.format.name]
            op["part"][0, number] = (code, rows, columns, tensor.offset, column)
        self._ops.append(op)
