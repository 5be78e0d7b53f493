"""The command line."""

import argparse
from pathlib import Path

from observability.bpf.kernel import OLDER
from observability.cli import check, demo, export, flame, page, record, request, serve, top
from observability.export.folded import WEIGHTS
from observability.gpu.rules import RULES

_EXAMPLES = """
examples:
  python -m observability check                       what this node can do, and why not
  python -m observability record --pid 1234 --out t.jsonl
  python -m observability top t.jsonl --follow        the slowest requests, live
  python -m observability request 7f3a t.jsonl        one request's whole story
  python -m observability flame --weight discarded t.jsonl > waste.folded
  python -m observability export speedscope t.jsonl > t.speedscope.json
  python -m observability page t.jsonl ring.jsonl --out why.html
  python -m observability demo                        all of it, without cluster or GPU
"""


def parser() -> argparse.ArgumentParser:
    """The parser; the chosen command is `run`."""
    whole = argparse.ArgumentParser(
        prog="python -m observability",
        description="Which functions a request ran, what GPU memory they held, and how many of"
        " its tokens nobody read.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = whole.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, text: str, example: str) -> argparse.ArgumentParser:
        shown = f"example: python -m observability {name} {example}"
        return commands.add_parser(name, help=text, description=f"{text}.", epilog=shown)

    _check(add("check", "what this node can do, and why not", "--output json"))
    _record(add("record", "trace processes into a file", "--pid 1234 --out t.jsonl"))
    _serve(add("serve", "trace the pods of this node (the DaemonSet)",
               "--namespace prod --selector app=gateway --node n1 --out t.jsonl"))  # fmt: skip
    _top(add("top", "the slowest requests", "t.jsonl --follow"))
    _request(add("request", "one request's story", "7f3a t.jsonl"))
    _flame(add("flame", "folded stacks for a flame graph", "--weight discarded t.jsonl"))
    _export(add("export", "the recording in another tool's format", "speedscope t.jsonl"))
    _page(add("page", "the diagnostic page, one HTML file", "t.jsonl ring --out why.html"))
    _demo(add("demo", "a demonstration without cluster or GPU", "--out /tmp/incident"))
    return whole


def _check(p: argparse.ArgumentParser) -> None:
    p.add_argument("--output", choices=("text", "json"), default="text")
    p.set_defaults(run=check.run)


def _record(p: argparse.ArgumentParser) -> None:
    p.add_argument("--pid", type=int, action="append", default=[], help="and what it started")
    _recording(p)
    p.add_argument("--seconds", type=float, default=float("inf"), help="how long (default: ^C)")
    p.set_defaults(run=record.run)


def _serve(p: argparse.ArgumentParser) -> None:
    p.add_argument("--namespace", action="append", required=True, help="whose pods; repeatable")
    p.add_argument("--selector", required=True, help="their labels: 'app in (gateway,pipeline)'")
    p.add_argument("--node", required=True, help="this node's name")
    p.add_argument("--port", type=int, default=9102, help="for /livez, /metrics, /scenarios, /gpu")
    p.add_argument(
        "--rules", type=Path, default=RULES, help="what GPU counters mean (gpu/rules.toml)"
    )
    _recording(p)
    p.set_defaults(run=serve.run)


def _recording(p: argparse.ArgumentParser) -> None:
    p.add_argument("--out", type=Path, required=True, help="the file; full, it becomes FILE.1")
    p.add_argument("--megabytes", type=_positive, default=256, help="when the file is full")
    p.add_argument("--no-gpu", dest="gpu", action="store_false", help="leave CUDA calls out")
    p.add_argument("--no-waits", dest="waits", action="store_false",
                   help="leave waits for the CPU and the GIL out")  # fmt: skip
    for way, why in OLDER.items():
        p.add_argument(f"--{way}", dest="older", action="append_const", const=way, default=[],
                       help=why)  # fmt: skip


def _top(p: argparse.ArgumentParser) -> None:
    _files(p)
    p.add_argument("--follow", action="store_true", help="again every second, until ^C")
    p.set_defaults(run=top.run)


def _request(p: argparse.ArgumentParser) -> None:
    p.add_argument("id", help="or how it begins")
    _files(p)
    p.set_defaults(run=request.run)


def _flame(p: argparse.ArgumentParser) -> None:
    p.add_argument("--weight", choices=tuple(WEIGHTS), default="time")
    _files(p)
    p.set_defaults(run=flame.run)


def _export(p: argparse.ArgumentParser) -> None:
    p.add_argument("format", choices=tuple(export.FORMATS))
    _files(p)
    p.add_argument("--request", help="only this one")
    p.add_argument("--to", metavar="URL", help="OTLP: post it to a collector's /v1/traces")
    p.set_defaults(run=export.run)


def _page(p: argparse.ArgumentParser) -> None:
    _files(p)
    p.add_argument("--out", type=Path, required=True)
    p.set_defaults(run=page.run)


def _demo(p: argparse.ArgumentParser) -> None:
    p.add_argument("--out", type=Path, default=Path("demo"), help="a folder for what it makes")
    p.set_defaults(run=demo.run)


def _files(p: argparse.ArgumentParser) -> None:
    p.add_argument("files", type=Path, nargs="+", metavar="FILE", help="recordings, ring exports")


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)
