"""How far each pair of a head's values turns from one position to the next (RoPE).

Every scaling that is in use comes down to one frequency a pair and one factor on
the sines and cosines, both the same at every position. Sources: Su et al.,
RoFormer, 2021; Chen et al., Position Interpolation, 2023 ("linear"); Peng et al.,
YaRN, 2023; Llama 3.1's factors, which its files bring in `rope_freqs.weight`.
"""

from dataclasses import dataclass
from math import ceil, floor, isfinite, log, pi

import numpy as np
import numpy.typing as npt

from apps.engine.errors import BadArtefact
from apps.engine.gguf import Gguf

FACTORS = "rope_freqs.weight"
_SCALING = "llama.rope.scaling."
_KINDS = ("none", "linear", "yarn")

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rotary:
    """The first 2 × len(`frequencies`) values of a head turn, neighbours as pairs; the rest stay.

    Pair i at position p turns by p × `frequencies[i]` radians and grows by `magnitude`.
    """

    base: float
    frequencies: tuple[float, ...]
    magnitude: float = 1.0


def read_rotary(file: Gguf, rotated: int, context: int) -> Rotary:
    """The turns of heads that turn in `rotated` values.

    Errors: `BadArtefact` for a scaling that is unknown or not possible.
    """
    base = file.get("llama.rope.freq_base", float, 10_000.0)
    if not 1 < base < 1e12:
        raise _impossible(file, "llama.rope.freq_base", base)
    plain = base ** -(np.arange(0, rotated, 2, dtype=np.float64) / rotated) / _factors(
        file, rotated
    )
    kind = file.get(_SCALING + "type", str, "none")
    if kind not in _KINDS:
        raise BadArtefact(
            f"{file.path}: RoPE scaling {kind!r} ({_SCALING}type) is not supported;"
            f" use a model with one of {', '.join(_KINDS)}"
        )
    if kind == "none":
        return Rotary(base, tuple(plain.tolist()))
    factor = _positive(file, _SCALING + "factor")
    slow = plain / factor
    if kind == "linear":
        return Rotary(base, tuple(slow.tolist()))
    original = file.get(_SCALING + "original_context_length", int, context)
    kept = _kept(file, base, rotated, original)
    magnitude = _positive(file, _SCALING + "attn_factor", 1.0) * (1 + 0.1 * log(factor))
    return Rotary(base, tuple((plain * kept + slow * (1 - kept)).tolist()), magnitude)


def _factors(file: Gguf, rotated: int) -> F64:
    """What each frequency is divided by, [rotated / 2]."""
    factors = np.ones(rotated // 2, np.float32)
    if (tensor := file.tensors.get(FACTORS)) is not None:
        if tensor.format.name != "F32" or tensor.shape != factors.shape:
            raise BadArtefact(
                f"{file.path}: tensor {FACTORS!r} is {tensor.format.name} {list(tensor.shape)},"
                f" F32 {list(factors.shape)} is needed; use a matching file"
            )
        factors = tensor.raw.view("<f4")
        if not (np.isfinite(factors) & (factors > 0)).all():
            raise BadArtefact(
                f"{file.path}: tensor {FACTORS!r} has a value that is not above 0;"
                " fetch the file again from its source"
            )
    return factors.astype(np.float64)


def _kept(file: Gguf, base: float, rotated: int, original: int) -> F64:
    """YaRN: the part of each frequency that stays, from 1 (fast pairs) to 0 (slow ones)."""
    if not 1 <= original <= 1 << 30:
        raise _impossible(file, _SCALING + "original_context_length", original)

    def pair(turns: float) -> float:
        """The pair, as a real number, that turns so often within the original context."""
        return rotated * log(original / (turns * 2 * pi)) / (2 * log(base))

    fast = _positive(file, _SCALING + "yarn_beta_fast", 32.0)
    slow = _positive(file, _SCALING + "yarn_beta_slow", 1.0)
    low, high = max(floor(pair(fast)), 0), min(ceil(pair(slow)), rotated - 1)
    ramp: F64 = (np.arange(rotated // 2, dtype=np.float64) - low) / max(high - low, 1e-3)
    kept: F64 = 1.0 - ramp.clip(0, 1)
    return kept


def _positive(file: Gguf, key: str, default: float | None = None) -> float:
    value = file.get(key, float, default)
    if not (isfinite(value) and 0 < value <= 1e6):
        raise _impossible(file, key, value)
    return value


def _impossible(file: Gguf, key: str, value: float) -> BadArtefact:
    return BadArtefact(
        f"{file.path}: metadata {key!r} is {value}, which is not possible;"
        " fetch the file again from its source"
    )
