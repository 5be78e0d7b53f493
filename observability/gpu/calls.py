"""The calls of libcudart and libcuda that are watched."""

from dataclasses import dataclass
from typing import Literal, get_args

Shape = Literal["alloc", "pitch", "free", "map", "copy", "plain"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
Kind = Literal["alloc", "free", "create", "release", "map", "unmap", "copy", "launch", "sync"]
Api = Literal["runtime", "driver"]


@dataclass(frozen=True, slots=True)
class Call:
    """One C function: `shape` says where its arguments are (see gpu.c), `kind` what it does."""

    symbol: str
    api: Api
    kind: Kind
    shape: Shape


def _calls(api: Api, kind: Kind, shape: Shape, *symbols: str) -> tuple[Call, ...]:
    return tuple(Call(symbol, api, kind, shape) for symbol in symbols)


CALLS: tuple[Call, ...] = (
    *_calls("runtime", "alloc", "alloc", "cudaMalloc", "cudaMallocManaged", "cudaMallocAsync",
            "cudaMallocFromPoolAsync"),
    *_calls("runtime", "alloc", "pitch", "cudaMallocPitch"),
    *_calls("runtime", "free", "free", "cudaFree", "cudaFreeAsync"),
    *_calls("runtime", "copy", "copy", "cudaMemcpy", "cudaMemcpyAsync"),
    *_calls("runtime", "launch", "plain", "cudaLaunchKernel", "cudaLaunchKernelExC",
            "cudaGraphLaunch"),
    *_calls("runtime", "sync", "plain", "cudaDeviceSynchronize", "cudaStreamSynchronize",
            "cudaEventSynchronize"),
    *_calls("driver", "alloc", "alloc", "cuMemAlloc_v2", "cuMemAllocManaged", "cuMemAllocAsync",
            "cuMemAllocFromPoolAsync"),
    *_calls("driver", "alloc", "pitch", "cuMemAllocPitch_v2"),
    *_calls("driver", "free", "free", "cuMemFree_v2", "cuMemFreeAsync"),
    *_calls("driver", "create", "alloc", "cuMemCreate"),
    *_calls("driver", "release", "free", "cuMemRelease"),
    *_calls("driver", "map", "map", "cuMemMap"),
    *_calls("driver", "unmap", "map", "cuMemUnmap"),
    *_calls("driver", "copy", "copy", "cuMemcpy", "cuMemcpyAsync", "cuMemcpyHtoD_v2",
            "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
            "cuMemcpyDtoDAsync_v2"),
    *_calls("driver", "launch", "plain", "cuLaunchKernel", "cuLaunchKernelEx", "cuGraphLaunch"),
    *_calls("driver", "sync", "plain", "cuCtxSynchronize", "cuStreamSynchronize",
            "cuEventSynchronize"),
)  # fmt: skip


def cookie(symbol: str) -> int:
    """What `enter_call` and `leave_call` of gpu.c must be told of a function."""
    (number,) = (i for i, call in enumerate(CALLS) if call.symbol == symbol)
    return SHAPES.index(CALLS[number].shape) << 16 | number


def source() -> str:
    """The CALL lines that gpu.c asks for; a call's number is its place in CALLS."""
    return "\n".join(f"CALL({i}, {call.shape}, {call.symbol})" for i, call in enumerate(CALLS))
