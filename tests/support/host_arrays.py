"""A library of arrays by the array API standard that needs nothing but numpy: it stands for those of other devices.

Its arrays are no arrays of numpy, and do not mix with them: what works with these works through the standard alone.
"""

import operator
from types import SimpleNamespace

import numpy as np

_REFLECTED = ["add", "sub", "mul", "truediv", "pow", "mod", "matmul", "and", "or", "xor"]
_BINARY = [*_REFLECTED, "eq", "ne", "lt", "le", "gt", "ge"]


def _unboxed(value):
    if isinstance(value, list | tuple):
        return type(value)(map(_unboxed, value))
    return value._held if isinstance(value, HostArray) else value


def _boxed(value):
    return HostArray(value) if isinstance(value, np.ndarray | np.generic) else value


class HostArray:
    """An array of numpy in a box."""

    __array_ufunc__ = None
    __hash__ = None
    device = "cpu"

    def __init__(self, held):
        self._held = np.asarray(held)

    def __array_namespace__(self, api_version=None):
        return NAMESPACE

    def __array__(self, dtype=None, copy=None):
        return np.array(self._held, dtype=dtype)

    shape, ndim, dtype = (
        property(lambda self, name=name: getattr(self._held, name)) for name in ["shape", "ndim", "dtype"]
    )
    T = property(lambda self: HostArray(self._held.T))

    def __getitem__(self, key):
        return HostArray(self._held[_unboxed(key)])

    def __setitem__(self, key, value):
        self._held[_unboxed(key)] = _unboxed(value)

    def __neg__(self):
        return HostArray(-self._held)


def _operation(function):
    def applied(self, other):
        if not isinstance(other, HostArray | int | float):
            raise TypeError(f"an operand is {type(other).__name__}, not an array of this library")
        return HostArray(function(self._held, _unboxed(other)))

    return applied


for _name in _BINARY:
    _function = getattr(operator, f"{_name}_" if _name in ("and", "or") else _name)
    setattr(HostArray, f"__{_name}__", _operation(_function))
    if _name in _REFLECTED:
        setattr(HostArray, f"__r{_name}__", _operation(lambda held, other, function=_function: function(other, held)))


for _type in (float, int, bool):
    setattr(HostArray, f"__{_type.__name__}__", lambda self, of=_type: of(self._held))


class _Namespace:
    """Functions and types under numpy's names, which are those of the standard."""

    @staticmethod
    def astype(array, dtype):
        return HostArray(array._held.astype(dtype))

    def __getattr__(self, name):
        found = getattr(np, name)
        if isinstance(found, type):
            return found
        return lambda *given, **named: _boxed(
            found(*_unboxed(given), **{key: _unboxed(one) for key, one in named.items()})
        )


NAMESPACE = _Namespace()
# What the package array_api_compat says of these arrays.
COMPAT = SimpleNamespace(
    array_namespace=lambda array: NAMESPACE,
    device=lambda array: array.device,
    is_torch_array=lambda array: False,
    is_cupy_array=lambda array: False,
)
