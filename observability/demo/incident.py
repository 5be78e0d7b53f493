"""Plays the incident: `python -m observability.demo.incident FOLDER`.

It waits for a tracer, serves its requests, a few at a time, and leaves a ring in FOLDER."""

import asyncio
import sys
import time
from pathlib import Path

from observability import native, probes
from observability.agent.clock import boot_id, now_ns
from observability.probes.request import REQUEST_ID, begin
from observability.ring import Ring

ASSISTANT = "observability.demo.assistant"
INTENTS = ("complaint", "insurance_balance", "lab_report", "document_question", "other")
# A prime number, so that no count is right by chance.
REQUESTS = 47
_TOGETHER = 3
_PATIENCE_S = 30.0
_CLIENT_LEFT = 1
_EVERY_POINT = native.FUNCTIONS | native.OBJECTS | native.CHAINS | native.TOKENS


def main() -> int:
    folder = Path(sys.argv[1])
    probes.start({"PROBES": ASSISTANT})
    # Only now: the import hook must be there first.
    from observability.demo.assistant import Assistant
    from observability.demo.stand_in import Gpu

    points = native.load()
    assistant = Assistant(Gpu(folder))
    end = time.monotonic() + _PATIENCE_S
    while points.attached() != _EVERY_POINT:
        if time.monotonic() > end:
            print("error: nobody traces this process", file=sys.stderr)
            return 1
        time.sleep(0.01)
    asyncio.run(_serve(assistant, points, Ring(folder / "ring", points)))
    return 0


async def _serve(assistant: object, points: native.Native, ring: Ring) -> None:
    room = asyncio.Semaphore(_TOGETHER)

    async def one(number: int) -> None:
        async with room:
            await _request(assistant, points, ring, number)

    await asyncio.gather(*(one(number) for number in range(REQUESTS)))


async def _request(assistant: object, points: native.Native, ring: Ring, number: int) -> None:
    from observability.demo.assistant import Assistant, TokenSink

    assert isinstance(assistant, Assistant)
    intent = INTENTS[number % len(INTENTS)]

    class Told(TokenSink):
        def token(self, number: int, *, read: bool) -> None:
            request = REQUEST_ID.get()
            points.token(request, number, native.GENERATED, 0)
            points.token(request, number, native.HANDED, 0)
            if read:
                points.token(request, number, native.DELIVERED, 0)
            else:
                points.token(request, number, native.DISCARDED, _CLIENT_LEFT)

    started = now_ns()
    name = f"demo-{number:03}"
    with begin(name):
        answer = await assistant.serve(intent, Told())
    ring.append(
        {
            "request_id": name,
            "t_ns": now_ns(),
            "boot": boot_id(),
            "intent": intent,
            "lane": "demo",
            "outcome": answer.outcome,
            "stages": {"whole": now_ns() - started},
            "tokens": {"generated": answer.generated, "delivered": answer.delivered},
        }
    )


if __name__ == "__main__":
    sys.exit(main())
