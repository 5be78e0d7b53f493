"""A program that is run within bounds: time, memory, and how much it may print.

What it reads comes from a commit, and a few lines of a commit can ask for gigabytes.
"""

from __future__ import annotations

import os
import resource
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence

MEMORY = 256 << 20
"""Bytes of writable memory."""
OUTPUT = 16 << 20
_ERRORS = 64 << 10
_CHUNK = 64 << 10


class TooLong(Exception):
    """The program did not end in time."""


class TooMuch(Exception):
    """The program printed more than it may."""


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    timeout_s: float,
    output: int = OUTPUT,
) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end, with an empty input; of its errors the first 64 KiB are kept.

    `output`: the most bytes that it may print. Raises TooLong and TooMuch; it is dead then.
    """
    until = time.monotonic() + timeout_s
    with subprocess.Popen(  # no shell
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as child:
        try:
            resource.prlimit(child.pid, resource.RLIMIT_DATA, (MEMORY, MEMORY))
            printed, errors = _read(child, output, until)
            child.wait(max(until - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            child.kill()
            raise TooLong from None
        except BaseException:
            child.kill()
            raise
    return subprocess.CompletedProcess(command, child.returncode, printed, errors)


def _read(child: subprocess.Popen[bytes], output: int, until: float) -> tuple[bytes, bytes]:
    """What it prints on both pipes until it has closed them."""
    assert child.stdout is not None
    assert child.stderr is not None
    out, err = child.stdout.fileno(), child.stderr.fileno()
    kept = {out: bytearray(), err: bytearray()}
    with selectors.DefaultSelector() as open_pipes:
        for pipe in kept:
            open_pipes.register(pipe, selectors.EVENT_READ)
        while open_pipes.get_map():
            left = until - time.monotonic()
            ready = open_pipes.select(left) if left > 0 else []
            if not ready:
                raise TooLong
            for key, _ in ready:
                piece = os.read(key.fd, _CHUNK)
                if not piece:
                    open_pipes.unregister(key.fd)
                kept[key.fd] += piece
            if len(kept[out]) > output:
                raise TooMuch
            del kept[err][_ERRORS:]
    return bytes(kept[out]), bytes(kept[err])
