"""The compiled kernels: `load()` gives the module `_core`, or says how to build it.

C sources, one file a kernel; `python -m apps.engine.native` compiles them.
"""

import importlib.util
from functools import cache
from importlib.machinery import ExtensionFileLoader
from types import ModuleType

from apps.engine.errors import EngineError
from apps.engine.native.build import MODULE, sources_digest


class CoreMissing(EngineError):
    """The compiled module is not there, or is not made of these sources."""


@cache
def load() -> ModuleType:
    """The module. Errors: `CoreMissing` with the command that builds it."""
    command = "run `python -m apps.engine.native`"
    if not MODULE.is_file():
        raise CoreMissing(f"{MODULE} is missing; {command}")
    spec = importlib.util.spec_from_loader("_core", ExtensionFileLoader("_core", str(MODULE)))
    assert spec
    module = importlib.util.module_from_spec(spec)
    if sources_digest() != module.SOURCES:
        raise CoreMissing(f"{MODULE} was built from other sources; {command}")
    return module
