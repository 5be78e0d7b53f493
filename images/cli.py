"""The command line of this package."""

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from images import cache, check, debian, leftovers, registry, requirements
from images.build import Built, build, pushed
from images.errors import ImageError
from images.inputs import InputsError
from images.lock import COMPONENT, LOCK, Lock, Locked, read, write
from images.recipe import names, recipe

_MB = 1e6
_FAILED = 1
_INTERRUPTED = 130


def main(words: Sequence[str]) -> int:
    """Run one command; the exit status. A failure is one line on standard error."""
    options = _parser().parse_args(words)
    try:
        if options.command in ("build", "check") and os.geteuid() != 0:
            raise ImageError("building needs root (a bootstrap and a chroot): run it as root")
        return int(options.run(options))
    except (ImageError, InputsError) as bad:
        print(f"images: {bad}", file=sys.stderr)
        return _FAILED
    except KeyboardInterrupt:
        print("images: interrupted; the next build goes on from what is finished", file=sys.stderr)
        return _INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m images",
        description="Build the images, push them, and pin what is in them.",
        epilog="example: python -m images build gateway --push",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--root", type=Path, default=Path(), help="the checkout (default: here)")
    common.add_argument("--output", choices=("text", "json"), default="text")
    common.add_argument("--registry", help=f"default: $REGISTRY, else {registry.DEFAULT}")
    for name, run, text, example in (
        ("build", _build, "build images; with --push, push them and write lock and component",
         "gateway --push"),
        ("lock", _lock, "write lock and component from what was pushed", ""),
        ("check", _check, "look into built images: user, entry, set-id files, imports", "gateway"),
        ("requirements", _requirements, "pin the packages of each image again", ""),
    ):  # fmt: skip
        command = commands.add_parser(
            name,
            help=text,
            description=text,
            epilog=f"example: python -m images {name} {example}",
            parents=[common],
        )
        command.set_defaults(run=run)
        if name in ("build", "check"):
            command.add_argument("names", nargs="*", metavar="NAME", help="default: every image")
        if name == "build":
            command.add_argument("--push", action="store_true", help="push what is not there yet")
    return parser


def _build(options: argparse.Namespace) -> int:
    root = options.root.resolve()
    target = registry.chosen(options.registry) if options.push else None
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {line}", file=sys.stderr, flush=True)

    debian.install_tools(say)
    if target:
        registry.reach(target)
    done: list[Built] = []
    with cache.held(say):
        for name in options.names or names(root):
            done.append(build(root, name, target, say))
            say(_line(done[-1]))
        if target:
            write(root, _locked(root, target))
        _forget(root, say)
    if options.output == "json":
        print(json.dumps([dataclasses.asdict(one) for one in done], indent=2))
    elif target:
        say(f"wrote {LOCK} and {COMPONENT}")
    return 0


def _forget(root: Path, say: Callable[[str], None]) -> None:
    """Bound the cache: what this tree is made of now counts as wanted."""
    for name in names(root):
        with suppress(ImageError):  # not this command's errand
            leftovers.note(recipe(root, name))
    try:
        if old := leftovers.forget():
            say(f"removed {old} old images and layers from the cache")
    except ImageError as bad:
        say(f"old images stay in the cache: {bad}")


def _line(built: Built) -> str:
    size = f", {built.packed / _MB:.1f} MB packed" if built.packed else ""
    return f"{built.name}: {built.what} in {built.seconds:.1f} s{size} {built.digest or ''}"


def _locked(root: Path, target: str) -> Lock:
    """What is pushed of the tree as it is; an image that is not keeps its line of this registry."""
    old = read(root)
    images = dict(old.images) if old and old.registry == target else {}
    for name in names(root):
        try:
            plan = recipe(root, name)
        except ImageError:
            # Not this command's errand: the image keeps its line.
            continue
        if stored := pushed(target, plan):
            images[name] = Locked(plan.inputs_hash, stored.digest)
    return Lock(target, images)


def _lock(options: argparse.Namespace) -> int:
    root = options.root.resolve()
    target = registry.chosen(options.registry)
    lock = _locked(root, target)
    late = [
        name
        for name in names(root)
        if name not in lock.images or lock.images[name].inputs != recipe(root, name).inputs_hash
    ]
    if late:
        command = f"python -m images build --push --registry {target} {' '.join(late)}"
        raise ImageError(f"not pushed as they are now: {', '.join(late)}: run `{command}`")
    write(root, lock)
    print(f"wrote {LOCK} and {COMPONENT}: {len(lock.images)} images of {target}")
    return 0


def _check(options: argparse.Namespace) -> int:
    root = options.root.resolve()
    reports = [check.check(recipe(root, name)) for name in options.names or names(root)]
    if options.output == "json":
        print(json.dumps([dataclasses.asdict(report) for report in reports], indent=2))
    else:
        for report in reports:
            print(f"{report.name}: {report.unpacked / _MB:.0f} MB unpacked, {report.started}")
            for finding in report.findings:
                print(f"{report.name}: {finding}", file=sys.stderr)
    return _FAILED if any(report.findings for report in reports) else 0


def _requirements(options: argparse.Namespace) -> int:
    for file in requirements.write(options.root.resolve()):
        print(f"wrote {file}")
    return 0
