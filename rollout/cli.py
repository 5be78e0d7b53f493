"""`rollout`: arguments only. What a command does is in `cli_emergency` or `cli_commands`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from rollout.errors import RolloutError
from rollout.names import LANES, Names, from_environment

EXAMPLES = """\
examples:
  rollout status                      what serves, what is on its way
  rollout undo                        everything back to the release before
  rollout undo --to-revision 12       ... to an older one, whose pods may have to start
  rollout split 10                    hold the candidate at 10 % until `rollout resume`
  rollout deploy HEAD --wait 300      release a commit and watch it
  rollout plan                        what a push would do now, and how long it would take
  rollout --output json status        for a program

The cluster is the one that KUBECONFIG names. Every command can be repeated:
what is true already is said and left alone (exit status 0); what cannot be
done is one line (exit status 1); wrong usage is exit status 2.
"""


def main(words: Sequence[str], began: float) -> int:
    """Run one command; the exit status. `began`: monotonic seconds at the process's start."""
    given = parser().parse_args(words)
    try:
        return _run(given, from_environment(os.environ.get("ROLLOUT_NAMES")), began)
    except RolloutError as error:
        return _failed(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader (head, less) has gone: nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("rollout", "images"):
            raise
        return _failed(error)


def _run(given: argparse.Namespace, names: Names, began: float) -> int:
    if given.command in ("undo", "abort"):
        from rollout import cli_emergency

        return cli_emergency.run(given, names, began)
    from rollout import cli_commands

    return cli_commands.run(given, names)


def _failed(error: Exception) -> int:
    print(f"rollout: {error}", file=sys.stderr)
    return 1


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(
        prog="rollout",
        description="Move the assistant's traffic between two lanes, and back.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--output", choices=("text", "json"), default="text")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--output", choices=("text", "json"), default=argparse.SUPPRESS, help="default: text"
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, text: str, example: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=f"example:\n  {example}",
            parents=[shared],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    _undo(add("undo", "send everything back to the release before", "rollout undo"))
    _force(add("abort", "end the candidate; its share goes to 0 at once", "rollout abort"))
    add("status", "show what serves and what is on its way", "rollout status")
    _deploy(add("deploy", "release a commit or the tip of a branch", "rollout deploy HEAD"))
    split = add("split", "hold the candidate at a share by hand", "rollout split 10 --wait 30")
    split.add_argument("percent", type=int, metavar="N", help="0 to 99, in percent of lookups")
    _wait(split)
    _wait(add("promote", "skip the remaining steps (never the scenarios)", "rollout promote"))
    add("resume", "end a hold; for an inconclusive step, approve it", "rollout resume")
    _forget(add("forget", "let go of commits held long ago", "rollout forget --older-than 90"))
    add("history", "list every release and what became of it", "rollout history")
    add("plan", "show what a push would do now and how long it would take", "rollout plan")
    _init(add("init", "take over a lane that an admin has applied", "rollout init --lane blue"))
    _hook(add("hook", "print or install the post-receive hook", "rollout hook --install R.git"))
    _serve(add("serve", "run the controller (in the cluster)", "rollout serve --port 8080"))
    return top


def _undo(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--to-revision", type=int, metavar="N", help="a release that was promoted once"
    )
    one.add_argument(
        "--timeout", type=float, default=300.0, metavar="S",
        help="how long to wait for the pods of a release that must be started (default 300)",
    )  # fmt: skip
    _force(one)


def _force(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--force", action="store_true", help="move the traffic also to a lane without a Ready pod"
    )


def _deploy(one: argparse.ArgumentParser) -> None:
    what = one.add_mutually_exclusive_group(required=True)
    what.add_argument("commit", nargs="?", help="a commit: sha, prefix, or a name in this checkout")
    what.add_argument("--branch", help="the tip of this branch of the controller's repository")
    one.add_argument(
        "--give-up-undo", action="store_true",
        help="start now, although the lane of the release before is still at hand for an undo",
    )  # fmt: skip
    _wait(one)


def _forget(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--older-than", type=float, metavar="DAYS", required=True,
        help="those that were held more than DAYS ago may be released again",
    )  # fmt: skip


def _wait(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--wait", type=float, metavar="S", help="wait until it is done, at most S seconds"
    )


def _init(one: argparse.ArgumentParser) -> None:
    one.add_argument("--lane", choices=LANES, required=True)
    one.add_argument(
        "--overlay", metavar="PATH",
        help="the lane's overlay below this folder (default deploy/overlays/prod/LANE)",
    )  # fmt: skip


def _hook(one: argparse.ArgumentParser) -> None:
    one.add_argument("--url", help="the webhook (default: the rollout Service's address)")
    one.add_argument("--install", metavar="REPOSITORY", help="a bare repository of this machine")


def _serve(one: argparse.ArgumentParser) -> None:
    one.add_argument("--host", default="0.0.0.0", help="default 0.0.0.0")  # noqa: S104
    one.add_argument("--port", type=int, default=8080, help="default 8080")
    one.add_argument("--folder", default="/var/lib/rollout", help="for the clone")
