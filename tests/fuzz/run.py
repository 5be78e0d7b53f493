"""One target under libFuzzer: python -m tests.fuzz.run TARGET [libFuzzer's options and folders]."""

import sys

import atheris

with atheris.instrument_imports(include=["apps.engine"]):
    from tests.fuzz.targets import TARGETS

target = TARGETS[sys.argv.pop(1)]
atheris.Setup(sys.argv, target)
atheris.Fuzz()
