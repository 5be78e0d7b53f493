"""python -m tests.fuzz [--runs N] [TARGET …]: bounded fuzzing of everything that reads bytes.

examples:
  python -m tests.fuzz                            100,000 runs of each target
  python -m tests.fuzz --runs 5000000 gguf        one target at length
  python -m tests.fuzz.run gguf /tmp/crash-1234   one input again, with its traceback

What is found lies in the folder that is named at the end; the seeds in tests/fuzz/corpus
stay as they are.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp
from time import perf_counter

_SEEDS = Path(__file__).parent / "corpus"
_LIMITS = ("-timeout=20", "-rss_limit_mb=2048")
# Bytes of an input: longer ones cost runs and find nothing that these do not.
_LONGEST = {"gguf": 4096, "tokenizer": 512, "detokenizer": 128, "stops": 128}


def fuzz(target: str, runs: int) -> bool:
    """Show a target's output and a line with the runs that were really made; whether it failed."""
    found = Path(mkdtemp(prefix=f"fuzz-{target}-"))
    (found / "corpus").mkdir()
    command = [
        sys.executable, "-m", "tests.fuzz.run", target, f"-runs={runs}", *_LIMITS,
        f"-max_len={_LONGEST[target]}", f"-artifact_prefix={found}/", "-print_final_stats=1",
        found / "corpus", _SEEDS / target,
    ]  # fmt: skip
    begun, made = perf_counter(), 0
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace") as running:
        assert running.stderr
        for line in running.stderr:
            print(line, end="", file=sys.stderr)
            if count := re.match(r"#(\d+)\s|stat::number_of_executed_units: (\d+)", line):
                made = int(count[1] or count[2])
    seconds = perf_counter() - begun
    state = "ok" if running.returncode == 0 else f"FAILED ({running.returncode}), see {found}"
    print(f"{target}: {made} runs in {seconds:.0f} s: {state}", flush=True)
    return running.returncode != 0


def main() -> bool:
    """Whether a target failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(_LONGEST))
    parser.add_argument("--runs", type=int, default=100_000, help="of each target")
    chosen = parser.parse_args()
    if strange := set(chosen.targets) - _LONGEST.keys():
        parser.error(f"no target {', '.join(sorted(strange))}; there are {', '.join(_LONGEST)}")
    failed = [fuzz(target, chosen.runs) for target in chosen.targets or _LONGEST]
    return any(failed)


if __name__ == "__main__":
    sys.exit(main())
