"""The targets of large problems: time, peak memory and error of whole solves, each in a process of its own.

    python benchmarks/at_the_limit.py                 all cases, one table
    python benchmarks/at_the_limit.py gaussian-10k    some of them

Wall seconds on all cores, data and bandwidth given. Peak memory is that of the process during the solve, beyond what it
held before; imports and a small solve come first, which are not counted. "cost" is the relative difference of the cost
to that of the dense reference by the same rule. For certified solves it is the gain over ISM by the papers' rule.
Stationarity is measured afterwards by exact oracles in double precision.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace

import numpy as np
from measuring import forget_peak, memory_mib, print_head, print_row
from numpy.typing import NDArray

from kdrbench.datasets import Standardiser, load_dataset
from kdrbench.errors import DataError
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.kernels import Gaussian, Kernel, Linear, Multiquadric, Polynomial, Squared, median_distance
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.solvers import Monitor, SolverResult, build_solver, make_start, solve
from kdrbench.solvers.geometry.stiefel import relative_stationarity

CORES = len(os.sched_getaffinity(0))


def standardised(name: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return a registered data set; ends with one sentence where it cannot be had."""
    try:
        dataset = load_dataset(name)
    except DataError as error:
        raise SystemExit(f"this benchmark needs the data set: {error}") from error
    varying = dataset.features.min(axis=0) != dataset.features.max(axis=0)
    features = np.ascontiguousarray(dataset.features[:, varying])
    return Standardiser.fit(features).transform(features), dataset.labels


# Near the median distances of the standardised digits (30.63 and 30.87), and the same in every case.
SIGMA = {10_000: 28.945, 60_000: 29.43}


@dataclass(frozen=True)
class Case:
    """One solve: data, kernel, solver, tolerance of the evaluation; ``paper`` has the printed time."""

    data: str
    kernel: str
    method: str = "ism"
    tolerance: float = 0.0
    evaluator: str = "auto"
    paper: str = ""


CASES = {
    "linear-10k": Case("mnist", "linear", paper="6.4 s"),
    "squared-10k": Case("mnist", "squared", paper="17.4 s"),
    "polynomial-10k": Case("mnist", "polynomial", paper="12.1 s"),
    "gaussian-10k": Case("mnist", "gaussian", tolerance=1e-3, paper="13.8 s"),
    "gaussian-10k-certified": Case("mnist", "gaussian", "ism_safeguarded"),
    "multiquadric-10k": Case("mnist", "multiquadric", tolerance=1e-5, paper="10.6 min"),
    "multiquadric-10k-certified": Case("mnist", "multiquadric", "ism_safeguarded"),
    "polynomial-60k": Case("mnist-60k", "polynomial", paper="impossible"),
    "gaussian-60k": Case("mnist-60k", "gaussian", tolerance=1e-3, paper="impossible"),
    "gaussian-60k-certified": Case("mnist-60k", "gaussian", "ism_safeguarded", paper="impossible"),
    "made-1000000": Case("made 1000000 50 5", "polynomial"),
    "multiquadric-1000000-certified": Case("made 1000000 50 2", "multiquadric", "ism_safeguarded"),
    "face": Case("face", "gaussian", paper="0.99 s"),
}


def load(name: str) -> tuple[FloatArray, FloatArray, int]:
    """Return features, labels and the number of components."""
    kind, *sizes = name.split()
    if kind != "made":
        return *standardised(kind), 10 if kind.startswith("mnist") else 20
    n_samples, n_features, q = map(int, sizes)
    rng, labels = np.random.default_rng(0), np.arange(n_samples) % 10
    features = rng.standard_normal((n_samples, n_features))
    features += (1.5 * rng.standard_normal((10, n_features)))[labels]
    return features, labels, q


def kernel_of(case: Case, features: FloatArray, q: int) -> Kernel:
    """Return the kernel with the papers' options."""
    if case.kernel == "gaussian":
        return Gaussian(SIGMA.get(len(features)) or median_distance(features))
    polynomial = Polynomial(degree=3, scale=1.0 if case.data.startswith("mnist") else 1.0 / q)
    kernels = {"linear": Linear(), "squared": Squared(), "multiquadric": Multiquadric(1.0), "polynomial": polynomial}
    return kernels[case.kernel]


def run(case: Case) -> dict[str, object]:
    """Solve and measure one case in this process."""
    features, labels, q = load(case.data)
    kernel = kernel_of(case, features, q)
    evaluation = Evaluation(case.evaluator, case.tolerance, CORES)
    objective = TraceObjective(features, kernel, supervised_gamma(labels))
    warm_up(case, evaluation)
    before, began = forget_peak(), time.perf_counter()
    result = solved(objective, evaluation, q, case.method)
    seconds, mib = time.perf_counter() - began, memory_mib() - before
    exact = build_problem(objective, Evaluation(threads=CORES))
    value, gradient = exact.value_and_gradient(result.projection)
    return {
        "seconds": seconds,
        "mib": mib,
        "cost": -value,
        "stationarity": relative_stationarity(result.projection, gradient),
        "calls": result.counters,
        "evaluation": result.evaluation,
    }


def warm_up(case: Case, evaluation: Evaluation) -> None:
    """Load what is loaded at the first call of anything."""
    features, labels, q = load("made 3000 60 5")
    objective = TraceObjective(features, kernel_of(case, features, q), supervised_gamma(labels))
    solved(objective, replace(evaluation, evaluator="auto"), q, "ism")


def solved(objective: TraceObjective, evaluation: Evaluation, q: int, method: str) -> SolverResult:
    """Return the result from Phi_0's eigenvectors."""
    problem = build_problem(objective, evaluation)
    start = make_start("surrogate", problem, q, np.random.default_rng(0))
    return solve(build_solver({"method": method}), problem, start, Monitor())


def apart(case: Case) -> dict[str, object]:
    """Measure a case in a process of its own.

    Our solves have threads of their own and leave one to BLAS; the dense reference gets BLAS on all cores.
    """
    blas = str(CORES) if case.evaluator == "dense" else "1"
    command = [sys.executable, __file__, json.dumps(asdict(case))]
    environment = {**os.environ, "OMP_NUM_THREADS": blas, "OPENBLAS_NUM_THREADS": blas}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    measured: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return measured


def table(names: list[str]) -> None:
    """Print the table of the named cases."""
    print(f"{CORES} cores\n")
    print_head("case", "s", "paper", "MiB", "cost", "stationarity", "surrogates", "how")
    found = {}
    for name in names:
        case, measured = CASES[name], apart(CASES[name])
        found[name] = measured
        against = "-"
        if name.endswith("-10k"):
            reference = apart(replace(case, evaluator="dense", tolerance=0.0))
            against = f"{abs(measured['cost'] / reference['cost'] - 1):.0e} of dense ({reference['seconds']:.1f} s)"
        elif name.endswith("-certified") and name.removesuffix("-certified") in found:
            plain = found[name.removesuffix("-certified")]["cost"]
            against = f"{(plain - measured['cost']) / abs(plain):.0e} below the rule's"
        numbers = (f"{measured['seconds']:.2f}", case.paper, f"{measured['mib']:.0f}", against)
        solve_of = (f"{measured['stationarity']:.0e}", measured["calls"]["surrogate"], measured["evaluation"])
        print_row(name, *numbers, *solve_of)


def main(arguments: list[str]) -> None:
    """Measure one case in this process, or print a table of those named."""
    if arguments and arguments[0].startswith("{"):
        print(json.dumps(run(Case(**json.loads(arguments[0])))))
    else:
        table(arguments or list(CASES))


if __name__ == "__main__":
    main(sys.argv[1:])
