"""What NVML says of each GPU, field by field: one that a GPU does not tell is None, never 0."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

from observability.bpf.errors import TraceError

Value = float | str | None

# Bits of nvmlDeviceGetCurrentClocksThrottleReasons that slow the GPU down; idleness is none.
_THROTTLES = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "temperature",
    0x40: "hardware temperature",
    0x80: "power brake",
}


@dataclass(slots=True)
class Gpu:
    """One GPU. `fields` holds a number, a text or None each; `problems` says why it is None.
    `processes` maps a process to its bytes (None: not told); it is None when the GPU tells none."""

    index: int
    fields: dict[str, Value] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    processes: dict[int, int | None] | None = None


class Nvml:
    """The library, opened. Errors: `TraceError` where there is none."""

    def __init__(self) -> None:
        try:
            self._lib: Any = import_module("pynvml")
        except ImportError:
            raise TraceError("nvidia-ml-py is missing; run `pip install nvidia-ml-py`") from None
        try:
            self._lib.nvmlInit()
        except self._lib.NVMLError as error:
            raise TraceError(f"no GPU counters: NVML says {error}") from None

    def read(self) -> list[Gpu]:
        """Every GPU; a lost one has only problems, and hides no other. Errors: `TraceError`."""
        try:
            count = self._lib.nvmlDeviceGetCount()
        except self._lib.NVMLError as error:
            raise TraceError(f"no GPU counters: NVML says {error}") from None
        return [self._gpu(index) for index in range(count)]

    def close(self) -> None:
        """Let the library go."""
        self._lib.nvmlShutdown()

    def _gpu(self, index: int) -> Gpu:
        gpu = Gpu(index)
        handle = self._ask(gpu, "handle", lambda: self._lib.nvmlDeviceGetHandleByIndex(index))
        if handle is None:
            return gpu
        for name, read in _FIELDS.items():
            gpu.fields[name] = self._ask(gpu, name, partial(read, self._lib, handle))
        gpu.processes = self._ask(gpu, "processes", lambda: _processes(self._lib, handle))
        return gpu

    def _ask(self, gpu: Gpu, name: str, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except self._lib.NVMLError as error:
            gpu.problems[name] = str(error)
        except AttributeError:
            gpu.problems[name] = "this nvidia-ml-py does not know it"
        return None


def _memory(what: str) -> Callable[[Any, Any], float]:
    # The second version of the struct: used and free add up to less than total without reserved.
    return lambda lib, h: float(
        getattr(lib.nvmlDeviceGetMemoryInfo(h, version=lib.nvmlMemory_v2), what)
    )


def _throttles(lib: Any, handle: Any) -> str:
    bits = lib.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    return ", ".join(name for bit, name in _THROTTLES.items() if bits & bit)


def _ecc(lib: Any, handle: Any, kind: int) -> float:
    return float(lib.nvmlDeviceGetTotalEccErrors(handle, kind, lib.NVML_VOLATILE_ECC))


def _processes(lib: Any, handle: Any) -> dict[int, int | None]:
    return {p.pid: p.usedGpuMemory for p in lib.nvmlDeviceGetComputeRunningProcesses(handle)}


_FIELDS: dict[str, Callable[[Any, Any], Value]] = {
    "name": lambda lib, h: str(lib.nvmlDeviceGetName(h)),
    "uuid": lambda lib, h: str(lib.nvmlDeviceGetUUID(h)),
    # NVML averages over 20 ms and counts in KB/s.
    "pcie_tx_gb_s": lambda lib, h: (
        lib.nvmlDeviceGetPcieThroughput(h, lib.NVML_PCIE_UTIL_TX_BYTES) / 1e6
    ),
    "pcie_rx_gb_s": lambda lib, h: (
        lib.nvmlDeviceGetPcieThroughput(h, lib.NVML_PCIE_UTIL_RX_BYTES) / 1e6
    ),
    "power_w": lambda lib, h: lib.nvmlDeviceGetPowerUsage(h) / 1000,
    "power_limit_w": lambda lib, h: lib.nvmlDeviceGetEnforcedPowerLimit(h) / 1000,
    "memory_total_bytes": _memory("total"),
    "memory_used_bytes": _memory("used"),
    "memory_free_bytes": _memory("free"),
    "memory_reserved_bytes": _memory("reserved"),
    "compute_percent": lambda lib, h: float(lib.nvmlDeviceGetUtilizationRates(h).gpu),
    # How busy the memory controller is: another thing than how full the memory is.
    "memory_controller_percent": lambda lib, h: float(lib.nvmlDeviceGetUtilizationRates(h).memory),
    "clock_mhz": lambda lib, h: float(lib.nvmlDeviceGetClockInfo(h, lib.NVML_CLOCK_SM)),
    "clock_limit_mhz": lambda lib, h: float(lib.nvmlDeviceGetMaxClockInfo(h, lib.NVML_CLOCK_SM)),
    "throttled_by": _throttles,
    "ecc_corrected": lambda lib, h: _ecc(lib, h, lib.NVML_MEMORY_ERROR_TYPE_CORRECTED),
    "ecc_uncorrected": lambda lib, h: _ecc(lib, h, lib.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
}


def ghosts(gpu: Gpu, alive: set[int]) -> dict[int, int | None]:
    """Contexts of processes that are no more, with their bytes. `alive` must be all processes of
    the node, as the root namespace numbers them: a container's own /proc makes every other
    process a ghost."""
    return {pid: held for pid, held in (gpu.processes or {}).items() if pid not in alive}
