"""The SHA3-512 of an open file."""

import hashlib
import os
from dataclasses import dataclass
from time import perf_counter

from apps.engine.errors import BadArtefact

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Digest:
    """64 bytes, and the seconds that it took to get them."""

    value: bytes
    seconds: float


def digest(descriptor: int, path: str) -> Digest:
    """Read the whole file. Errors: `BadArtefact` if its size is not what it was at first."""
    begun = perf_counter()
    size, done = os.fstat(descriptor).st_size, 0
    state = hashlib.sha3_512()
    part = memoryview(bytearray(_CHUNK))
    while count := os.preadv(descriptor, [part], done):
        state.update(part[:count])
        done += count
    if done != size:
        raise BadArtefact(
            f"{path}: the file had {size} bytes and then {done}; let its writer finish first"
        )
    return Digest(state.digest(), perf_counter() - begun)
