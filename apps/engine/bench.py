"""The command `bench`: medians and ranges of a few rounds in this process."""

import argparse
import json
import os
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from apps.engine.commands import load, say
from apps.engine.engine import Engine
from apps.engine.errors import BadRequest

_TEXT = "The laboratory report lists each value beside its unit and its reference range. "


def bench(arguments: argparse.Namespace) -> None:
    """Measure reading and writing, print a table or one JSON object."""
    if min(arguments.prompt_tokens, arguments.rounds) < 1 or arguments.tokens < 2:
        raise BadRequest(
            "too little to measure; ask for 1 prompt token, 1 round and 2 tokens or more"
        )
    engine = load(arguments)
    rounds = []
    for number in range(arguments.rounds):
        rounds.append(_round(engine, arguments.prompt_tokens, arguments.tokens))
        say(f"round {number + 1} of {arguments.rounds}: {rounds[-1]['decode_per_s']:.1f} tokens/s")
    columns = {name: [one[name] for one in rounds] for name in rounds[0]}
    figures = {name: median(column) for name, column in columns.items()}
    ranges = {name: [min(column), max(column)] for name, column in columns.items()}
    report = {
        **figures,
        "ranges": ranges,
        "load_s": engine.load_s,
        "threads": engine.threads,
        "rounds": arguments.rounds,
        "prompt_tokens": arguments.prompt_tokens,
        "tokens": arguments.tokens,
        "weights_mb": engine.weight_bytes / 1e6,
        **_memory(),
        "machine_load": os.getloadavg()[0],
    }
    if arguments.output == "json":
        print(json.dumps(report))
        return
    for name, (low, high) in ranges.items():
        print(f"{name:<20} {figures[name]:8.2f}   ({low:.2f} to {high:.2f})")
    for name in ("load_s", "weights_mb", "rss_mb", "anonymous_mb", "machine_load"):
        print(f"{name:<20} {report[name]:8.2f}")


def _round(engine: Engine, prompt_tokens: int, tokens: int) -> dict[str, float]:
    """One prompt read and `tokens` written, an end of turn or not."""
    encode = engine.model.tokenizer.encode
    text = _TEXT * (prompt_tokens // 8 + 1)
    sequence = engine.sequence(encode(text)[:prompt_tokens], tokens)
    begun, begun_cpu = perf_counter(), process_time()
    while engine.step(sequence) is None:
        pass
    first, first_cpu = perf_counter(), process_time()
    for _ in range(tokens - 1):
        engine.step(sequence)
    wall, cpu = perf_counter() - first, process_time() - first_cpu
    return {
        "first_token_s": first - begun,
        "first_token_cpu_s": first_cpu - begun_cpu,
        "prefill_per_s": prompt_tokens / (first - begun),
        "decode_per_s": (tokens - 1) / wall,
        "decode_per_cpu_s": (tokens - 1) / cpu,
    }


def _memory() -> dict[str, float]:
    """Resident and anonymous memory of this process, from the kernel."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {
        name: int(fields[key].split()[0]) / 1e3 * 1.024
        for name, key in (("rss_mb", "VmRSS"), ("anonymous_mb", "RssAnon"))
    }
