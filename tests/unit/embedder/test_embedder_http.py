"""The HTTP endpoint: OpenAI's embeddings, within bounds."""

import asyncio
import base64
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from apps.embedder import Embedder
from apps.embedder.app import create_app
from apps.embedder.errors import Busy
from apps.embedder.order import MAX_BYTES, MAX_TEXTS
from tests.unit.embedder.tiny_packed import POSITIONS

URL = "/v1/embeddings"


@pytest.fixture(scope="module")
def embedder(folder: Path) -> Iterator[Embedder]:
    with Embedder.open(folder, threads=2) as embedder:
        yield embedder


class Client:
    """Requests to one application, without a socket; each is over before the next."""

    def __init__(self, app: Any) -> None:
        self._transport = httpx.ASGITransport(app)

    async def ask(self, method: str, path: str, **how: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=self._transport, base_url="http://test") as client:
            return await client.request(method, path, **how)

    def post(self, **how: Any) -> httpx.Response:
        return asyncio.run(self.ask("POST", URL, **how))

    def get(self, path: str) -> httpx.Response:
        return asyncio.run(self.ask("GET", path))


@pytest.fixture(scope="module")
def client(embedder: Embedder) -> Client:
    return Client(create_app(embedder))


def test_texts_become_the_embedders_vectors(client: Client, embedder: Embedder) -> None:
    reply = client.post(json={"input": ["abc", "j" * 50], "input_type": "query"}).json()
    expected = embedder.embed(["abc", "j" * 50], "query")
    assert reply["model"] == embedder.model
    assert [one["index"] for one in reply["data"]] == [0, 1]
    for at, one in enumerate(reply["data"]):
        np.testing.assert_array_equal(np.float32(one["embedding"]), expected.vectors[at])
        assert (one["tokens"], one["cut"]) == (expected.tokens[at], expected.cut[at])
    assert reply["data"][1]["cut"] > 0
    assert reply["usage"]["total_tokens"] == expected.tokens.sum()
    assert reply["data"][1]["tokens"] == POSITIONS


def test_one_text_and_base64_as_openais_client_asks(client: Client, embedder: Embedder) -> None:
    asked = {"input": "资产", "model": embedder.model, "encoding_format": "base64", "user": "u"}
    (one,) = client.post(json=asked).json()["data"]
    vector = np.frombuffer(base64.b64decode(one["embedding"]), "<f4")
    np.testing.assert_array_equal(vector, embedder.embed(["资产"], "passage").vectors[0])


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({}, "neither a text nor a list"),
        ({"input": []}, "0 texts"),
        ({"input": ["a"] * (MAX_TEXTS + 1)}, "65 texts"),
        ({"input": [1]}, "neither a text nor a list"),
        ({"input": ["a", " "]}, "text 2 of 2 is empty"),
        ({"input": "a", "input_type": "question"}, "neither query nor passage"),
        ({"input": "a", "input_type": ["query"]}, "neither query nor passage"),
        ({"input": "a", "model": "other"}, "the model here is"),
        ({"input": "a", "encoding_format": "int8"}, "neither float nor base64"),
        ({"input": "a", "dimensions": 3}, "unknown field 'dimensions'"),
        (["a"], "no JSON object"),
    ],
)
def test_a_bad_order_is_refused_in_a_line(client: Client, asked: Any, why: str) -> None:
    reply = client.post(json=asked)
    assert reply.status_code == 400
    assert why in reply.json()["error"]
    assert "\n" not in reply.json()["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"input": NaN}', b"[" * 100_000])
def test_what_is_no_json_is_refused(client: Client, body: bytes) -> None:
    assert client.post(content=body).status_code == 400


def test_a_body_that_is_too_long_is_refused(client: Client) -> None:
    reply = client.post(content=b'{"input": "' + b"a" * MAX_BYTES + b'"}')
    assert reply.status_code == 413


def test_more_than_it_may_do_at_once_is_told_to_come_again(embedder: Embedder) -> None:
    began, finish = threading.Event(), threading.Event()

    class Slow:
        model = embedder.model

        def embed(self, texts: Any, kind: Any, timeout_s: Any) -> Any:
            began.set()
            finish.wait(30)
            return embedder.embed(texts, kind)

    client = Client(create_app(Slow(), max_in_progress=1))  # type: ignore[arg-type]

    async def both() -> tuple[httpx.Response, httpx.Response]:
        first = asyncio.create_task(client.ask("POST", URL, json={"input": "a"}))
        assert await asyncio.to_thread(began.wait, 30)
        refused = await client.ask("POST", URL, json={"input": "b"})
        finish.set()
        return await first, refused

    first, refused = asyncio.run(both())
    assert first.status_code == 200
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert client.post(json={"input": "b"}).status_code == 200


def test_an_answer_that_takes_too_long_is_given_up(embedder: Embedder) -> None:
    class Late:
        model = embedder.model

        def embed(self, texts: Any, kind: Any, timeout_s: float) -> Any:
            raise Busy(f"{len(texts)} texts took longer than {timeout_s:g} s")

    reply = Client(create_app(Late(), timeout_s=3)).post(  # type: ignore[arg-type]
        json={"input": ["a", "b"]}
    )
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
    assert reply.json()["error"] == "2 texts took longer than 3 s"


def test_more_bodies_than_it_has_room_for_are_told_to_come_again(embedder: Embedder) -> None:
    app = create_app(embedder, max_received=1)
    client = Client(app)

    async def both() -> tuple[httpx.Response, httpx.Response]:
        began, finish = asyncio.Event(), asyncio.Event()

        async def slowly() -> Any:
            began.set()
            yield b'{"input": '
            await finish.wait()
            yield b'"a"}'

        first = asyncio.create_task(client.ask("POST", URL, content=slowly()))
        await began.wait()
        await asyncio.sleep(0)
        refused = await client.ask("POST", URL, json={"input": "b"})
        finish.set()
        return await first, refused

    first, refused = asyncio.run(both())
    assert (first.status_code, refused.status_code) == (200, 503)
    assert "being received" in refused.json()["error"]


def test_probes_and_models(client: Client, embedder: Embedder) -> None:
    assert client.get("/livez").text == client.get("/readyz").text == "ok\n"
    assert client.get("/v1/models").json()["data"][0]["id"] == embedder.model
