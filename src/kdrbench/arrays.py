"""Arrays of other libraries on other processors: which those are, and all that crosses between them and numpy.

A tensor of torch, or an array of another library that follows the array API standard, stays where it is. Its operations
are those of the standard, under the names that array-api-compat gives them. numpy, and what becomes numpy by
``np.asarray``, is not meant here.

Source: Python array API standard, https://data-apis.org/array-api/latest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.extras import needed_for

# An array of such a library: the standard has no type for it.
DeviceArray = Any
Array = TypeVar("Array")
# Numbers in a chunk of rows.
_CHUNK = 1 << 22
# Integers up to the largest entry, and weights of samples: with 10^8 samples, their sums are below 2^63.
_STEPS, _WEIGHTS = 2.0**30, 61
# A union of types would be made at each call.
_HOST = (np.ndarray, np.generic)


def is_device_array(array: object) -> bool:
    """Return whether it is a tensor of torch, or another library's array by the standard; imports neither."""
    if isinstance(array, _HOST):
        return False
    names = {(base.__module__.partition(".")[0], base.__name__) for base in type(array).__mro__}
    return ("torch", "Tensor") in names or hasattr(type(array), "__array_namespace__")


def namespace_of(array: Any) -> Any:
    """Return the operations of the standard for this array: the module numpy, or one of array-api-compat.

    Raises ``MissingPackageError`` where array-api-compat is not installed.
    """
    return _compat().array_namespace(array) if is_device_array(array) else np


def _compat() -> Any:
    with needed_for("a fit of tensors"):
        import array_api_compat
    return array_api_compat


@dataclass(frozen=True)
class Device:
    """Where an array is: its library's operations ``xp``, and its ``place`` there, ``None`` for numpy.

    What crosses goes through :meth:`up` and :meth:`down`, and nothing else does. Arrays of numpy stay as they are.
    """

    xp: Any
    place: Any

    @classmethod
    def of(cls, array: DeviceArray) -> Device:
        """Return where an array is."""
        if not is_device_array(array):
            return cls(np, None)
        return cls(namespace_of(array), _compat().device(array))

    def __reduce__(self) -> tuple[Any, ...]:
        # Modules have no pickle.
        return type(self).of, (self.zeros(0),)

    @property
    def is_host(self) -> bool:
        """Whether arrays are those of numpy."""
        return self.place is None

    def wide(self, array: DeviceArray) -> DeviceArray:
        """Return an array in float64 on a device; in numpy as it is, since products there are summed in float64."""
        return array if self.is_host else self.xp.astype(array, self.xp.float64)

    def up(self, array: NDArray[Any]) -> DeviceArray:
        """Return a copy of an array of numpy there."""
        return array if self.is_host else self.xp.asarray(np.array(array, order="C"), device=self.place)

    def down(self, array: DeviceArray) -> NDArray[np.float64]:
        """Return a copy in numpy, in float64."""
        return array if self.is_host else np.array(_on_host(array), dtype=np.float64)

    def zeros(self, *shape: int) -> DeviceArray:
        """Return zeros in float64."""
        if self.is_host:
            return np.zeros(shape)
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self.place)

    def __str__(self) -> str:
        """Return the place in words."""
        return str(self.place)


def to_host(array: DeviceArray) -> NDArray[Any]:
    """Return a copy in numpy, of the same type."""
    return np.array(_on_host(array))


def _on_host(array: DeviceArray) -> Any:
    compat = _compat()
    if compat.is_torch_array(array):
        return array.detach().cpu().numpy()
    return compat.to_device(array, "cpu") if compat.is_cupy_array(array) else array


def rows_at(array: Any, places: NDArray[np.intp]) -> Any:
    """Return the rows at these places, where the array is."""
    if not is_device_array(array):
        return array[places]
    device = Device.of(array)
    return device.xp.take(array, device.up(places), axis=0)


class HostRows:
    """Rows of a device's array (n x d) in numpy and float64, copied when they are asked for."""

    def __init__(self, array: DeviceArray) -> None:
        self._array, self._device = array, Device.of(array)
        self.shape: tuple[int, int] = tuple(array.shape)
        self.ndim, self.dtype = 2, np.dtype(np.float64)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> NDArray[np.float64]:
        """Return some of the rows."""
        if isinstance(rows, slice):
            return self._device.down(self._array[rows, :])
        return self._device.down(rows_at(self._array, rows))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all rows."""
        return np.asarray(self[:], dtype=dtype)


def contiguous(array: Any, dtype: Any) -> Any:
    """Return the array in C order and of that type, itself if it is so."""
    if is_device_array(array):
        return namespace_of(array).astype(array, dtype)
    return np.ascontiguousarray(array, dtype)


def matmul(left: Any, right: Any, out: Any = None) -> Any:
    """Return the matrix product, in the memory ``out`` where that is given: arrays of a device are new ones."""
    return left @ right if out is None else np.matmul(left, right, out=out)


def multiply(left: Any, right: Any, out: Any = None) -> Any:
    """Return the elementwise product, in the memory ``out`` where that is given."""
    return left * right if out is None else np.multiply(left, right, out=out)


def set_product(out: Any, left: Any, right: Any) -> None:
    """Make ``out``, a part of an array, the elementwise product."""
    if is_device_array(out):
        out[...] = left * right
    else:
        np.multiply(left, right, out=out)


def set_matmul(out: Any, left: Any, right: Any) -> None:
    """Make ``out``, a part of an array, the matrix product."""
    if is_device_array(out):
        out[...] = left @ right
    else:
        np.matmul(left, right, out=out)


def applied(function: Callable[..., Array], argument: Array) -> Array:
    """Return a function of the argument, in its memory but on a device."""
    return function(argument) if is_device_array(argument) else function(argument, out=argument)


def inner(left: Any, right: Any) -> float:
    """Return sum_ij left_ij right_ij, of a device's arrays in double precision."""
    if not is_device_array(left):
        return float(np.vdot(left, right))
    xp = namespace_of(left)
    return float(xp.sum(left * right, dtype=xp.float64))


def row_products(left: Any, right: Any) -> Any:
    """Return sum_j left_ij right_ij, n numbers."""
    if not is_device_array(left):
        return np.einsum("ij,ij->i", left, right)
    return namespace_of(left).sum(left * right, axis=1)


def row_chunks(n_rows: int, width: int, numbers: int | None = None) -> Iterator[slice]:
    """Yield chunks of rows of that width that suit a device, or have at most ``numbers``."""
    step = max(1, (numbers or _CHUNK) // width)
    for begin in range(0, n_rows, step):
        yield slice(begin, min(begin + step, n_rows))


def checked_features(array: DeviceArray) -> DeviceArray:
    """Return features as they are, cut off from automatic differentiation.

    Raises ``InputError`` unless they are a dense, non-empty, finite n x d array of float64 or float32 on a device that
    has float64.
    """
    if getattr(array, "requires_grad", False):
        array = array.detach()
    if str(getattr(array, "layout", "torch.strided")) != "torch.strided":
        raise InputError(f"features must be a dense tensor, got layout {array.layout}; convert with X.to_dense()")
    xp = namespace_of(array)
    if array.dtype not in (xp.float64, xp.float32):
        raise InputError(
            f"features on a device must be float64 or float32, got {array.dtype}; convert them, as by X.double()"
        )
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"features must be a non-empty n x d array, got shape {tuple(array.shape)}")
    try:
        Device.of(array).zeros(1)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"sums are in float64, which this device does not have ({error}); use another, or numpy arrays"
        ) from error
    _check_finite(array, xp)
    return array


def _check_finite(array: DeviceArray, xp: Any) -> None:
    n_rows, width = array.shape
    for rows in row_chunks(n_rows, width):
        finite = xp.isfinite(array[rows, :])
        if not bool(xp.all(finite)):
            place = int(xp.argmin(xp.reshape(xp.astype(finite, xp.uint8), (-1,))))
            raise InputError(
                f"features hold NaN or infinite values, the first at row {rows.start + place // width}, "
                f"column {place % width}; remove or impute them"
            )


def fingerprint_of(array: DeviceArray) -> NDArray[np.float64]:
    """Return d numbers, the same in any order of summation, that change with an entry by 1e-9 of the largest one."""
    device = Device.of(array)
    xp, chunks = device.xp, list(row_chunks(*array.shape))
    largest = max(float(xp.max(xp.abs(array[rows, :]))) for rows in chunks) or 1.0
    total = xp.zeros(array.shape[1], dtype=xp.int64, device=device.place)
    for rows in chunks:
        # Sums of integers are exact; samples have weights for their order to count.
        entries = xp.astype(xp.round(xp.astype(array[rows, :], xp.float64) * (_STEPS / largest)), xp.int64)
        weights = xp.arange(rows.start, rows.stop, dtype=xp.int64, device=device.place) % _WEIGHTS + 1
        total += xp.sum(entries * weights[:, None], axis=0)
    return device.down(total)
