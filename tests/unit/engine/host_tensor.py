"""An array as the Triton language's interpreter wants it: enough of a torch tensor, on the host."""

from typing import Any

import numpy as np
import numpy.typing as npt


class Storage:
    """The bytes behind a tensor; the interpreter copies them to the host and back."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.array = array

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def cpu(self) -> "Storage":
        return self

    def copy_(self, other: "Storage") -> None:
        self.array[...] = other.array


class HostTensor:
    """A numpy array with torch's names for what the kernel and the interpreter ask."""

    def __init__(self, array: npt.NDArray[Any], device: str = "cpu") -> None:
        self.array = array
        self.device = device

    def is_contiguous(self) -> bool:
        return bool(self.array.flags.c_contiguous)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def untyped_storage(self) -> Storage:
        return Storage(self.array)

    def storage_offset(self) -> int:
        return 0

    def size(self) -> tuple[int, ...]:
        return self.array.shape

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def new_empty(self, count: int, device: str) -> "HostTensor":
        return HostTensor(np.empty(count, self.dtype))

    def set_(self, storage: Storage, offset: int, size: Any, stride: Any) -> None:
        self.array = storage.array
