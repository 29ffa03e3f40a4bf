"""Plain against safeguarded ISM on cells of NeurIPS 2019, Table 4, as a Markdown table.

Three solves of each cell, all rows, start from Phi_0: plain ISM by the papers' rule (delta = 0.01); plain ISM for as
many iterations as its relative stationarity takes to reach 1e-6 (it has no such rule: the number is found beforehand
and not timed); safeguarded ISM, which has that rule and certifies second order. Times are medians of CPU seconds of
solves in turn; start included, certificates of the table not. Cells of data sets that cannot be had are left out.

    OMP_NUM_THREADS=1 python benchmarks/ism_cells.py
"""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kdrbench.datasets import Standardiser, load_dataset
from kdrbench.errors import DataError
from kdrbench.kernels import build_kernel
from kdrbench.paradigms import supervised_problem
from kdrbench.problems import Problem
from kdrbench.solvers import IterationMonitor, SolverResult, build_solver, make_start, solve
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.geometry.stiefel import leading_eigenvectors, relative_stationarity

CELLS = (("wine", 4), ("cancer", 5), ("wdbc", 2))
ACCURACY = 1e-6
REPEATS = 15
MOST_ITERATIONS = 5000


@dataclass(frozen=True)
class Timed:
    """One way of solving a cell: its result, all its oracle calls, and median CPU milliseconds."""

    name: str
    result: SolverResult
    milliseconds: float

    @property
    def calls(self) -> int:
        """Oracle calls of all kinds."""
        return sum(self.result.counters.values())


def problems(cells: tuple[tuple[str, int], ...] = CELLS) -> Iterator[tuple[str, int, Problem]]:
    """Yield name, q and problem of each cell, data set by data set, with the two kernels of the table."""
    for dataset_name, q in cells:
        try:
            dataset = load_dataset(dataset_name)
        except DataError as error:
            print(f"{dataset_name} is left out: {error}")
            continue
        features = Standardiser.fit(dataset.features).transform(dataset.features)
        for family in ("gaussian", "polynomial"):
            kernel = build_kernel({"family": family}, features, q)
            yield f"{dataset_name}, q = {q}, {family}", q, supervised_problem(features, dataset.labels, kernel)


def iterations_to_accuracy(problem: Problem, q: int) -> int | None:
    """Return after how many iterations plain ISM is stationary to ``ACCURACY``; ``None`` if it never is."""
    projection = make_start("surrogate", problem, q, np.random.default_rng(0))
    for iteration in range(1, MOST_ITERATIONS):
        projection = leading_eigenvectors(problem.surrogate(projection), q)[1]
        if relative_stationarity(projection, problem.gradient(projection)) <= ACCURACY:
            return iteration
    return None


def solves(problem: Problem, q: int) -> list[Timed]:
    """Solve in all ways, in turn, several times."""
    ways: dict[str, dict[str, Any]] = {"ISM, delta .01": {"method": "ism"}}
    if (iterations := iterations_to_accuracy(problem, q)) is not None:
        capped = {"method": "ism", "tolerance": 1e-300, "max_iterations": iterations}
        ways[f"ISM to {ACCURACY:g}"] = capped
    ways["safeguarded"] = {"method": "ism_safeguarded", "tolerance": ACCURACY}
    times: dict[str, list[float]] = {name: [] for name in ways}
    results: dict[str, SolverResult] = {}
    for _ in range(REPEATS):
        for name, definition in ways.items():
            fresh, solver = problem.fresh(), build_solver(definition)
            began = time.process_time()
            start = make_start("surrogate", fresh, q, np.random.default_rng(0))
            results[name] = solve(solver, fresh, start, IterationMonitor())
            times[name].append(1e3 * (time.process_time() - began))
    return [Timed(name, results[name], statistics.median(times[name])) for name in ways]


def main() -> None:
    """Print the table and the geometric means of the ratios."""
    print("| cell | solver | cost | iterations | stationarity | curvature | eigengap (needed) | calls | ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    ratios: dict[str, list[tuple[float, float]]] = {}
    for cell, q, problem in problems():
        timed = solves(problem, q)
        for one in timed:
            certificate = certify(problem.fresh(), one.result.projection)
            print(
                f"| {cell} | {one.name} | {-problem.value(one.result.projection):.9g} | {one.result.iterations} | "
                f"{certificate.stationarity:.0e} | {certificate.curvature:.1e} | {certificate.eigengap:.3f} "
                f"({certificate.eigengap_needed:.3f}) | {one.calls} | {one.milliseconds:.2f} |"
            )
        for one in timed[:-1]:
            pair = (timed[-1].milliseconds / one.milliseconds, timed[-1].calls / one.calls)
            ratios.setdefault(one.name, []).append(pair)
    for name, pairs in ratios.items():
        in_time, in_calls = np.exp(np.mean(np.log(pairs), axis=0))
        print(f"\nsafeguarded / {name}, geometric mean of {len(pairs)} cells: time {in_time:.2f}, calls {in_calls:.2f}")


if __name__ == "__main__":
    main()
