"""The command `bench`: medians and ranges of a few rounds in this process."""

import argparse
import json
import os
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from apps.engine.commands import say
from apps.engine.core import PAGE, Core
from apps.engine.errors import BadRequest
from apps.engine.model import Model, default_path, default_trust
from apps.engine.slices import Slice
from apps.engine.start_up import Phase, StartUp

_TEXT = "The laboratory report lists each value beside its unit and its reference range. "


def bench(arguments: argparse.Namespace) -> None:
    """Measure reading and writing, print a table or one JSON object."""
    sizes = arguments.prompt_tokens, arguments.tokens, arguments.rounds, arguments.sessions
    if min(sizes) < 1:
        raise BadRequest("too little to measure; ask for 1 token, 1 round and 1 session or more")
    opening = StartUp()
    with opening.phase("open"):
        model = Model.open(arguments.file or default_path(), default_trust())
    hash_s = model.file.digest.seconds if model.file.digest else 0.0
    pages = -(-(arguments.prompt_tokens + arguments.tokens) // PAGE)
    pool = max(2048, arguments.sessions * pages * PAGE)
    with closing(Core(model, pool_tokens=pool, threads=arguments.threads, progress=say)) as core:
        phases = opening.phases + core.start_up.phases
        prompt = _prompt(model, arguments.prompt_tokens)
        tables = [range(at * pages, (at + 1) * pages) for at in range(arguments.sessions)]
        _round(core, prompt, 1, tables)  # not measured: the first one meets cold caches
        rounds = []
        for number in range(arguments.rounds):
            rounds.append(_round(core, prompt, arguments.tokens, tables))
            speed = rounds[-1]["decode_per_s"]
            say(f"round {number + 1} of {arguments.rounds}: {speed:.1f} tokens/s")
        fixed = {
            "load_s": opening.seconds + core.start_up.seconds - hash_s,
            "hash_s": hash_s,
            "isa": core.isa,
            "threads": core.threads,
            "pool_tokens": core.pages * PAGE,
            "sessions": arguments.sessions,
            "prompt_tokens": arguments.prompt_tokens,
            "tokens": arguments.tokens,
            **_memory(),
            "machine_load": os.getloadavg()[0],
        }
    _print(rounds, fixed, phases, arguments.output)


def _prompt(model: Model, count: int) -> list[int]:
    text = _TEXT * (count // 8 + 1)
    return model.tokenizer.encode(text)[:count]


def _round(core: Core, prompt: list[int], tokens: int, tables: list[range]) -> dict[str, float]:
    """The prompt read into every session, then `tokens` written in each, in common steps."""
    begun = perf_counter()
    for own in tables:
        rows = core.forward([Slice(prompt, 0, own)])
    read = perf_counter() - begun
    chosen = [int(rows.argmax())] * len(tables)
    begun, begun_cpu = perf_counter(), process_time()
    for at in range(len(prompt), len(prompt) + tokens):
        pairs = zip(chosen, tables, strict=True)
        rows = core.forward([Slice([token], at, own) for token, own in pairs])
        chosen = rows.argmax(axis=1).tolist()
    wall, cpu = perf_counter() - begun, process_time() - begun_cpu
    written = tokens * len(tables)
    return {
        "first_token_ms": read / len(tables) * 1e3,
        "prefill_per_s": len(prompt) * len(tables) / read,
        "decode_per_s": written / wall,
        "decode_per_cpu_s": written / cpu,
    }


def _memory() -> dict[str, float]:
    """Resident and anonymous memory of this process, from the kernel."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {
        name: int(fields[key].split()[0]) * 1024 / 1e6
        for name, key in (("rss_mb", "VmRSS"), ("anonymous_mb", "RssAnon"))
    }


def _print(
    rounds: list[dict[str, float]], fixed: dict[str, object], phases: list[Phase], output: str
) -> None:
    columns = {name: [one[name] for one in rounds] for name in rounds[0]}
    if output == "json":
        figures: dict[str, object] = {name: median(column) for name, column in columns.items()}
        ranges = {name: [min(column), max(column)] for name, column in columns.items()}
        more = {"ranges": ranges, "rounds": len(rounds), "start_up": [*map(asdict, phases)]}
        print(json.dumps(figures | more | fixed))
        return
    for name, column in columns.items():
        print(f"{name:<20} {median(column):8.2f}   ({min(column):.2f} to {max(column):.2f})")
    for name, value in fixed.items():
        print(f"{name:<20} {f'{value:.2f}' if isinstance(value, float) else value:>8}")
    for phase in phases:
        print(f"start-up: {phase}")
