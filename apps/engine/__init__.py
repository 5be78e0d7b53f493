"""The LLM core: a GGUF file in, words out, every step explicit.

from apps.engine import Engine, Generator, Model, default_path

generator = Generator(Engine(Model.open(default_path())))
for piece in generator.stream("What is a deductible?", 48, lambda: False):
    print(piece.text, end="", flush=True)
"""

from apps.engine.engine import Engine
from apps.engine.errors import (
    BadArtefact,
    BadLogits,
    BadRequest,
    BadText,
    EngineError,
    PromptTooLong,
)
from apps.engine.generator import NO_TOKEN, Generator, Piece
from apps.engine.model import Model, default_path
from apps.engine.sampler import Sampler

__all__ = [
    "NO_TOKEN",
    "BadArtefact",
    "BadLogits",
    "BadRequest",
    "BadText",
    "Engine",
    "EngineError",
    "Generator",
    "Model",
    "Piece",
    "PromptTooLong",
    "Sampler",
    "default_path",
]
