"""`demo`: play the incident, trace it, and show what was found."""

import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

from observability.agent.recorder import Recorder
from observability.agent.recording import RecordingFile
from observability.bpf.errors import TraceError
from observability.cli.reading import read
from observability.cli.record import programs
from observability.demo.stand_in import compile_into
from observability.export.notes import notes
from observability.export.speedscope import speedscope
from observability.export.text import story, table
from observability.view.page import page

_ROOT = Path(__file__).parents[2]


def run(arguments: Namespace) -> int:
    """Make the folder's recording, page and profile, and print the worst request's story."""
    folder: Path = arguments.out.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    compile_into(folder)
    play(folder)
    session, loss = read([folder / "recording.jsonl", folder / "ring"])
    (folder / "page.html").write_text(page(session, loss), encoding="utf-8")
    profile = speedscope(session.requests.values(), str(loss))
    (folder / "profile.speedscope.json").write_text(profile, encoding="utf-8")
    requests = session.requests.values()
    print(table(requests, loss, most=10))
    slowest = max(requests, key=lambda request: request.end_ns - request.start_ns)
    print(story(slowest, loss, session.watts(slowest)))
    print(*notes(session), sep="\n")
    print(f"open {folder}/page.html in a browser, profile.speedscope.json in speedscope")
    return 0


def play(folder: Path) -> None:
    """Run the incident under the recorder; `folder` has the stand-ins. Errors: `TraceError`."""
    (folder / "ring").unlink(missing_ok=True)
    file = RecordingFile(folder / "recording.jsonl", 1 << 30)
    recorder = Recorder(programs(Namespace(gpu=True, waits=True)), file.write)
    child = subprocess.Popen(
        [sys.executable, "-m", "observability.demo.incident", str(folder)],
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )
    try:
        recorder.run(lambda: [child.pid], lambda: child.poll() is not None)
    finally:
        child.kill()
        code = child.wait()
        recorder.close()
        file.close()
    if code:
        raise TraceError(f"the incident ended with {code}; see above")
