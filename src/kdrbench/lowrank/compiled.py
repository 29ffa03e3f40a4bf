"""Sweeps in machine code, by numba: the loops of :mod:`.burg` and :mod:`.trace_step` as they are."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

from kdrbench.kernels.compiled import jit
from kdrbench.lowrank import burg, trace_step

# Sums in any order, so that they use vector registers; no other liberty is taken.
_SUMS, _ANY_ORDER = ("loop_dot", "_secular_sums", "_level"), {"reassoc", "contract"}


def machine_code(module: ModuleType, functions: Mapping[str, str]) -> dict[str, Any]:
    """Return a module's names with some of its ``functions`` compiled, by the names that their callers use."""
    names = dict(vars(module))
    for called, own in functions.items():
        options = {"fastmath": _ANY_ORDER} if own in _SUMS else {}
        names[called] = jit(FunctionType(vars(module)[own].__code__, names, own), **options)
    return names


_BURG = {"_dot": "loop_dot", "_turn": "loop_turn", "_add_product": "loop_add_product"}
_BURG |= {name: name for name in ("two_step", "grow", "burg_sweep")}
_STEP = ("loop_dot", "_secular_sums", "_interpolated", "_secular_root", "_separated", "_secular", "_turn", "_level")
_VON_NEUMANN = {name: name for name in (*_STEP, "_newton", "_project", "von_neumann_sweep")}
_VON_NEUMANN |= {"_evaluated": "loop_evaluated"}
burg_sweep = machine_code(burg, _BURG)["burg_sweep"]
von_neumann_sweep = machine_code(trace_step, _VON_NEUMANN)["von_neumann_sweep"]
