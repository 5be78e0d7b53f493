"""The lane's Triton over gRPC: one unary call to `assistant`, one stream from `answer`."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

from apps.gateway import tensors
from apps.gateway.routed import BadResult, Routed, read_result
from apps.gateway.stops import GONE, Running

log = logging.getLogger(__name__)

_OPTIONS = (
    # A pod that was replaced is found again at once, not after gRPC's usual two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # A server takes pings more often than this, without data between them, for an attack.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 3_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_receive_message_length", 1 << 20),
    ("grpc.enable_http_proxy", 0),
)
_END = {"stop", "length"}
NO_TOKEN = -1


class PipelineFailed(Exception):
    """The pipeline did not answer; `str()` is one line that may be shown to a customer."""

    def __init__(self, why: str, *, late: bool = False) -> None:
        super().__init__(why)
        self.late = late


class Ended(Exception):
    """The request was ended (see Running.ended) while the pipeline was at work."""


@dataclass(frozen=True, slots=True)
class Word:
    """More of the model's text, maybe empty, and "" or how it finished.

    The token behind it, if there is one, was made at `at_ns` on the pipeline's monotonic
    clock, in a step that did `share` of its work for this request. Of the `prompt` tokens of
    the question `found` were computed before.
    """

    text: str
    finish: str
    token: int = NO_TOKEN
    at_ns: int = 0
    share: float = 1.0
    prompt: int = 0
    found: int = 0


class Pipeline:
    """One channel to one lane's pipeline. Make it inside the running event loop."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.aio.insecure_channel(address, options=_OPTIONS)
        self._stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)

    async def close(self) -> None:
        """Close the channel; calls in progress are cancelled."""
        await self._channel.close()

    async def route(
        self,
        query: str,
        assertion: str,
        message_id: str,
        request_id: str,
        *,
        timeout_s: float,
        running: Running,
    ) -> Routed:
        """Ask `assistant`. Raises PipelineFailed, or Ended when the client left.

        A complaint elsewhere does not cancel it: this message may be a complaint as well.
        """
        message = tensors.request(
            "assistant",
            request_id,
            {
                "query": query,
                "assertion": assertion,
                "message_id": message_id,
                "request_id": request_id,
            },
        )
        call = self._stub.ModelInfer(message, timeout=timeout_s)
        try:
            with running.cancelling(call.cancel, (GONE,)):
                response = await call
            return read_result(tensors.text(response, "result"))
        except asyncio.CancelledError:
            raise _ended(running) from None
        except grpc.aio.AioRpcError as error:
            raise _failed("assistant", error.code(), error.details()) from None
        except (tensors.BadTensor, BadResult) as error:
            raise _failed("assistant", grpc.StatusCode.INTERNAL, str(error)) from None

    async def words(
        self,
        prompt: str,
        session: str,
        request_id: str,
        *,
        max_tokens: int,
        timeout_s: float,
        running: Running,
    ) -> AsyncGenerator[Word, None]:
        """Stream the model's words after `prompt`. Raises PipelineFailed or Ended.

        Closing the iterator early cancels the call, and so the generation.
        """
        message = tensors.request(
            "answer",
            request_id,
            {
                "prompt": prompt,
                "session": session,
                "request_id": request_id,
                "max_tokens": max_tokens,
            },
        )
        call = self._stub.ModelStreamInfer(timeout=timeout_s)
        try:
            with running.cancelling(call.cancel):
                await call.write(message)
                await call.done_writing()
                while (response := await call.read()) is not grpc.aio.EOF:
                    if response.error_message:
                        raise _failed("answer", grpc.StatusCode.INTERNAL, response.error_message)
                    word = _word(response.infer_response, request_id)
                    if word.finish == "deadline":
                        raise _failed("answer", grpc.StatusCode.DEADLINE_EXCEEDED, word.finish)
                    if word.finish and word.finish not in _END:
                        raise _failed("answer", grpc.StatusCode.ABORTED, word.finish)
                    yield word
                    if word.finish:
                        return
            raise _failed("answer", grpc.StatusCode.INTERNAL, "the stream ended unfinished")
        except asyncio.CancelledError:
            raise _ended(running) from None
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
            code = error.code() if isinstance(error, grpc.aio.AioRpcError) else None
            raise _failed("answer", code, repr(error)) from None
        except tensors.BadTensor as error:
            raise _failed("answer", grpc.StatusCode.INTERNAL, str(error)) from None
        finally:
            call.cancel()


def _word(response: service_pb2.ModelInferResponse, request_id: str) -> Word:
    return Word(
        tensors.text(response, "text"),
        tensors.text(response, "finish"),
        tensors.number(response, "token"),
        tensors.number(response, "at_ns"),
        _share(tensors.text(response, "table"), request_id),
        tensors.number(response, "prompt_tokens"),
        tensors.number(response, "found"),
    )


def _share(table: str, request_id: str) -> float:
    """How much of a step's tokens were this request's: [[request id, tokens, kind], ...]."""
    try:
        served = [(str(name), int(tokens)) for name, tokens, _ in json.loads(table)]
    except (ValueError, TypeError, RecursionError):
        raise tensors.BadTensor("the tensor 'table' is not a table of requests") from None
    total = sum(tokens for _, tokens in served)
    own = sum(tokens for name, tokens in served if name == request_id)
    return own / total if own else 1.0


def _ended(running: Running) -> BaseException:
    """gRPC reports a cancelled call like a cancelled task; only the former is ours to handle."""
    task = asyncio.current_task()
    if running.ended is None or (task is not None and task.cancelling()):
        return asyncio.CancelledError()
    return Ended(running.ended)


def _failed(model: str, code: grpc.StatusCode | None, details: object) -> PipelineFailed:
    log.warning("%s: %s: %s", model, code, " ".join(str(details).split())[:300])
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return PipelineFailed("the model did not answer in time", late=True)
    return PipelineFailed("the model cannot be reached or failed")
