"""The optima that runs of an atlas left, computed again from their projections, and their rows beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets import Dataset
from kdrbench.errors import InputError
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.systems.ikdr.definition import problem_sha256
from kdrbench.suite.verification.bookkeeping import Finding, to_number
from kdrbench.suite.verification.large import MOST_SAMPLES
from kdrbench.suite.verification.number import Number
from kdrbench.suite.verification.record import Row
from kdrbench.suite.verification.runs import RunToVerify
from kdrbench.suite.verification.samples import samples_of

IKDR, ATLAS = "ikdr", "atlas"
# The referee's bound of what is stationary, and how negative a curvature rounding makes of none.
_STATIONARY, _CURVATURE = 1e-6, -1e-6
# Nearer than this two optima are one.
_ANGLE = np.sin(np.radians(1.0))
_SHARE = 1e-12


@dataclass(frozen=True)
class Problem:
    """A problem of IKDR: its ``definition``, and which run of it on which data."""

    definition: Mapping[str, Any]
    run: int
    seed: int

    def numbers(self, projection: NDArray[Any], data: Dataset) -> list[dict[str, Number]]:
        """Return what belongs to a projection; of clusterings for the form with degrees and for that without.

        Raises ``InputError`` for a projection of another shape, or without orthonormal columns.
        """
        labellings = {labelling.name: labelling.codes for labelling in data.labellings}
        samples = samples_of(self.definition, data, self.run, self.seed)
        forms = [True] if self.definition["paradigm"] == "supervised" else [True, False]
        left, many = {"projection": projection}, len(samples.train) > MOST_SAMPLES
        return [
            RunToVerify(self.definition, samples, data.labels, labellings, left, form, many).numbers() for form in forms
        ]


def problem_at(batch: Batch, run: int) -> Problem:
    """Return the problem of a run of IKDR, or of an atlas, whose draws repeat the same ones."""
    if batch.system != ATLAS:
        return Problem(batch.definition, run, batch.seed)
    definition = next(iter(batch.definition["solvers"].values()))
    return Problem(definition, run % int(batch.definition["n_problems"]), batch.seed)


def sha256_of(batch: Batch, run: int) -> str:
    """Return the hash by which the problem of a run is known.

    It names a problem, and no number follows from it: by another one optima would be found under no name.
    """
    problem = problem_at(batch, run)
    return problem_sha256(problem.definition, batch.dataset, batch.data_sha256, problem.run, problem.seed)


def of_run(
    place: str, batch: Batch, rows: Mapping[str, Row], arrays: Mapping[str, NDArray[Any]], data: Dataset
) -> Iterator[Finding]:
    """Yield what is wrong with the optima that a run of an atlas left, and with its ``rows`` by solver beside them."""
    solvers = list(batch.definition["solvers"])
    run = int(next(iter(rows.values()))["run"])
    expected = sha256_of(batch, run)
    for name, row in rows.items():
        if row["problem"] != expected:
            yield Finding(f"{place}/{name}", "problem", row["problem"], expected)
    optima, numbers = arrays.get("optima"), arrays.get("optima_numbers")
    if optima is None and numbers is None:
        yield from _of_rows(place, rows, np.empty((0, 2 + len(solvers))), solvers)
        return
    yield from _checked(place, optima, numbers, 2 + len(solvers))
    if optima is None or numbers is None or next(_checked(place, optima, numbers, 2 + len(solvers)), None):
        return
    problem = problem_at(batch, run)
    for number, (projection, known) in enumerate(zip(optima, numbers, strict=True)):
        yield from of_optimum(f"{place}/optimum {number}", problem, projection, known[0], known[1], data)
    for first, second in _alike(optima):
        yield Finding(f"{place}/optimum {second}", "optima", f"within 1 degree of {first}", "another optimum")
    yield from _of_rows(place, rows, numbers, solvers)


def _checked(
    place: str, optima: NDArray[Any] | None, numbers: NDArray[Any] | None, n_columns: int
) -> Iterator[Finding]:
    """Yield why arrays are none of an atlas."""
    if optima is None or numbers is None:
        yield Finding(place, "optima" if optima is None else "optima_numbers", "missing", "beside the other")
    elif optima.ndim != 3 or not len(optima) or optima.dtype.kind != "f":
        yield Finding(place, "optima", f"{optima.dtype} {optima.shape}", "k x d x q numbers")
    elif numbers.shape != (len(optima), n_columns) or numbers.dtype.kind != "f":
        yield Finding(place, "optima_numbers", f"{numbers.dtype} {numbers.shape}", f"{len(optima)} x {n_columns}")
    elif not (np.isfinite(numbers[:, 0]).all() and np.isfinite(numbers[:, 2:]).all()):
        yield Finding(place, "optima_numbers", "not finite", "costs and shares")
    elif not (np.diff(numbers[:, 0]) >= 0).all():
        yield Finding(place, "optima_numbers", "in another order", "by rising cost")


def of_optimum(
    place: str, problem: Problem, projection: NDArray[Any], cost: float, quality: float | None, data: Dataset
) -> Iterator[Finding]:
    """Yield what is wrong with a projection that is called an optimum with this cost, and quality if one is known."""
    try:
        forms = problem.numbers(projection, data)
    except InputError as error:
        yield Finding(place, "projection", f"({error})", "an optimum")
        return
    # That form which the cost is nearest to.
    numbers = min(forms, key=lambda one: abs(one["cost"].value - cost))
    if not numbers["cost"].is_near(cost):
        yield Finding(place, "cost", repr(float(cost)), numbers["cost"].in_words())
    still = numbers["stationarity"]
    if not still.is_near(min(still.value, _STATIONARY)):
        yield Finding(place, "stationarity", f"that of an optimum, at most {_STATIONARY:g}", still.in_words())
    bent = numbers.get("curvature")
    if bent is not None and not bent.is_near(max(bent.value, _CURVATURE)):
        yield Finding(place, "curvature", "that of an optimum, not negative", bent.in_words())
    known = numbers.get("quality")
    if quality is not None and known is not None and not known.is_near(quality):
        yield Finding(place, "quality", repr(float(quality)), known.in_words())


def _alike(optima: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of optima whose spaces are within one degree of each other, as far as they are numbers."""
    for second, other in enumerate(optima):
        for first, one in enumerate(optima[:second]):
            rest = other - one @ (one.T @ other)
            if np.isfinite(rest).all() and np.linalg.norm(rest, 2) < _ANGLE:
                yield first, second


def _of_rows(place: str, rows: Mapping[str, Row], numbers: NDArray[Any], solvers: Sequence[str]) -> Iterator[Finding]:
    """Yield the columns of rows that the costs, qualities and shares of the optima (k x (2 + solvers)) contradict."""
    for name, row in rows.items():
        if row["n_known"] == "":
            # A run that was stopped has left no chart.
            continue
        ended = int(row["n_ended"] or 0)
        counts = numbers[:, 2 + solvers.index(name)] * max(1, ended)
        if (np.abs(counts - np.round(counts)) > _SHARE * max(1, ended)).any() or (counts < 0).any():
            yield Finding(f"{place}/{name}", "optima_numbers", "shares of no number of starts", f"those of {ended}")
        expected: dict[str, float | None] = {
            "n_known": len(numbers),
            "n_optima": int((counts > 0).sum()),
            "n_certified": int(np.round(counts).sum()),
            "best_cost": float(numbers[0, 0]) if len(numbers) else None,
            "best_quality": float(numbers[0, 1]) if len(numbers) and np.isfinite(numbers[0, 1]) else None,
        }
        for column, number in expected.items():
            if to_number(row[column]) != number:
                yield Finding(f"{place}/{name}", column, row[column], "empty" if number is None else f"{number!r}")
