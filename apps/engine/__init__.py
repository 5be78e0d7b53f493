"""The LLM core: a GGUF file in, words out, every step explicit.

from apps.engine import Engine, Generator, Model, default_path

with Engine(Model.open(default_path())) as engine:
    for piece in Generator(engine).stream("What is a deductible?", 48):
        print(piece.text, end="", flush=True)
"""

from apps.engine.chat import Turn
from apps.engine.engine import Engine
from apps.engine.errors import (
    BadArtefact,
    BadLogits,
    BadRequest,
    BadText,
    Busy,
    EngineError,
    Forked,
    PoolFull,
    PromptTooLong,
)
from apps.engine.generator import Generator
from apps.engine.model import Model, default_path, default_trust
from apps.engine.sampler import Sampler, Sampling
from apps.engine.stream import NO_TOKEN, Event, Piece, Stream

__all__ = [
    "NO_TOKEN",
    "BadArtefact",
    "BadLogits",
    "BadRequest",
    "BadText",
    "Busy",
    "Engine",
    "EngineError",
    "Event",
    "Forked",
    "Generator",
    "Model",
    "Piece",
    "PoolFull",
    "PromptTooLong",
    "Sampler",
    "Sampling",
    "Stream",
    "Turn",
    "default_path",
    "default_trust",
]
