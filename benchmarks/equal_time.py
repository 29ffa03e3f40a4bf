"""Safeguarded ISM and its rivals at equal time, over many starts, as a Markdown table.

    OMP_NUM_THREADS=1 python benchmarks/equal_time.py                                   all cells, 20 starts
    OMP_NUM_THREADS=1 python benchmarks/equal_time.py wine:gaussian:4 --starts 5        a part of them
    OMP_NUM_THREADS=1 python benchmarks/equal_time.py mnist3000:polynomial:2 --portfolio 12

Start 0 is Phi_0's, the others are random. Safeguarded ISM solves from each start until it is done, its look at second
order included. The CPU seconds that it takes are what each rival has, from the same start. A rival that ends sooner
goes on from further random starts, and its best result counts. ``best``: the share of starts from which F is within
1e-6 of the best that anyone found from it. ``gap``: the median of what is missing, relative. Making starts is timed for
neither.
"""

import argparse
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from large_cases import load
from real_data import standardised

from kdrbench.kernels import build_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import supervised_problem
from kdrbench.problems import Problem
from kdrbench.solvers import IterationMonitor, Status, build_solver, make_start, solve

CELLS = [f"{data}:{kernel}:{q}" for kernel in ("gaussian", "polynomial") for data, q in (
    ("wine", 4), ("wdbc", 2), ("cancer", 5), ("car", 4), ("face", 20), ("spam", 2),
    ("mnist3000", 2), ("mnist3000", 5), ("mnist3000", 10), ("mnist10000", 10),
)]  # fmt: skip
RIVALS: dict[str, dict[str, Any]] = {
    "R-LBFGS": {"method": "riemannian_lbfgs"},
    "GM": {"method": "grassmann_trust_region"},
    "CG": {"method": "grassmann_conjugate_gradient"},
    "scipy L-BFGS": {"method": "scipy_lbfgs"},
}
# F within this share of the best is the best.
SAME = 1e-6


class Deadline(IterationMonitor):
    """Ends a run at a moment of CPU time."""

    stop_status, stop_message = Status.TIME_LIMIT, "stopped at the time of safeguarded ISM"

    def __init__(self, end: float) -> None:
        super().__init__(1_000_000)
        self._end = end

    def keep_going(self, iterate: Any) -> bool:
        """Look at the clock."""
        return time.process_time() < self._end and super().keep_going(iterate)

    def progress(self, share: float) -> bool:
        """Look at the clock."""
        return time.process_time() < self._end


@dataclass
class Cell:
    """A problem, and for each method the F that it reached from each start."""

    problem: Problem
    q: int
    reached: dict[str, list[float]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    def start(self, number: int) -> FloatArray:
        """Return the start of this number."""
        name = "random" if number else "surrogate"
        return make_start(name, self.problem, self.q, np.random.default_rng(number))

    def solve_from(self, number: int, portfolio: int) -> None:
        """Run safeguarded ISM from one start, and then each rival for as long."""
        ours = build_solver({"method": "ism_safeguarded", "portfolio": portfolio, "seed": number})
        start, began = self.start(number), time.process_time()
        found = solve(ours, self.problem.fresh(), start, IterationMonitor(1_000_000))
        self.seconds.append(time.process_time() - began)
        self._note("safeguarded ISM", self.problem.value(found.projection))
        for name, definition in RIVALS.items():
            self._note(name, self._best_of_rival(definition, number, self.seconds[-1]))

    def _best_of_rival(self, definition: dict[str, Any], number: int, seconds: float) -> float:
        rng, start, values = np.random.default_rng([number, 1]), self.start(number), []
        while seconds > 0.0:
            began = time.process_time()
            found = solve(build_solver(definition), self.problem.fresh(), start, Deadline(began + seconds))
            seconds -= time.process_time() - began
            values.append(self.problem.value(found.projection))
            start = make_start("random", self.problem, self.q, rng)
        return max(values)

    def _note(self, name: str, value: float) -> None:
        self.reached.setdefault(name, []).append(value)


def samples(name: str) -> tuple[FloatArray, Any]:
    """Return standardised features without constant columns, and labels."""
    if name == "spam":
        features, labels = made_like_spambase()
    elif name.startswith("mnist"):
        features, labels, _ = load("mnist 10000")
        features, labels = features[: int(name[5:])], labels[: int(name[5:])]
    else:
        features, labels = standardised(name)
    features = features[:, features.std(axis=0) > 1e-6]
    return (features - features.mean(axis=0)) / features.std(axis=0), labels


def made_like_spambase() -> tuple[FloatArray, Any]:
    """Return data of the size and the skewness of Spambase, 4601 x 57, with two classes of 39 and 61 %."""
    rng, n_samples, n_features = np.random.default_rng(0), 4601, 57
    labels = (rng.random(n_samples) < 0.394).astype(int)
    mixing = np.eye(n_features) + 0.3 * rng.standard_normal((n_features, n_features)) / 7
    features = np.exp(0.7 * rng.standard_normal((n_samples, n_features)) @ mixing)
    return features + np.outer(labels, 0.8 * rng.standard_normal(n_features)), labels


def print_cell(name: str, n_starts: int, portfolio: int) -> None:
    """Run one cell and print a line of it."""
    data, kernel, q = name.split(":")
    features, labels = samples(data)
    cell = Cell(supervised_problem(features, labels, build_kernel({"family": kernel}, features, int(q))), int(q))
    for number in range(n_starts):
        cell.solve_from(number, portfolio)
    best = np.max(list(cell.reached.values()), axis=0)
    gaps = {method: (best - values) / np.abs(best) for method, values in cell.reached.items()}
    results = " | ".join(f"{np.mean(gap <= SAME):.0%}, {np.median(gap):.0e}" for gap in gaps.values())
    print(f"| {name} | {n_starts} | {np.median(cell.seconds):.3g} | {results} |", flush=True)


def main() -> None:
    """Print the table of the cells that are asked for."""
    parser = argparse.ArgumentParser(description="Safeguarded ISM and its rivals at equal time.")
    parser.add_argument("cells", nargs="*", default=CELLS, help="data:kernel:q")
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--portfolio", type=int, default=12, help="starts that safeguarded ISM chooses among; 1: none")
    options = parser.parse_args()
    names = ["safeguarded ISM", *RIVALS]
    print(f"| cell | starts | CPU s | {' | '.join(f'{name}: best, gap' for name in names)} |")
    print(f"|{'---|' * (3 + len(names))}")
    for name in options.cells:
        print_cell(name, options.starts, options.portfolio)


if __name__ == "__main__":
    main()
