"""The columns of a row that the definition of its batch decides, without data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kdrbench.solvers.registry import CONTROLS
from kdrbench.status import BY_METHODS
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.verification.bookkeeping import Finding, to_number
from kdrbench.suite.verification.optima import ATLAS, IKDR
from kdrbench.suite.verification.record import Row
from kdrbench.suite.verification.second_order import SECOND_ORDER

SUPERVISED = "supervised"
# Weights are written with four digits.
_DIGITS = 1e-3
# Curvatures of a point that is stationary to 1e-6 are known no better.
_CURVED = 1e-6


def of_description(place: str, row: Row, batch: Batch) -> Iterator[Finding]:
    """Yield the columns of a row that are not those of its batch's definition."""
    if batch.system == IKDR:
        expected = _of_ikdr(batch, int(row["run"]))
        yield from _of_weights(place, row, batch.definition)
        yield from _of_optimality(place, row, batch.definition)
    elif batch.system == ATLAS:
        expected = _of_atlas(batch, int(row["run"]))
    else:
        return
    for column, word in expected.items():
        if row[column] != word:
            yield Finding(place, column, row[column], word)


def paradigm_of(batch: Batch) -> str:
    """Return the paradigm of a batch of IKDR or of an atlas."""
    definition = next(iter(batch.definition["solvers"].values())) if batch.system == ATLAS else batch.definition
    return str(definition["paradigm"])


def _of_ikdr(batch: Batch, run: int) -> dict[str, str]:
    definition, in_folds = batch.definition, batch.definition["split"] == "folds"
    score = "accuracy" if in_folds else "error"
    expected = {
        "paradigm": str(definition["paradigm"]),
        "split": str(definition["split"]),
        "partition": str(run // int(definition["n_folds"]) if in_folds else 0),
        "quality_metric": score if definition["paradigm"] == SUPERVISED else "nmi",
    }
    # Where a rule finds it in the data, it is that of the projection.
    fixed = isinstance(definition["n_components"], int)
    return expected | ({"n_components": str(definition["n_components"])} if fixed else {})


def _of_atlas(batch: Batch, run: int) -> dict[str, str]:
    draw, problem_run = divmod(run, int(batch.definition["n_problems"]))
    return {
        "paradigm": paradigm_of(batch),
        "draw": str(draw),
        "problem_run": str(problem_run),
        "n_starts": str(batch.definition["starts"]),
    }


def _of_weights(place: str, row: Row, definition: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield weights that are not those of the kernel: none of one kernel, else one for each member."""
    words = row["kernel_weights"]
    if not (members := definition["kernel"].get("members")):
        if words:
            yield Finding(place, "kernel_weights", words, "empty, of a kernel without weights")
        return
    weights = [to_number(word) for word in words.split(",")] if words else []
    if not weights and row["status"] not in BY_METHODS:
        return
    if definition["kernel"].get("weights", "given") == "given":
        expected = ", ".join(f"{float(one.get('weight', 1.0)):.4g}" for one in members)
        if words != expected:
            yield Finding(place, "kernel_weights", words, expected)
    elif len(weights) != len(members) or not all(one is not None and one >= 0 for one in weights):
        yield Finding(place, "kernel_weights", words, f"{len(members)} weights of at least 0")
    elif abs(sum(one for one in weights if one is not None) - 1.0) > _DIGITS:
        yield Finding(place, "kernel_weights", words, "weights of sum 1")


def _of_optimality(place: str, row: Row, definition: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a missing word on a projection; controls, which are no solutions, have none."""
    control = definition["method"].get("method") in CONTROLS
    if row["stationarity"] and not row["optimality"] and not control:
        yield Finding(place, "optimality", "", f"that of stationarity {row['stationarity']}")
    if row["cost"] and not row["stationarity"]:
        yield Finding(place, "stationarity", "", "a number, of a run with a cost")
    for column in SECOND_ORDER:
        if bool(row[column]) is not bool(row["curvature"]) or (row[column] and definition["paradigm"] != SUPERVISED):
            yield Finding(place, column, row[column], "known where the other numbers of second order are, of labels")
    if (curvature := to_number(row["curvature"])) is None:
        allowed = ("", "first_order", "not_stationary")
    else:
        allowed = ("", "second_order" if curvature >= -_CURVED else "saddle", "not_stationary")
    if row["optimality"] not in allowed:
        yield Finding(place, "optimality", row["optimality"], f"that of the curvature {row['curvature'] or 'none'}")
