"""Who asks during the demo: customers of several habits, in both languages."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.demo.fleet import NAMESPACE, kubectl

HOST = "assistant.split.cluster.local."


def tokens() -> dict[str, str]:
    """Bearer tokens of the seed's customers, by customer."""
    secret = json.loads(kubectl("-n", NAMESPACE, "get", "secret", "demo-tokens", "-o", "json"))
    return {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}


def orders(seconds: int, scale: float = 1.0) -> dict[str, Any]:
    """What the client pod is told; rates in requests/s, times `scale`."""
    known = tokens()
    balance = {
        "token": known["c-1001"],
        "query": "我的医保账户还剩多少钱？",
        "expect": r"12[,，]?680\.50",
    }
    english = {"token": known["c-1002"], "query": "Please explain my lab report.", "expect": "LDL"}
    return {
        "host": HOST,
        "port": 80,
        "seconds": seconds,
        "clients": [
            {"name": "fresh", "kind": "fresh", "rate": 16 * scale, **balance},
            {"name": "pinned", "kind": "pinned", "rate": 2 * scale, **balance},
            {"name": "pooled", "kind": "pooled", "rate": 2 * scale, **balance},
            {"name": "english", "kind": "fresh", "rate": 0.1 * scale, **english},
        ],
    }
