"""The compiled kernels: `load()` gives the module `_core`, or says how to build it.

C sources, one file a kernel; `python -m apps.engine.native` compiles them.
"""

from functools import cache
from pathlib import Path
from types import ModuleType

from apps.engine.errors import EngineError
from observability.extension import Extension, ExtensionMissing

_MODULE = Path(__file__).with_name("_core.abi3.so")
EXTENSION = Extension(
    package=__name__,
    folder=_MODULE.parent,
    module=_MODULE,
    # No product may be fused with a sum here and not there: results are the same to the bit.
    flags=("-pthread", "-ffp-contract=off", "-fno-math-errno"),
)


class CoreMissing(EngineError):
    """The compiled module is not there, or is not made of these sources."""


@cache
def load() -> ModuleType:
    """The module. Errors: `CoreMissing` with the command that builds it."""
    try:
        return EXTENSION.load()
    except ExtensionMissing as error:
        raise CoreMissing(str(error)) from None
