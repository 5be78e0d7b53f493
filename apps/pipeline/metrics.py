"""Triton's metrics page, read on the loopback: which models made progress."""

import re
import urllib.request

TOKENS_METRIC = "switchyard_tokens"
TIMEOUT_S = 5.0
_SUCCESS = re.compile(r'^nv_inference_request_success\{model="([a-z]+)",[^}]*\} (\S+)$', re.M)
_TOKENS = re.compile(rf"^{TOKENS_METRIC}(?:\{{[^}}]*\}})? (\S+)$", re.M)


def progress(port: int) -> dict[str, float]:
    """{model: a count that rises with each answer}, from the metrics page on the loopback;
    empty while the server starts. For `answer` it counts tokens: requests say only that they
    were accepted."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=TIMEOUT_S) as page:
            text = page.read().decode()
    except OSError:
        return {}
    return counts(text)


def counts(page: str) -> dict[str, float]:
    """The same, from the page's text."""
    found = {name: float(value) for name, value in _SUCCESS.findall(page)}
    tokens = _TOKENS.search(page)
    return {**found, "answer": float(tokens[1]) if tokens else 0.0} if found else {}
