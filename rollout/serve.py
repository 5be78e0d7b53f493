"""`rollout serve`: the loop, the poller and a small HTTP server, until SIGTERM."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
import uuid
from pathlib import Path

from rollout import access
from rollout.cluster import Api
from rollout.controller import Controller
from rollout.discardsource import DiscardSource
from rollout.errors import RolloutError
from rollout.examine import Check
from rollout.jobs import Jobs
from rollout.lease import Lease
from rollout.names import Names
from rollout.perform import Performer
from rollout.push import Poller
from rollout.samplesource import SampleSource
from rollout.web import Server

log = logging.getLogger("rollout")

SAMPLES_BUSY_S = 1.0
SAMPLES_QUIET_S = 5.0
DISCARDS_S = 5.0


def serve(names: Names, folder: Path, address: tuple[str, int], checks: list[Check]) -> int:
    """Run until SIGTERM or SIGINT; the exit status."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    api = Api(access.find())
    woken = threading.Event()
    performer = Performer(
        api, names, direct=True, jobs=Jobs(woken.set), folder=folder, checks=checks
    )
    source = SampleSource(api, names)
    lease = Lease(
        api, names, f"{os.environ.get('HOSTNAME') or socket.gethostname()}_{uuid.uuid4()}"
    )
    discards = DiscardSource(api, names)
    controller = Controller(api, names, lease, performer, source, woken, discards=discards)
    poller = Poller(api, names, performer, woken, lambda: controller.picture.leading)
    server = Server(address, api, names, controller.picture, performer, woken)
    threads = [
        threading.Thread(target=controller.run, args=(stop.is_set,), name="loop"),
        threading.Thread(target=poller.run, args=(stop.is_set,), name="poll", daemon=True),
        threading.Thread(target=_sample, args=(source, controller, stop), daemon=True),
        threading.Thread(target=_count, args=(discards, controller, stop), daemon=True),
        threading.Thread(target=server.serve_forever, name="http", daemon=True),
    ]
    for thread in threads:
        thread.start()
    log.info("serving on %s:%d", *address)
    stop.wait()
    woken.set()
    threads[0].join(timeout=10)
    server.shutdown()
    return 0


def _sample(source: SampleSource, controller: Controller, stop: threading.Event) -> None:
    while not stop.is_set():
        state = controller.picture.state
        try:
            if controller.picture.leading:
                source.poll()
        except RolloutError as error:
            log.info("samples: %s", error)
        except Exception:  # a fault of ours: without samples a step holds, it never passes
            log.exception("samples")
        busy = state is not None and state.candidate is not None
        stop.wait(SAMPLES_BUSY_S if busy else SAMPLES_QUIET_S)


def _count(discards: DiscardSource, controller: Controller, stop: threading.Event) -> None:
    """Ask the tracing agents while a release is on its way."""
    while not stop.wait(DISCARDS_S):
        state = controller.picture.state
        if not controller.picture.leading or state is None or state.candidate is None:
            continue
        try:
            discards.poll(time.time())
        except Exception:  # a fault of ours: without agents a release goes on as without them
            log.exception("discards")
