"""`python -m apps.local`: PostgreSQL, tickets, Triton and the gateway, until Ctrl-C."""

import argparse
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType

from apps.local.assistant import Assistant
from apps.local.check import check
from apps.local.errors import LocalError
from apps.local.state import State, default_folder

WATCH_EVERY_S = 1.0


class Stopped(BaseException):
    """SIGINT or SIGTERM came: leave every block, so that every part is stopped."""


def main(arguments: list[str] | None = None) -> int:
    """0 after Ctrl-C or a good --check, 1 when a part fails or a reply is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m apps.local",
        description=__doc__,
        epilog="example: python -m apps.local --port 8090 --check",
    )
    parser.add_argument("--port", type=int, default=8080, help="of the gateway (8080)")
    parser.add_argument("--state", type=Path, default=default_folder(), help="folder for the data")
    parser.add_argument("--check", action="store_true", help="ask three questions, then stop")
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    steps = _Steps()
    try:
        with Assistant(State(options.state.absolute()), options.port, steps.say) as assistant:
            steps.say("ready")
            if options.check:
                return 0 if check(assistant.url, assistant.secrets.tokens, print) else 1
            print(welcome(assistant), flush=True)
            while True:
                time.sleep(WATCH_EVERY_S)
                assistant.check()
    except LocalError as error:
        print(f"local: {error}", file=sys.stderr)
        return 1
    except Stopped:
        steps.say("stopped")
        return 0


def welcome(assistant: Assistant) -> str:
    """What a person needs to try the assistant."""
    tokens = assistant.secrets.tokens
    rows = "\n".join(f"  {customer}  {token}" for customer, token in tokens.items())
    examples = "\n".join(
        f"  curl -s {assistant.url}/v1/chat -H 'Authorization: Bearer {tokens[customer]}' "
        f'--json \'{{"query": "{query}", "session": "s{at}", "message_id": "m{at}"}}\''
        for at, (customer, query) in enumerate(
            [
                ("c-1001", "我的医保余额还有多少？"),
                ("c-1002", "Please explain my lab report"),
                ("c-1002", "I want to complain about your hotline"),
            ],
            start=1,
        )
    )
    return (
        f"\nChat page: {assistant.url}/\n\nCustomers and their tokens:\n{rows}\n\n"
        f"Try:\n{examples}\n\n"
        f"Tickets, for staff: {assistant.tickets_url}/ (user staff, password"
        f" {assistant.secrets.staff_token})\n\nCtrl-C stops everything."
    )


class _Steps:
    """Prints each step with the seconds since the start."""

    def __init__(self) -> None:
        self._begun = time.monotonic()

    def say(self, line: str) -> None:
        # Whoever read our output may be gone; that must not keep the parts from being stopped.
        with suppress(BrokenPipeError):
            print(f"{time.monotonic() - self._begun:6.1f} s  {line}", flush=True)


def _stop(number: int, frame: FrameType | None) -> None:
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    raise Stopped


if __name__ == "__main__":
    sys.exit(main())
