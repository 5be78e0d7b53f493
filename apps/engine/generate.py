"""The command `generate`: answer one question, word by word."""

import argparse
import json
import sys
from time import perf_counter

from apps.engine.commands import say
from apps.engine.engine import Engine
from apps.engine.errors import BadRequest
from apps.engine.generator import Generator
from apps.engine.model import Model, default_path, default_trust
from apps.engine.sampler import Sampling
from apps.engine.stream import NO_TOKEN, Piece, Stream


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Tell the parser what can be asked for."""
    add = parser.add_argument
    add("--prompt", required=True, help="the question, or - for standard input")
    add("--system", help="the system turn (default: the model's own)")
    add("--max-tokens", type=int, default=128)
    add("--temperature", type=float, default=0.0, help="0 (default): most likely")
    add("--top-k", type=int, default=0, help="of the k most likely (0, default: all)")
    add("--top-p", type=float, default=1.0, help="of the most likely that make up this mass")
    add("--min-p", type=float, default=0.0, help="at least this part of the most likely's chance")
    add("--repetition-penalty", type=float, default=1.0, help="1 (default): none")
    add("--seed", type=int, default=0)
    add(
        "--stop",
        action="append",
        default=[],
        metavar="TEXT",
        help="end before it; may be given again",
    )
    add("--numbers-of", metavar="TEXT", help="write no number that is not in this text")
    add("--deadline-s", type=float, default=600.0, help="give up after so many seconds")
    add("--pool-tokens", type=int, default=2048, help="room for keys and values (default 2048)")
    add("--threads", type=int, help="default: $ENGINE_THREADS, else the CPU quota")


def generate(arguments: argparse.Namespace) -> None:
    """Print the answer as it comes, then its speed."""
    prompt = _standard_input() if arguments.prompt == "-" else arguments.prompt
    sampling = Sampling(
        temperature=arguments.temperature,
        top_k=arguments.top_k,
        top_p=arguments.top_p,
        min_p=arguments.min_p,
        repetition_penalty=arguments.repetition_penalty,
        seed=arguments.seed,
    )
    begun = perf_counter()
    model = Model.open(arguments.file or default_path(), default_trust())
    engine = Engine(
        model, pool_tokens=arguments.pool_tokens, threads=arguments.threads, progress=say
    )
    hashed = f", {model.file.digest.seconds:.2f} s of it its hash" if model.file.digest else ""
    say(f"loaded in {perf_counter() - begun:.2f} s{hashed}; context {engine.max_context}")
    with engine:
        begun = perf_counter()
        stream = Generator(engine).stream(
            prompt,
            arguments.max_tokens,
            system=arguments.system,
            sampling=sampling,
            stops=arguments.stop,
            numbers_of=None if arguments.numbers_of is None else [arguments.numbers_of],
            deadline_s=arguments.deadline_s,
        )
        _show(stream, begun, arguments.output == "text")


def _show(stream: Stream, begun: float, person: bool) -> None:
    pieces: list[Piece] = []
    times: list[float] = []
    for piece in stream:
        pieces.append(piece)
        if piece.token != NO_TOKEN:
            times.append(perf_counter() - begun)
        if person:
            print(piece.text, end="", flush=True)
    first = times[0] if times else None
    speed = (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else None
    if person:
        print()
        bad = [byte for piece in pieces for byte in piece.bad]
        if bad:
            say(f"left out {len(bad)} bytes that are no text (--output json lists them)")
        say(f"{pieces[-1].finish}: {len(times)} tokens{_speed(first, speed)}")
    else:
        print(json.dumps(_report(pieces, first, speed)))


def _speed(first: float | None, speed: float | None) -> str:
    said = "" if first is None else f", first after {first:.3f} s"
    return said if speed is None else f"{said}, then {speed:.1f} tokens/s"


def _report(pieces: list[Piece], first: float | None, speed: float | None) -> dict[str, object]:
    return {
        "text": "".join(piece.text for piece in pieces),
        "tokens": [piece.token for piece in pieces if piece.token != NO_TOKEN],
        "finish": pieces[-1].finish,
        "bad_bytes": [vars(bad) for piece in pieces for bad in piece.bad],
        "first_token_s": None if first is None else round(first, 4),
        "decode_per_s": None if speed is None else round(speed, 2),
    }


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(
            f"standard input is not UTF-8 at byte {error.start}; convert it first"
        ) from None
