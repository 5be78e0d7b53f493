"""How well the KV pool is used by 1,000 mixed sessions, beside a buffer for each sequence.

`python -m tests.bench.pool [--sessions 1000] [--pool-tokens 4096] [--at-once 12]`: the real
tokeniser, chat template, pool and scheduler; nothing is computed, an answer is random words.
Prints the mix and one JSON object last.

The mix: 50 % of the sessions ask once about a balance or a laboratory value, in the words that
the assistant gives the model (16 to 48 tokens of answer); 30 % are conversations of 2 to 6 such
turns that come back after others; 20 % ask once about a passage of 150 to 900 tokens. All have
the model's own system turn. `fragmentation` is the part of the used pages (live and cached) that
holds nothing, over all steps; `fragmentation_live` that of the pages of live sequences alone;
`contiguous` that of buffers for prompt and whole answer, which hold nothing in advance and share
and keep nothing; `contiguous_context` that of buffers for the whole context.
"""

import argparse
import json
import random
import statistics
from dataclasses import dataclass, field

from apps.engine.chat import Chat, Turn
from apps.engine.model import Model, default_path
from apps.engine.pool import Pool
from apps.engine.sampler import Sampler
from apps.engine.scheduler import Scheduler
from apps.engine.sequence import Sequence, Served
from apps.pipeline.prompt import prompt_for
from apps.pipeline.reply import Fact

PAGE = 16
CONTEXT = 2048
_TEXT = "the insured person may claim costs of treatment in hospital up to this limit and"
_WORDS = _TEXT.split()


@dataclass
class Talk:
    """A session: what it still asks and how long the answers are; what was said."""

    name: str
    asks: list[tuple[str, int]]
    turns: list[Turn] = field(default_factory=list)
    answer: list[int] = field(default_factory=list)


@dataclass
class Waste:
    """Positions that were held and those of them that were filled, summed over the steps."""

    held: int = 0
    filled: int = 0

    def add(self, held: int, filled: int) -> None:
        self.held += held
        self.filled += filled

    @property
    def part(self) -> float:
        return round(1 - self.filled / self.held, 4)


class Reader:
    """Takes every token at once."""

    full = False

    def begun(self, found: int) -> None: ...

    def token(self, token: int, finish: str, step: int, table: list[Served]) -> str:
        return finish

    def end(self, finish: str) -> None: ...

    def fail(self, error: Exception) -> None:
        raise error


def question(chance: random.Random) -> str:
    """What the assistant asks the model, about a random fact."""
    if chance.random() < 0.5:
        value = f"{chance.randint(0, 20000)}.{chance.randint(0, 99):02d}"
        return prompt_for("insurance_balance", [Fact("balance", "Balance", value, "CNY")])
    flag = chance.choice(["low", "normal", "high"])
    value = f"{chance.uniform(2, 9):.1f}"
    return prompt_for(
        "lab_report", [Fact("glucose", "Fasting glucose", value, "mmol/L", "3.9–6.1", flag)]
    )


def passage(chance: random.Random) -> str:
    words = [chance.choice(_WORDS) for _ in range(chance.randint(150, 900))]
    return f"Passage: {' '.join(words)}\nWhat does it say about my case?"


def mix(count: int, chance: random.Random) -> list[Talk]:
    talks = []
    for number in range(count):
        kind = chance.random()
        turns = chance.randint(2, 6) if 0.5 <= kind < 0.8 else 1
        ask = passage if kind >= 0.8 else question
        asks = [(ask(chance), chance.randint(16, 48)) for _ in range(turns)]
        talks.append(Talk(f"s{number}", asks))
    return talks


class Trace:
    """All sessions, `at_once` of them at a time, on one pool."""

    def __init__(self, model: Model, pool_tokens: int, at_once: int, seed: int) -> None:
        self._chance = random.Random(seed)
        self._tokenizer = model.tokenizer
        self._chat = Chat(model.tokenizer)
        self._at_once = at_once
        self.pool = Pool(pool_tokens // PAGE, PAGE, b"bench")
        self._scheduler = Scheduler(self.pool, at_once)
        self._live: dict[str, Talk] = {}
        self.paged, self.live, self.contiguous, self.context = Waste(), Waste(), Waste(), Waste()
        self.lengths: list[int] = []
        self.steps = 0

    def run(self, talks: list[Talk]) -> None:
        waiting = list(talks)
        while waiting or self._live:
            while waiting and len(self._live) < self._at_once:
                self._ask(waiting.pop(0))
            for talk in self._step():
                if talk.asks:
                    # It comes back when some others have asked.
                    waiting.insert(min(len(waiting), self._chance.randint(5, 40)), talk)

    def _ask(self, talk: Talk) -> None:
        text, limit = talk.asks.pop(0)
        talk.turns.append(Turn("user", text))
        ids = self._chat.prompt(talk.turns)
        talk.answer = self._answer(limit)
        self._live[talk.name] = talk
        self._scheduler.add(Sequence(talk.name, talk.name, ids, limit, 1e9, Sampler(), Reader()))

    def _step(self) -> list[Talk]:
        """One step; the talks whose turn it ended."""
        step = self._scheduler.plan()
        assert step is not None
        self.steps += 1
        for part in step.parts:
            self._scheduler.commit(part)
        self._measure()
        for part in step.parts:
            if part.last:
                one = part.sequence
                one.add(self._live[one.request].answer[len(one.made)], False, step.table)
        ended = [part.sequence for part in step.parts if part.sequence.finish]
        self._scheduler.settle()
        return [self._end(sequence) for sequence in ended]

    def _end(self, sequence: Sequence) -> Talk:
        self.lengths.append(len(sequence.prompt) + len(sequence.made))
        talk = self._live.pop(sequence.request)
        said = b"".join(self._tokenizer.bytes(token) for token in sequence.made)
        talk.turns.append(Turn("assistant", said.decode()))
        return talk

    def _answer(self, count: int) -> list[int]:
        text = " ".join(self._chance.choice(_WORDS) for _ in range(count))
        return self._tokenizer.encode(text)[:count]

    def _measure(self) -> None:
        usage = self.pool.usage()
        self.paged.add(usage.used * PAGE, usage.filled)
        tables = [one.table for one in self._scheduler.sequences if one.table]
        whole = {page for table in tables for page in table.pages[: len(table.keys)]}
        part = sum(len(table.pages) - len(table.keys) for table in tables)
        tails = sum(len(table.tail) for table in tables)
        self.live.add((len(whole) + part) * PAGE, len(whole) * PAGE + tails)
        for one in self._scheduler.sequences:
            if one.table:
                self.contiguous.add(len(one.prompt) + one.limit, one.table.length)
                self.context.add(CONTEXT, one.table.length)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--pool-tokens", type=int, default=4096)
    parser.add_argument("--at-once", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    trace = Trace(Model.open(default_path()), asked.pool_tokens, asked.at_once, asked.seed)
    trace.run(mix(asked.sessions, random.Random(asked.seed)))
    usage = trace.pool.usage()
    print((__doc__ or "").partition("\n\n")[2])
    print(
        json.dumps(
            {
                "fragmentation": trace.paged.part,
                "fragmentation_live": trace.live.part,
                "contiguous": trace.contiguous.part,
                "contiguous_context": trace.context.part,
                "hit_rate": round(trace.pool.hit_rate, 4),
                "sessions": asked.sessions,
                "turns": len(trace.lengths),
                "tokens_a_turn_median": statistics.median(trace.lengths),
                "tokens_a_turn_mean": round(statistics.mean(trace.lengths), 1),
                "steps": trace.steps,
                "pool_tokens": trace.pool.pages * PAGE,
                "leaked_pages": trace.pool.pages - usage.cached - usage.free,
            }
        )
    )


if __name__ == "__main__":
    main()
