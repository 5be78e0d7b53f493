"""The stand-ins for the GPU's libraries, compiled where they are needed."""

import ctypes
import subprocess
from pathlib import Path

from observability.bpf.errors import TraceError

_FOLDER = Path(__file__).parent
DRIVER = "libcuda.so.1"
RUNTIME = "libcudart.so.13"


def compile_into(folder: Path) -> None:
    """Make both libraries in `folder`. Errors: `TraceError`."""
    # No tail calls: a jump out of the runtime would end its call before the driver's begins.
    flags = ["-O1", "-shared", "-fPIC", "-fno-optimize-sibling-calls", "-Wl,-rpath,$ORIGIN"]
    for source, out, more in (
        ("libcuda.c", DRIVER, [f"-Wl,-soname,{DRIVER}"]),
        ("libcudart.c", RUNTIME, [f"-Wl,-soname,{RUNTIME}", f"-L{folder}", f"-l:{DRIVER}"]),
    ):
        command = ["gcc", *flags, str(_FOLDER / source), *more, "-o", str(folder / out)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            raise TraceError("gcc is missing; run `apt-get install gcc libc6-dev`") from None
        if done.returncode:
            raise TraceError(f"gcc refuses {source}:\n{done.stderr}")


class Gpu:
    """The runtime of `folder`, as Python calls it. Calls give the library's own code."""

    def __init__(self, folder: Path) -> None:
        self._lib = ctypes.CDLL(str(folder / RUNTIME))

    def malloc(self, size: int) -> int:
        """The address of `size` new bytes. Errors: MemoryError with the code."""
        made = ctypes.c_void_p()
        code = self._lib.cudaMalloc(ctypes.byref(made), ctypes.c_size_t(size))
        if code:
            raise MemoryError(f"cudaMalloc says {code}")
        return made.value or 0

    def free(self, address: int) -> None:
        """Give memory back."""
        self._lib.cudaFree(ctypes.c_void_p(address))

    def copy(self, to: int, data: bytes) -> None:
        """Copy to the GPU."""
        self._lib.cudaMemcpy(ctypes.c_void_p(to), data, ctypes.c_size_t(len(data)), 1)

    def compute(self) -> None:
        """Launch a kernel and wait for it."""
        self._lib.cudaLaunchKernel(None)
        self._lib.cudaDeviceSynchronize()
