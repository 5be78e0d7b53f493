"""What tracing costs a request, beside two samplers, on this machine.

`python -m tests.bench.trace [--rounds 24] [--block 12]`: starts PostgreSQL, tickets, pipeline
and gateways with probes, and asks in blocks: bare, traced by our recorder (functions, tokens,
waits), sampled by py-spy, and under pyinstrument. Each round has one block of each, in an
order of its own. Prints a table, and one JSON object last.

The ratios are a block's median latency over that of the round's bare block: the median over
the rounds, and the bound that it is below with 95 % confidence. The idle ratio is computed,
since it is less than any such pair can show: hits a request times the cost of a hit that
nobody looks at, and the cost of looking, over the CPU time of a request.
"""

import argparse
import asyncio
import json
import random
import re
import secrets
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

import yaml

from tests.bench import event_cost
from tests.bench.gateway import cpu_s, database, load
from tests.bench.paired import percentile, upper_bound
from tests.bench.progress import say
from tests.bench.tracers import recorded, sampled
from tests.integration.gateway.harness import ROOT, run_gateway
from tests.integration.pipeline.harness import run_pipeline, run_tickets

# In the language that the model knows: facts, and then words of the engine.
QUESTION = "What is my medical insurance balance?"
WORDS = 8
WARM = 3
_SETTINGS = ("PROBES", "ENGINE_THREADS")
# The gateway names a request, and so do six models; and for each token the engine, which plans,
# computes and chooses, and the thread that carries it.
BEGINS = 7 + 4 * WORDS


def settings_of(part: str) -> dict[str, str]:
    """What the pods of this part prepare for tracers and how many threads they compute with."""
    text = (ROOT / f"deploy/base/assistant/{part}.yaml").read_text()
    (deployment,) = [one for one in yaml.safe_load_all(text) if one["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one["value"] for one in container["env"] if one["name"] in _SETTINGS}


@dataclass
class Blocks:
    """Seconds of every request, a list a block; one block a round."""

    times: list[list[float]] = field(default_factory=list)

    def ratios(self, bare: "Blocks") -> list[float]:
        return [
            median(own) / median(other) for own, other in zip(self.times, bare.times, strict=True)
        ]


@dataclass(frozen=True)
class Way:
    """A way to be watched: which gateway is asked, and what is open meanwhile."""

    url: str
    watched: Callable[[], AbstractContextManager[object]] = nullcontext


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--block", type=int, default=12)
    wanted = parser.parse_args()
    token = secrets.token_urlsafe(24)
    with (
        tempfile.TemporaryDirectory() as name,
        database(token) as data,
        run_tickets(data) as tickets,
        run_pipeline(data.url("assistant"), tickets, **settings_of("pipeline")) as pipeline,
    ):
        folder = Path(name)
        start = partial(
            run_gateway,
            data.url("gateway"),
            data.assertion_key,
            pipeline.grpc,
            folder,
            ANSWER_MAX_TOKENS=str(WORDS),
            **settings_of("gateway"),
        )
        instrument = ("-m", "pyinstrument", "--outfile", str(folder / "pyinstrument.txt"))
        with start() as gateway, start(around=instrument) as instrumented:
            pids = gateway.process.pid, pipeline.process.pid
            ways = {
                "bare": Way(gateway.url),
                "traced": Way(gateway.url, partial(recorded, *pids, folder)),
                "pyspy": Way(gateway.url, partial(sampled, *pids, folder)),
                "pyinstrument": Way(instrumented.url),
            }
            ask = partial(load, token=token, clients=1, keep=True, stream=False, query=QUESTION)
            models = [pid for stubs in pipeline.stubs().values() for pid in stubs]
            everyone = [gateway.process.pid, pipeline.server_pid(), *models]
            blocks = {name: Blocks() for name in ways}
            cpu, hits = [], []
            for number in range(wanted.rounds):
                for name, way in random.sample(sorted(ways.items()), len(ways)):
                    with way.watched():
                        asyncio.run(ask(way.url, requests=WARM))
                        before = cpu_s(everyone)
                        blocks[name].times.append(asyncio.run(ask(way.url, requests=wanted.block)))
                        spent = cpu_s(everyone) - before
                    if name == "bare":
                        cpu.append(spent / wanted.block)
                    if name == "traced":
                        hits.append(_sent(folder) / (wanted.block + WARM))
                say(f"round {number + 1} of {wanted.rounds}")
    _print(blocks, median(cpu), median(hits))


def _sent(folder: Path) -> int:
    """Events that the recorder says were sent; it says as well whether any was lost."""
    said = (folder / "record.err").read_text()
    found = re.search(r"(\d+) lost, \d+ read of (\d+) events", said)
    if not found:
        raise SystemExit(f"the recorder does not say what it read: {said}")
    if found[1] != "0":
        say(f"the recorder lost {found[1]} events")
    return int(found[2])


def _print(blocks: dict[str, Blocks], cpu_s: float, hits: float) -> None:
    bare = blocks["bare"]
    figures: dict[str, float] = {}
    print(f"{'':14}{'p50 ms':>9}{'p99 ms':>9}{'ratio':>9}{'below':>9}")
    for name, own in blocks.items():
        every = [seconds * 1e3 for block in own.times for seconds in block]
        ratios = own.ratios(bare)
        row = (percentile(every, 0.5), percentile(every, 0.99), median(ratios), upper_bound(ratios))
        print(f"{name:14}{row[0]:9.1f}{row[1]:9.1f}{row[2]:9.3f}{row[3]:9.3f}")
        figures |= {f"{name}_p50_ms": row[0], f"{name}_p99_ms": row[1]}
        if name != "bare":
            figures |= {f"{name}_ratio": row[2], f"{name}_ratio_bound": row[3]}
    idle, begin = event_cost.idle_ns(), event_cost.begin_ns()
    figures |= {
        "hits": hits,
        "cpu_ms": cpu_s * 1e3,
        "idle_ns": idle,
        "begin_ns": begin,
        "idle_ratio": 1 + (hits * idle + BEGINS * begin) / (cpu_s * 1e9),
        "event_ns": event_cost.event_ns(),
        "ordinary_event_ns": event_cost.ordinary_event_ns(),
    }
    print(json.dumps({name: round(value, 5) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
