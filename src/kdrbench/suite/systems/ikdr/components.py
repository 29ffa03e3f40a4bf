"""The components that decide the numbers of a cell of IKDR, by the names of :mod:`kdrbench.revisions`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kdrbench.baselines import BASELINES, build_baseline
from kdrbench.evaluation.cost_model import SUMS_SAMPLES
from kdrbench.kernels.registry import FAMILIES, own_modules
from kdrbench.solvers.registry import METHODS, build_solver
from kdrbench.suite.systems.ikdr.definition import SUPERVISED, Kind

# Evaluators that are chosen for a kernel where none is asked for; a family of the user's own may need autograd.
_GENERAL, _FACTORED = ("dense", "panels"), ("linear", "squared", "polynomial")


def components_of(definition: Mapping[str, Any], n_samples: int) -> tuple[str, ...]:
    """Return the components of a cell's definition and a number of samples."""
    method = definition["method"]["method"]
    shared = (f"splits/{definition['split']}", "referee/ikdr")
    if definition["kind"] == Kind.BASELINE:
        return *shared, *([f"baseline/{method}"] if method in BASELINES else [])
    families = list(_families(definition["kernel"]))
    solver = [f"solver/{method}"] if method in METHODS else []
    kernels = [f"kernel/{family}" for family in families if family in FAMILIES]
    evaluators = [f"evaluation/{name}" for name in _evaluators(definition["evaluation"], families, n_samples)]
    paradigm = [f"paradigm/{definition['paradigm']}", f"start/{definition['start']}"]
    if definition["paradigm"] != SUPERVISED:
        paradigm.append(f"rounds/{definition['parameters'].get('rule', 'published')}")
    return *shared, *solver, *kernels, *evaluators, *paradigm


def plugins_of(definition: Mapping[str, Any]) -> dict[str, str]:
    """Return by component the modules of methods and kernels that are not registered."""
    own, method = {}, definition["method"]["method"]
    if definition["kind"] == Kind.BASELINE:
        if method not in BASELINES:
            own[f"baseline/{method}"] = type(build_baseline(definition["method"])).__module__
    elif method not in METHODS:
        own[f"solver/{method}"] = type(build_solver(definition["method"])).__module__
    return own | {f"kernel/{family}": module for family, module in own_modules(definition["kernel"]).items()}


def _families(kernel: Mapping[str, Any]) -> Iterator[str]:
    yield str(kernel["family"])
    for member in kernel.get("members", ()):
        yield from _families(member)


def _evaluators(evaluation: Mapping[str, Any], families: list[str], n_samples: int) -> set[str]:
    asked = evaluation.get("evaluator", "auto")
    names = {asked}
    if asked == "auto":
        names = {*_GENERAL, *(["factored"] if set(families) & set(_FACTORED) else [])}
        names |= {"autograd"} if set(families) - set(FAMILIES) else set()
    if asked == "auto" and families == ["gaussian"] and n_samples >= SUMS_SAMPLES:
        names.add("class_sums")
    if evaluation.get("tolerance") and "gaussian" in families:
        names.add("low_rank")
    return names | ({"dask"} if "scheduler" in evaluation else set())
