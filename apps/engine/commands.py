"""The command `generate`."""

import argparse
import json
import sys
from time import perf_counter

from apps.engine.engine import Engine
from apps.engine.errors import BadRequest
from apps.engine.generator import NO_TOKEN, Generator, Piece
from apps.engine.model import Model, default_path
from apps.engine.sampler import Sampler


def say(line: str) -> None:
    """A line of progress, apart from the results."""
    print(line, file=sys.stderr, flush=True)


def load(arguments: argparse.Namespace) -> Engine:
    """The engine that a command's FILE and --threads ask for."""
    model = Model.open(arguments.file or default_path())
    engine = Engine(model, arguments.threads, progress=say)
    say(f"loaded in {engine.load_s:.2f} s: {engine.weight_bytes / 1e6:.0f} MB of weights as")
    say(f"float32, {engine.threads} thread(s), context {engine.max_context}")
    return engine


def generate(arguments: argparse.Namespace) -> None:
    """Print the answer as it comes, then its speed."""
    prompt = _standard_input() if arguments.prompt == "-" else arguments.prompt
    sampler = Sampler(arguments.temperature, arguments.seed)
    stream = Generator(load(arguments)).stream(
        prompt, arguments.max_tokens, lambda: False, arguments.system, sampler
    )
    person = arguments.output == "text"
    begun = perf_counter()
    pieces: list[Piece] = []
    times: list[float] = []
    for piece in stream:
        if piece.token != NO_TOKEN:
            pieces.append(piece)
            times.append(perf_counter() - begun)
        if person:
            print(piece.text, end="", flush=True)
    spent = times[-1] - times[0]
    speed = (len(times) - 1) / spent if spent else None
    if person:
        print()
        rate = f", then {speed:.1f} tokens/s" if speed else ""
        say(f"{pieces[-1].finish}: {len(times)} tokens, first after {times[0]:.2f} s{rate}")
    else:
        print(json.dumps(_report(pieces, times[0], speed), ensure_ascii=False))


def _report(pieces: list[Piece], first: float, speed: float | None) -> dict[str, object]:
    return {
        "text": "".join(piece.text for piece in pieces),
        "tokens": [piece.token for piece in pieces],
        "finish": pieces[-1].finish,
        "bad_bytes": [vars(bad) for piece in pieces for bad in piece.bad],
        "first_token_s": round(first, 4),
        "decode_per_s": round(speed, 2) if speed else None,
    }


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(
            f"standard input is not UTF-8 at byte {error.start}; convert it first"
        ) from None
