"""Fair rivals on cells of NeurIPS 2019, Table 4, as Markdown tables.

    OMP_NUM_THREADS=1 python benchmarks/rivals.py             all three tables
    OMP_NUM_THREADS=1 python benchmarks/rivals.py overhead    one of: cells, overhead, stock
    OMP_NUM_THREADS=1 python benchmarks/rivals.py cells --only "GM, converged"          some of the variants

``cells``: every variant on all rows of a data set. Published variants start at random, converged ones at Phi_0's
eigenvectors, whose making is inside the time. CPU milliseconds are medians of solves in turn; what takes longer than 20
seconds is stopped there and printed as a bound. ``overhead``: seconds a rival spends beyond its oracles, as a share of
the oracles' own. ``stock``: GM against pymanopt's TrustRegions as it comes, with the same formula of F under autograd.
Cells of data sets that cannot be had are left out.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from ism_cells import problems

from kdrbench.datasets import synthetic
from kdrbench.kernels import build_kernel
from kdrbench.kernels.family import FloatArray
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
    "GM, converged, autograd": {"method": "grassmann_trust_region", "derivatives": "autograd"},
    "CG, converged": {"method": "grassmann_conjugate_gradient"},
    "R-LBFGS, converged": {"method": "riemannian_lbfgs"},
    "scipy L-BFGS, converged": {"method": "scipy_lbfgs"},
    "ISM 2018": {"method": "ism_2018"},
}
ORACLES = ("value", "gradient", "value_and_gradient", "hessian_vector", "hessian", "surrogate")


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


class TimedOracles:
    """A problem that adds up the seconds within its oracles, wherever they are evaluated."""

    def __init__(self, problem: Problem, spent: list[float] | None = None) -> None:
        object.__setattr__(self, "problem", problem)
        object.__setattr__(self, "spent", [] if spent is None else spent)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.problem, name)
        return self._timed(found) if name in ORACLES else found

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.problem, name, value)

    def evaluated(self, evaluator: str) -> "TimedOracles":
        """Return the same problem evaluated otherwise, timed too."""
        return TimedOracles(self.problem.evaluated(evaluator), self.spent)

    def linearised_at(self, projection: FloatArray) -> "TimedOracles":
        """Return the problem as it is at W, timed too."""
        return TimedOracles(self.problem.linearised_at(projection), self.spent)

    def _timed(self, oracle: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: FloatArray) -> Any:
            began = time.perf_counter()
            answer = oracle(*arguments)
            self.spent.append(time.perf_counter() - began)
            return answer

        return timed


@dataclass(frozen=True)
class Solved:
    """A result and the CPU and wall seconds it took."""

    result: SolverResult
    cpu_s: float
    wall_s: float


def solved(problem: Any, q: int, definition: dict[str, Any], start: str | None = None) -> Solved:
    """Solve once; the start is made inside the time."""
    options = {"start": "surrogate", **definition}
    name, solver = start or options.pop("start"), build_solver({k: v for k, v in options.items() if k != "start"})
    cpu, wall = time.process_time(), time.perf_counter()
    point = make_start(name, problem, q, np.random.default_rng(0))
    result = solve(solver, problem, point, CappedMonitor())
    return Solved(result, time.process_time() - cpu, time.perf_counter() - wall)


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


def print_overhead() -> None:
    """Print what solvers add to the seconds of their oracles, on made data of 500 samples."""
    print("| d | q | kernel | solver | oracle calls | ms a call | overhead |")
    print("|---|---|---|---|---|---|---|")
    for n_features in (100, 200):
        features, labels = synthetic.noise(500, n_features, 5, np.random.default_rng(0))
        features = features + 0.7 * np.random.default_rng(1).standard_normal((5, n_features))[labels]
        for family in ("gaussian", "polynomial"):
            kernel = build_kernel({"family": family}, features - features.mean(axis=0), 5)
            problem = supervised_problem(features - features.mean(axis=0), labels, kernel)
            for name, definition in VARIANTS.items():
                if name == "ISM 2018":
                    continue
                shares, calls, spent = [], 0, 0.0
                for _ in range(REPEATS):
                    timed = TimedOracles(problem.fresh())
                    one = solved(timed, 5, definition, start="random")
                    calls, spent = len(timed.spent), sum(timed.spent)
                    shares.append(one.wall_s / spent - 1.0)
                print(
                    f"| {n_features} | 5 | {family} | {name} | {calls} | {1e3 * spent / calls:.2f} | "
                    f"{statistics.median(shares):.1%} |",
                    flush=True,
                )


def stock_trust_regions(problem: Any, start: FloatArray) -> tuple[FloatArray, float]:
    """Run pymanopt as its manual says, on the formula of F; return the point and CPU seconds."""
    import pymanopt

    formula = problem.fresh().evaluated("autograd").evaluator(start)._objective_at
    manifold = pymanopt.manifolds.Grassmann(*start.shape)
    minimisation = pymanopt.Problem(manifold, pymanopt.function.autograd(manifold)(lambda point: -formula(point)))
    began = time.process_time()
    found = pymanopt.optimizers.TrustRegions(verbosity=0).run(minimisation, initial_point=start)
    return found.point, time.process_time() - began


def print_stock() -> None:
    """Print GM beside pymanopt's own run, from the same random start."""
    print("| cell | cost, stock | cost, GM | not above | s, stock | s, GM | times as fast | to stock's own norm |")
    print("|---|---|---|---|---|---|---|---|")
    for cell, q, problem in problems(CELLS[:2]):
        start = make_start("random", problem, q, np.random.default_rng(0))
        times: dict[str, list[float]] = {"stock": [], "GM": [], "published": []}
        for _ in range(REPEATS):
            point, seconds = stock_trust_regions(problem, start)
            times["stock"].append(seconds)
            for name, options in (("GM", {}), ("published", {"variant": "published"})):
                one = solved(problem.fresh(), q, {"method": "grassmann_trust_region", **options}, start="random")
                times[name].append(one.cpu_s)
                if name == "GM":
                    mine = one.result.projection
        stock, ours = -problem.value(point), -problem.value(mine)
        medians = {name: statistics.median(values) for name, values in times.items()}
        print(
            f"| {cell} | {stock:.12g} | {ours:.12g} | {ours <= stock + 1e-9 * abs(stock)} | {medians['stock']:.3f} | "
            f"{medians['GM']:.3f} | {medians['stock'] / medians['GM']:.1f} | "
            f"{medians['stock'] / medians['published']:.1f} |"
        )


if __name__ == "__main__":
    tables = {"cells": print_cells, "overhead": print_overhead, "stock": print_stock}
    parser = argparse.ArgumentParser(description="Fair rivals on cells of NeurIPS 2019, Table 4.")
    parser.add_argument("tables", nargs="*", default=list(tables), help=", ".join(tables))
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS), metavar="VARIANT")
    options = parser.parse_args()
    VARIANTS = {name: VARIANTS[name] for name in options.only}
    for chosen in options.tables:
        tables[chosen]()
        print()
