"""What a client of the HTTP endpoint may ask, and what it gets: OpenAI's embeddings API. Pure."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apps import strict_json
from apps.embedder.embedder import F32, Embedded, Kind
from apps.embedder.errors import BadText

MAX_BYTES = 1 << 20
MAX_TEXTS = 64
_FIELDS = {"input", "input_type", "model", "encoding_format", "user"}
_KINDS: dict[str, Kind] = {"query": "query", "passage": "passage"}


@dataclass(frozen=True)
class Order:
    """Texts to embed as one kind, and whether vectors are wanted as base64."""

    texts: tuple[str, ...]
    kind: Kind
    base64: bool


def read(body: bytes, model: str) -> Order:
    """The order in a request's body. Errors: `BadJSON`, `BadText`; both are for the client."""
    value = strict_json.loads(body, max_bytes=MAX_BYTES)
    if not isinstance(value, dict):
        raise BadText('the body is no JSON object; send {"input": ["…"]}')
    if unknown := sorted(set(value) - _FIELDS):
        raise BadText(f"unknown field {unknown[0]!r}; use {', '.join(sorted(_FIELDS))}")
    if value.get("model", model) != model:
        raise BadText(f"the model here is {model}; name it or none")
    kind = _KINDS.get(_text(value, "input_type", "passage"))
    if kind is None:
        raise BadText("input_type is neither query nor passage; a question is a query")
    encoding = _text(value, "encoding_format", "float")
    if encoding not in ("float", "base64"):
        raise BadText("encoding_format is neither float nor base64")
    return Order(_texts(value.get("input")), kind, encoding == "base64")


def reply(order: Order, embedded: Embedded, model: str) -> dict[str, Any]:
    """The body of the answer; OpenAI's fields and, for each text, `tokens` and `cut`."""
    shown: Callable[[F32], Any] = _as_base64 if order.base64 else _as_numbers
    total = int(embedded.tokens.sum())
    return {
        "object": "list",
        "model": model,
        "data": [
            {
                "object": "embedding",
                "index": at,
                "embedding": shown(embedded.vectors[at]),
                "tokens": int(embedded.tokens[at]),
                "cut": int(embedded.cut[at]),
            }
            for at in range(len(order.texts))
        ],
        "usage": {"prompt_tokens": total, "total_tokens": total},
    }


def _texts(given: Any) -> tuple[str, ...]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise BadText("input is neither a text nor a list of texts")
    if not 1 <= len(texts) <= MAX_TEXTS:
        raise BadText(f"input has {len(texts)} texts; send 1 to {MAX_TEXTS}")
    return tuple(texts)


def _text(value: dict[str, Any], name: str, default: str) -> str:
    found = value.get(name, default)
    return found if isinstance(found, str) else ""


def _as_numbers(vector: F32) -> list[float]:
    return [float(number) for number in vector]


def _as_base64(vector: F32) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()
