"""`export`: the recording in another tool's format."""

import sys
import urllib.error
import urllib.request
from argparse import Namespace
from collections.abc import Callable

from observability.bpf.errors import TraceError
from observability.cli.reading import read
from observability.export.chrome import chrome
from observability.export.otlp import otlp
from observability.export.prometheus import prometheus
from observability.export.speedscope import speedscope
from observability.session.session import Loss, Request, Session

_Render = Callable[[Session, list[Request], Loss], str]
FORMATS: dict[str, _Render] = {
    "speedscope": lambda _, requests, loss: speedscope(requests, str(loss)),
    "chrome": lambda _, requests, loss: chrome(requests, str(loss)),
    "otlp": lambda session, requests, _: otlp(session, requests),
    "prometheus": lambda session, requests, loss: prometheus(session, requests, loss),
}
_POST_S = 30


def run(arguments: Namespace) -> int:
    """Print the text, or post it."""
    session, loss = read(arguments.files)
    if arguments.request:
        requests = [session.request(arguments.request)]
    else:
        requests = list(session.requests.values())
    text = FORMATS[arguments.format](session, requests, loss)
    if arguments.to:
        if arguments.format != "otlp":
            raise TraceError("only OTLP is posted; write the others to a file")
        _post(arguments.to, text)
    else:
        print(text)
    print(loss, file=sys.stderr)
    return 0


def _post(url: str, text: str) -> None:
    if not url.startswith(("http://", "https://")):
        raise TraceError(f"{url} is no address of a collector; it begins with http:// or https://")
    request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
        url, text.encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_POST_S):  # noqa: S310
            pass
    except (urllib.error.URLError, OSError) as error:
        raise TraceError(f"the collector at {url} did not take it: {error}") from None
