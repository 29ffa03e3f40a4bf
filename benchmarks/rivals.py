"""Every solver on cells of NeurIPS 2019, Table 4, as a Markdown table.

    OMP_NUM_THREADS=1 python benchmarks/rivals.py                            all variants
    OMP_NUM_THREADS=1 python benchmarks/rivals.py --only "GM, converged"     some of them

Every variant solves for all rows of a data set. Published variants start at random, converged ones at Phi_0's
eigenvectors, whose computation is timed. CPU milliseconds are medians of solves in turn; a solve that takes longer than
20 seconds is stopped there and printed as a bound. Cells whose data set cannot be fetched are left out.
"""

import argparse
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
from kdrbench.solvers import IterationMonitor, SolverResult, Status, build_solver, make_start, solve
from kdrbench.solvers.geometry.certificate import certify

LIMIT_S, REPEATS = 20.0, 5
# With the papers' numbers of components.
CELLS = (("wine", 4), ("cancer", 5), ("face", 20), ("car", 4))
VARIANTS: dict[str, dict[str, Any]] = {
    "ISM": {"method": "ism"},
    "DG": {"method": "dimension_growth", "variant": "published", "start": "random"},
    "SM": {"method": "stiefel_cayley", "variant": "published", "start": "random"},
    "GM": {"method": "grassmann_trust_region", "variant": "published", "start": "random"},
    "ISM, converged": {"method": "ism_safeguarded"},
    "DG, converged": {"method": "dimension_growth"},
    "DG, not polished": {"method": "dimension_growth", "polish": False},
    "SM, converged": {"method": "stiefel_cayley"},
    "GM, converged": {"method": "grassmann_trust_region"},
    "CG, converged": {"method": "grassmann_conjugate_gradient"},
    "R-LBFGS, converged": {"method": "riemannian_lbfgs"},
    "scipy L-BFGS, converged": {"method": "scipy_lbfgs"},
    "ISM 2018": {"method": "ism_2018"},
}


class CappedMonitor(IterationMonitor):
    """Stops after ``LIMIT_S`` CPU seconds."""

    stop_status, stop_message = Status.TIME_LIMIT, f"stopped after {LIMIT_S:g} s"

    def __init__(self) -> None:
        super().__init__(1_000_000)
        self._end = time.process_time() + LIMIT_S

    def keep_going(self, iterate: Any) -> bool:
        """Count and look at the clock."""
        return time.process_time() < self._end and super().keep_going(iterate)

    def progress(self, share: float) -> bool:
        """Look at the clock."""
        return time.process_time() < self._end


@dataclass(frozen=True)
class Solved:
    """A result and the CPU seconds it took."""

    result: SolverResult
    cpu_s: float


def solved(problem: Problem, q: int, definition: dict[str, Any]) -> Solved:
    """Solve once; the start is made inside the time."""
    options = {"start": "surrogate", **definition}
    start = options.pop("start")
    began = time.process_time()
    point = make_start(start, problem, q, np.random.default_rng(0))
    result = solve(build_solver(options), problem, point, CappedMonitor())
    return Solved(result, time.process_time() - began)


def print_cells() -> None:
    """Print one line a cell and variant."""
    print("| cell | solver | cost | stationarity | curvature | calls | ms | ended |")
    print("|---|---|---|---|---|---|---|---|")
    for cell, q, problem in problems(CELLS):
        # The first solve of each shows what takes long, and is the warm-up of the rest.
        first = {name: solved(problem.fresh(), q, definition) for name, definition in VARIANTS.items()}
        short = [name for name, one in first.items() if one.cpu_s < 2.0]
        times: dict[str, list[float]] = {name: [] for name in VARIANTS}
        for _ in range(REPEATS):
            for name in short:
                times[name].append(solved(problem.fresh(), q, VARIANTS[name]).cpu_s)
        for name, one in first.items():
            certificate = certify(problem.fresh(), one.result.projection)
            stopped = one.result.status is Status.TIME_LIMIT
            ms = 1e3 * statistics.median(times[name] or [one.cpu_s])
            print(
                f"| {cell} | {name} | {-problem.value(one.result.projection):.9g} | {certificate.stationarity:.0e} | "
                f"{certificate.curvature:.1e} | {sum(one.result.counters.values())} | "
                f"{'> ' if stopped else ''}{ms:.3g} | {one.result.status} |",
                flush=True,
            )


def problems(cells: tuple[tuple[str, int], ...]) -> Iterator[tuple[str, int, Problem]]:
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Solvers on cells of NeurIPS 2019, Table 4.")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS), metavar="VARIANT")
    options = parser.parse_args()
    VARIANTS = {name: VARIANTS[name] for name in options.only}
    print_cells()
