"""ONNX Runtime, with the door closed through which its packages report their use to their maker.

Since 1.29 they do so unless a variable says no, which is read when the library is loaded: whoever
needs the library imports it from here.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

__all__ = ["onnxruntime"]
