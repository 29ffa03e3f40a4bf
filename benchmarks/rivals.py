"""Every solver on cells of NeurIPS 2019, Table 4, as a Markdown table.

    OMP_NUM_THREADS=1 python benchmarks/rivals.py                            all variants
    OMP_NUM_THREADS=1 python benchmarks/rivals.py --only "GM, converged"     some of them

Every variant solves for all rows of a data set. Published variants start at random, converged ones at Phi_0's
eigenvectors, whose computation is timed. CPU milliseconds are medians of solves in turn; a solve that takes longer than
20 seconds is stopped there and printed as a bound. Cells whose data set cannot be fetched are left out.
"""

import statistics
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from measuring import parser_of, print_head, print_row, timed

from kdrbench.datasets import Standardiser, load_dataset
from kdrbench.errors import DataError
from kdrbench.kernels import build_kernel
from kdrbench.paradigms import supervised_problem
from kdrbench.problems import Problem
from kdrbench.solvers import Monitor, SolverResult, Status, build_solver, make_start, solve
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


class CappedMonitor(Monitor):
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


def solved(problem: Problem, q: int, definition: dict[str, Any]) -> SolverResult:
    """Solve once, from a start that is made here."""
    options = {"start": "surrogate", **definition}
    point = make_start(options.pop("start"), problem, q, np.random.default_rng(0))
    return solve(build_solver(options), problem, point, CappedMonitor())


def print_cells(variants: list[str]) -> None:
    """Print one line a cell and variant."""
    print_head("cell", "solver", "cost", "stationarity", "curvature", "calls", "ms", "ended")
    for cell, q, problem in problems(CELLS):
        # The first solve of each shows what takes long, and is the warm-up of the rest.
        first = {name: timed(partial(solved, problem.fresh(), q, VARIANTS[name])) for name in variants}
        short = [name for name, (seconds, _) in first.items() if seconds < 2.0]
        again = [
            {name: timed(partial(solved, problem.fresh(), q, VARIANTS[name]))[0] for name in short}
            for _ in range(REPEATS)
        ]
        for name, (seconds, one) in first.items():
            found = certify(problem.fresh(), one.projection)
            ms = 1e3 * statistics.median([turn[name] for turn in again if name in turn] or [seconds])
            numbers = (f"{-problem.value(one.projection):.9g}", f"{found.stationarity:.0e}", f"{found.curvature:.1e}")
            bound = "> " if one.status is Status.TIME_LIMIT else ""
            print_row(cell, name, *numbers, sum(one.counters.values()), f"{bound}{ms:.3g}", one.status)


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
    parser = parser_of(__doc__)
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS), metavar="VARIANT")
    print_cells(parser.parse_args().only)
