"""`check`: what this node can do, and why not."""

import json
from argparse import Namespace
from dataclasses import asdict

from observability.agent.check import checks

_WORDS = {True: "yes", False: "NO", None: "n/a"}


def run(arguments: Namespace) -> int:
    """Print the checks; 1 if something that is needed does not work."""
    done = []
    for check in checks():
        done.append(check)
        if arguments.output == "text":
            print(f"{_WORDS[check.ok]:<4} {check.name:<16} {check.detail}", flush=True)
    if arguments.output == "json":
        print(json.dumps([asdict(check) for check in done]))
    return int(any(check.ok is False for check in done))
