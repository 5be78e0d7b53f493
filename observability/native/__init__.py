"""The compiled part: probe points and a counter that processes share.

`load()` gives the module `_native`; `python -m observability.native` compiles it.
"""

import importlib.util
from functools import cache
from importlib.machinery import ExtensionFileLoader
from types import ModuleType

from observability.native.build import MODULE, sources_digest


class NativeMissing(Exception):
    """The compiled module is not there, or is not made of these sources; one line."""


@cache
def load() -> ModuleType:
    """The module. Errors: `NativeMissing` with the command that builds it."""
    command = "run `python -m observability.native`"
    if not MODULE.is_file():
        raise NativeMissing(f"{MODULE} is missing; {command}")
    spec = importlib.util.spec_from_loader("_native", ExtensionFileLoader("_native", str(MODULE)))
    assert spec
    module = importlib.util.module_from_spec(spec)
    if sources_digest() != module.SOURCES:
        raise NativeMissing(f"{MODULE} was built from other sources; {command}")
    return module
