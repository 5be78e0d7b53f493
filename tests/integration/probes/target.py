"""`python -m tests.integration.probes.target`: a traced process with a known workload."""

import asyncio
import sys
from pathlib import Path

from observability import native, probes
from observability.probes.request import begin, begin_all

PACKAGE = "tests.unit.probes.workload"
CONTROL = Path("/tmp/probes")


def main() -> None:
    CONTROL.write_text(f"function {PACKAGE}.*\ntype {PACKAGE}.Made\n")
    assert probes.start({"PROBES": PACKAGE, "PROBES_CONTROL": str(CONTROL)})
    from tests.unit.probes import workload

    points = native.load()
    print("ready", flush=True)
    sys.stdin.readline()
    with begin("plain"):
        workload.calls()
        workload.pauses()
    with begin("async"):
        asyncio.run(workload.awaits())
        asyncio.run(workload.elsewhere())
    # As a thread does that serves many: for one alone, for several at once, for nobody.
    for names in (["alone"], ["alone", "other"], []):
        with begin_all(names):
            workload.leaf(1)
    for number in range(31):
        points.token(b"plain", number, native.GENERATED, 0)
    print("done", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
