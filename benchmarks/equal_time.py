"""Safeguarded ISM and its rivals at equal time, over many starts, as Markdown tables.

    OMP_NUM_THREADS=1 python benchmarks/equal_time.py                                   all cells, 20 starts
    OMP_NUM_THREADS=1 python benchmarks/equal_time.py wine:gaussian:4 --starts 5        a part of them
    OMP_NUM_THREADS=1 python benchmarks/equal_time.py --output runs.jsonl               resumed where it was left
    OMP_NUM_THREADS=1 python benchmarks/equal_time.py --output runs.jsonl --starts 0    the tables of what was run

Start 0 is Phi_0's, the others are random. There are two questions, and each has its table:

- ``one start``: safeguarded ISM without a portfolio solves from the start until it is done, its look at second order
  included. Each rival has as many CPU seconds from the same start.
- ``restarts``: safeguarded ISM has its portfolio, as by default. Each rival has as many CPU seconds as that takes. It
  begins at the same start, goes on from random ones for as long as there is time, and its best result counts.

An entry has two parts. First comes the share of starts from which F is within 1e-6 of the best that anyone found from
it in that table. Then comes the median of what is missing, relative. A method is best in a cell where the share is
at least 90 %. A last table counts the optima: the distinct F, to 1e-4, that safeguarded ISM finds from one start each,
and how far Phi_0's is below the highest F that any run of the cell found. Making starts is not timed.
"""

import argparse
import json
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from real_data import mnist, standardised

from kdrbench.kernels import build_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import supervised_problem
from kdrbench.problems import Problem
from kdrbench.solvers import IterationMonitor, Status, build_solver, make_start, solve

CELLS = [f"{data}:{kernel}:{q}" for kernel in ("gaussian", "polynomial") for data, q in (
    ("wine", 4), ("wdbc", 2), ("cancer", 5), ("car", 4), ("face", 20), ("spam", 2),
    ("mnist3000", 2), ("mnist3000", 5), ("mnist3000", 10), ("mnist10000", 10),
)]  # fmt: skip
OURS = "safeguarded ISM"
RIVALS: dict[str, dict[str, Any]] = {
    "R-LBFGS": {"method": "riemannian_lbfgs"},
    "GM": {"method": "grassmann_trust_region"},
    "CG": {"method": "grassmann_conjugate_gradient"},
    "scipy L-BFGS": {"method": "scipy_lbfgs"},
}
FORMS = ("one start", "restarts")
# F within this share of the best is the best; optima whose F differ by less than the second count as one.
SAME, SAME_OPTIMUM = 1e-6, 1e-4
ENOUGH = 0.9


class Deadline(IterationMonitor):
    """Ends a run when the last of its budgets is spent, and keeps the last iterate within each of them."""

    stop_status, stop_message = Status.TIME_LIMIT, "stopped at the time of safeguarded ISM"

    def __init__(self, start: FloatArray, budgets: dict[str, float]) -> None:
        super().__init__(1_000_000)
        now = time.process_time()
        self._ends = {form: now + seconds for form, seconds in budgets.items()}
        self.within: dict[str, FloatArray] = dict.fromkeys(budgets, start)

    def note(self, projection: FloatArray) -> None:
        """Keep an iterate for the budgets that are not spent."""
        now = time.process_time()
        self.within |= {form: projection for form, end in self._ends.items() if now < end}

    def keep_going(self, iterate: Any) -> bool:
        """Look at the clock."""
        self.note(iterate() if callable(iterate) else iterate)
        return self.progress(0.0) and super().keep_going(iterate)

    def progress(self, share: float) -> bool:
        """Look at the clock."""
        return time.process_time() < max(self._ends.values())


class Cell:
    """A problem, solved by everyone from one start after the other."""

    def __init__(self, name: str) -> None:
        self._data, self._kernel, n_components = name.split(":")
        self._q = int(n_components)

    @cached_property
    def _problem(self) -> Problem:
        features, labels = samples(self._data)
        return supervised_problem(features, labels, build_kernel({"family": self._kernel}, features, self._q))

    def run(self, number: int, options: dict[str, Any]) -> dict[str, Any]:
        """Return the CPU seconds of safeguarded ISM and everyone's F, for both questions."""
        reached: dict[str, dict[str, float]] = {OURS: {}}
        budgets, messages = {}, {}
        for form, extra in zip(FORMS, ({"portfolio": 1}, options), strict=True):
            solver = build_solver({"method": "ism_safeguarded", "seed": number, **extra})
            start, began = self._start(number), time.process_time()
            found = solve(solver, self._problem.fresh(), start, IterationMonitor(1_000_000))
            budgets[form], messages[form] = time.process_time() - began, found.message
            reached[OURS][form] = self._problem.value(found.projection)
        for name, definition in RIVALS.items():
            reached[name] = self._rival(definition, number, budgets)
        return {"seconds": budgets, "reached": reached, "messages": messages}

    def _start(self, number: int) -> FloatArray:
        return make_start("random" if number else "surrogate", self._problem, self._q, np.random.default_rng(number))

    def _rival(self, definition: dict[str, Any], number: int, budgets: dict[str, float]) -> dict[str, float]:
        rng, start, left, best = np.random.default_rng([number, 1]), self._start(number), dict(budgets), {}
        while left:
            monitor, began = Deadline(start, left), time.process_time()
            monitor.note(solve(build_solver(definition), self._problem.fresh(), start, monitor).projection)
            spent = time.process_time() - began
            for form, projection in monitor.within.items():
                best[form] = max(best.get(form, -np.inf), self._problem.value(projection))
            # From one start there is no second.
            left = {form: seconds - spent for form, seconds in left.items() if form != FORMS[0] and seconds > spent}
            start = make_start("random", self._problem, self._q, rng)
        return best


def samples(name: str) -> tuple[FloatArray, Any]:
    """Return standardised features without constant columns, and labels."""
    if name == "spam":
        features, labels = made_like_spambase()
    elif name.startswith("mnist"):
        features, labels = mnist(10_000)
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


def warm_up() -> None:
    """Let everyone solve once, so that imports are on nobody's clock."""
    rng = np.random.default_rng(0)
    features, labels = rng.standard_normal((30, 4)), np.arange(30) % 2
    problem = supervised_problem(features, labels, build_kernel({"family": "polynomial"}, features, 1))
    for definition in ({"method": "ism_safeguarded"}, *RIVALS.values()):
        start = make_start("surrogate", problem, 1, rng)
        solve(build_solver(definition), problem.fresh(), start, IterationMonitor())


def runs_of(names: list[str], n_starts: int, options: dict[str, Any], output: Path | None) -> Iterator[dict[str, Any]]:
    """Yield all runs of the cells: those in the file, and new ones for the starts that are missing there."""
    kept = [json.loads(line) for line in output.read_text().splitlines()] if output and output.exists() else []
    yield from (run for run in kept if run["cell"] in names)
    done = {(run["cell"], run["start"]) for run in kept}
    if n_starts:
        warm_up()
    for name in names:
        cell = Cell(name)
        for number in range(n_starts):
            if (name, number) in done:
                continue
            run = {"cell": name, "start": number, **cell.run(number, options)}
            if output:
                with output.open("a") as file:
                    file.write(json.dumps(run) + "\n")
            yield run


def print_tables(runs: list[dict[str, Any]], names: list[str]) -> None:
    """Print what is known of each cell."""
    cells = {name: found for name in names if (found := [run for run in runs if run["cell"] == name])}
    methods = [OURS, *RIVALS]
    for form in FORMS:
        print(f"\n{form}\n\n| cell | starts | CPU s | {' | '.join(methods)} |\n|{'---|' * (3 + len(methods))}")
        won = dict.fromkeys(methods, 0)
        for name, found in cells.items():
            values = np.array([[run["reached"][method][form] for method in methods] for run in found])
            gaps = (values.max(axis=1, keepdims=True) - values) / np.abs(values.max(axis=1, keepdims=True))
            shares = np.mean(gaps <= SAME, axis=0)
            won = {method: won[method] + int(share >= ENOUGH) for method, share in zip(methods, shares, strict=True)}
            entries = [f"{share:.0%}, {gap:.0e}" for share, gap in zip(shares, np.median(gaps, axis=0), strict=True)]
            seconds = np.median([run["seconds"][form] for run in found])
            print(f"| {name} | {len(found)} | {seconds:.3g} | {' | '.join(entries)} |")
        print(f"| best in, of {len(cells)} | | | {' | '.join(str(won[method]) for method in methods)} |")
    print(f"\noptima\n\n| cell | starts | distinct | Phi_0 below the best | at the best |\n|{'---|' * 5}")
    for name, found in cells.items():
        alone = np.array([run["reached"][OURS][FORMS[0]] for run in found])
        best = max(value for run in found for forms in run["reached"].values() for value in forms.values())
        ordered = np.sort(alone)
        distinct = 1 + int(np.sum(np.diff(ordered) > SAME_OPTIMUM * np.abs(ordered[1:])))
        first = [value for value, run in zip(alone, found, strict=True) if run["start"] == 0]
        below = f"{max(0.0, 1.0 - first[0] / best):.0e}" if first else "not run"
        at_best = np.mean(best - alone <= SAME_OPTIMUM * abs(best))
        print(f"| {name} | {len(found)} | {distinct} | {below} | {at_best:.0%} |")


def main() -> None:
    """Run what is asked for and print its tables."""
    parser = argparse.ArgumentParser(description="Safeguarded ISM and its rivals at equal time.")
    parser.add_argument("cells", nargs="*", default=CELLS, help="data:kernel:q")
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--portfolio", type=int, help="starts that safeguarded ISM chooses among; by default its own")
    parser.add_argument("--output", type=Path, help="file that runs are appended to, and read from")
    options = parser.parse_args()
    portfolio = {} if options.portfolio is None else {"portfolio": options.portfolio}
    print_tables(list(runs_of(options.cells, options.starts, portfolio, options.output)), options.cells)


if __name__ == "__main__":
    main()
