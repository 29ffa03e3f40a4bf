"""How functions are compiled.

numba compiles at the first call and keeps the result on disk. It looks whether the file of the function kept has
changed, not those of the functions that it calls: functions that call each other must be in one file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from numba import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _compiled(function: _Function, **options: Any) -> _Function:
    # Division by zero gives infinity, as in numpy, and does not keep loops from being vectorised.
    make: Any = partial(njit, error_model="numpy", **options)
    try:
        return cast(_Function, make(cache=True)(function))
    except RuntimeError:
        # No cache folder is writable: compile in each process.
        return cast(_Function, make(cache=False)(function))


# Sums in any order, so that they use vector registers; no other liberty is taken.
jit_sum = partial(_compiled, fastmath={"reassoc", "contract"})
jit = partial(_compiled)
