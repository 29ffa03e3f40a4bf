"""The targets of large problems: time, peak memory and error of whole solves, each in a process of its own.

    python benchmarks/at_the_limit.py                 all cases, one table
    python benchmarks/at_the_limit.py gaussian-10k    some of them
    python benchmarks/at_the_limit.py --list          their names
    python benchmarks/at_the_limit.py --parts face    the parts of whole fits, of some or of all of PARTS
    python benchmarks/at_the_limit.py --threads       whole fits on one thread and on all, as installed
    python benchmarks/at_the_limit.py --authors       the operations of the authors' code beside whole fits, one thread

Wall seconds on all cores, data and bandwidth given. Peak memory is that of the process during the solve, beyond what it
held before; imports and a small solve come first, as the bench does not count them either. The cases "with diagonal"
keep the diagonal of K, which the papers set to zero: what they save is X' diag X. "cost" is the difference of the cost
to that of the dense reference in the same rule, relative, or to plain ISM by the papers' rule for what is certified
(then it shows what the certificate gains). Stationarity is measured afterwards by exact oracles in double precision.
"share" is that of the rate of matrix products which the work of the dense surrogates, 2 n^2 (d + q) operations
each, would stand for: above one where the work is not done at all.

The parts of a whole fit are CPU seconds on one thread: set-up (checks and Gamma), bandwidth (that of a Gaussian), solve
(from the start to the objective) and certificate, as :class:`kdrbench.estimators.InterpretableKDR` takes them.
"""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from as_published import published_ism
from large_cases import CASES, PARTS, REFERENCES, SIGMA, Case, kernel_of, load
from sklearn.base import clone

from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.kernels import Kernel, resolve_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import build_task
from kdrbench.problems import TraceObjective, one_hot_columns, supervised_gamma
from kdrbench.solvers import IterationMonitor, build_solver, make_start, solve
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.geometry.stiefel import relative_stationarity

CORES = len(os.sched_getaffinity(0))
THREADS = ("gaussian-10k-certified", "polynomial-10k", "multiquadric-10k-certified")
# The solvers' own tolerances.
TOLERANCES = {"ism": 0.01, "ism_safeguarded": 1e-6}
# By the papers' rule without a certificate, and whole fits with one.
AUTHORS = {"gaussian": ("gaussian-10k", "gaussian-10k-certified"), "polynomial": ("polynomial-10k", "polynomial-10k")}


class PeakMemory:
    """The peak of resident memory since it was made, beyond what was held then."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")
        self._before = self._peak()

    def mib(self) -> float:
        """Return the peak."""
        return self._peak() - self._before

    def _peak(self) -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def run(case: Case) -> dict[str, object]:
    """Solve and measure one case in this process."""
    features, labels, q = load(case.data)
    kernel = kernel_of(case, features, q)
    evaluation = Evaluation(case.evaluator, case.tolerance, CORES)
    if case.paradigm != "supervised":
        return cluster(case, features, labels, kernel, evaluation, q)
    objective = TraceObjective(features, kernel, supervised_gamma(labels, zero_diagonal=case.zero_diagonal))
    warm_up(case, evaluation)
    memory, began = PeakMemory(), time.perf_counter()
    problem = build_problem(objective, evaluation)
    start = make_start("surrogate", problem, q, np.random.default_rng(0))
    result = solve(build_solver({"method": case.method}), problem, start, IterationMonitor())
    seconds, mib = time.perf_counter() - began, memory.mib()
    exact = build_problem(objective, Evaluation(threads=CORES))
    value, gradient = exact.value_and_gradient(result.projection)
    return {
        "seconds": seconds,
        "mib": mib,
        "cost": -value,
        "stationarity": relative_stationarity(result.projection, gradient),
        "iterations": result.iterations,
        "calls": result.counters,
        "work": 2.0 * len(features) ** 2 * (features.shape[1] + q) * max(result.counters["surrogate"], 1),
        "evaluation": result.evaluation,
        "status": str(result.status),
    }


def warm_up(case: Case, evaluation: Evaluation) -> None:
    """Load what is loaded at the first call of anything."""
    features, labels, q = load("made 3000 60 5")
    objective = TraceObjective(features, kernel_of(case, features, q), supervised_gamma(labels))
    problem = build_problem(objective, replace(evaluation, evaluator="auto"))
    start = make_start("surrogate", problem, q, np.random.default_rng(0))
    solve(build_solver({"method": "ism"}), problem, start, IterationMonitor())


def cluster(
    case: Case, features: FloatArray, labels: FloatArray, kernel: Kernel, evaluation: Evaluation, q: int
) -> dict[str, object]:
    """Cluster without labels and compare with them."""
    from sklearn.metrics import normalized_mutual_info_score

    warm_up(case, evaluation)
    memory, began = PeakMemory(), time.perf_counter()
    task = build_task(case.paradigm, {"n_clusters": q}, features, None, evaluation=evaluation)
    start = make_start("surrogate", task.first_problem(kernel), q, np.random.default_rng(0))
    learned = task.learn(kernel, build_solver({"method": case.method}), start, IterationMonitor)
    seconds, mib = time.perf_counter() - began, memory.mib()
    if learned.clustering is None:
        raise InputError("a clustering task returned no clustering")
    surrogates = learned.iterations + 1
    return {
        "seconds": seconds,
        "mib": mib,
        "cost": -learned.objective,
        "stationarity": math.nan,
        "iterations": learned.iterations,
        "work": 2.0 * len(features) ** 2 * (features.shape[1] + q) * surrogates,
        "nmi": normalized_mutual_info_score(labels, learned.clustering.labels),
        "evaluation": f"{learned.result.evaluation}; {len(learned.clustering.rounds)} rounds",
        "status": str(learned.status),
    }


def published(kernel: str) -> dict[str, object]:
    """Time the operations of the authors' code on 10,000 digits, wall and CPU."""
    features, labels, q = load("mnist 10000")
    sigma = SIGMA[10_000]
    slopes: dict[str, tuple[Callable[[FloatArray], FloatArray], bool]] = {
        "gaussian": (lambda beta: np.exp(-beta / (2 * sigma**2)), True),
        "polynomial": (lambda beta: (beta + 1) ** 2, False),
    }
    slope, by_difference = slopes[kernel]
    one_hot = one_hot_columns(labels)
    memory, began, cpu_began = PeakMemory(), time.perf_counter(), time.process_time()
    published_ism(features, one_hot, slope, q, by_difference=by_difference)
    return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu_began, "mib": memory.mib()}


def parts(name: str) -> dict[str, float]:
    """Return the CPU seconds of each part of a fit with its certificate."""
    case = CASES[name]
    features, labels, q = load(case.data)
    warm_up(case, Evaluation())
    found = [parts_once(case, features, labels, q)]
    # Short fits: the first one loads what is used for the first time.
    while found[0]["whole"] < 2.0 and len(found) < 5:
        found.append(parts_once(case, features, labels, q))
    return min(found, key=lambda one: one["whole"])


def parts_once(case: Case, features: FloatArray, labels: FloatArray, q: int) -> dict[str, float]:
    """Return them for one fit."""
    clock = [time.process_time()]
    task = build_task("supervised", {}, features, labels, evaluation=Evaluation(case.evaluator, case.tolerance))
    clock.append(time.process_time())
    by_median = case.kernel == "gaussian"
    kernel = resolve_kernel({"family": "gaussian"}, features, q, seed=0) if by_median else kernel_of(case, features, q)
    clock.append(time.process_time())
    start = make_start("surrogate", task.first_problem(kernel), q, np.random.default_rng(0))
    learned = task.learn(kernel, build_solver({"method": case.method}), start, IterationMonitor)
    clock.append(time.process_time())
    certify(learned.problem, learned.projection, learned.result.lowest)
    clock.append(time.process_time())
    spent = np.diff(clock).tolist()
    return dict(zip(("set-up", "bandwidth", "solve", "certificate"), spent, strict=True)) | {"whole": sum(spent)}


def parts_table(names: list[str]) -> None:
    """Print the parts of the fits of the named cases."""
    print("| case | set-up | bandwidth | solve | certificate | whole | target, s |\n|---|---|---|---|---|---|---|")
    for name in names:
        found = apart("--parts-of", name)
        print(f"| {name} | {' | '.join(f'{spent:.3f}' for spent in found.values())} | {PARTS[name]:g} |", flush=True)


def fits(name: str) -> dict[str, float]:
    """Return the wall-clock seconds of whole fits with their certificate: the best of three by ``n_jobs``, in turn."""
    case = CASES[name]
    features, labels, q = load(case.data)
    warm_up(case, Evaluation())
    kernel = None if case.kernel == "gaussian" else kernel_of(case, features, q)
    solver = {"method": case.method}
    model = InterpretableKDR(q, kernel=kernel or "gaussian", solver=solver, tol=TOLERANCES[case.method])
    spent: dict[str, float] = {}
    for _ in range(3):
        for n_jobs in (1, CORES):
            began = time.perf_counter()
            _ = clone(model).set_params(n_jobs=n_jobs).fit(features, labels).certificate_
            spent[str(n_jobs)] = min(spent.get(str(n_jobs), math.inf), time.perf_counter() - began)
    return spent | {"load": os.getloadavg()[0]}


def threads_table(names: list[str]) -> None:
    """Print whole fits on one thread and on all."""
    print(f"| case | one thread, s | {CORES} threads, s | ratio | load |\n|---|---|---|---|---|")
    for name in names:
        found = apart("--threads-of", name)
        one, all_, load_ = found["1"], found[str(CORES)], found["load"]
        print(f"| {name} | {one:.2f} | {all_:.2f} | {one / all_:.2f} | {load_:.1f} |", flush=True)


def authors_table() -> None:
    """Print CPU seconds of the authors' operations beside those of our training and whole fits, one thread each."""
    print("| kernel | authors' operations | training | ratio | whole fit | ratio |\n|---|---|---|---|---|---|")
    for kernel, (training, whole) in AUTHORS.items():
        theirs = apart("--published-on-one", kernel)["cpu"]
        trained, fit = apart("--parts-of", training)["solve"], apart("--parts-of", whole)["whole"]
        print(f"| {kernel} | {theirs:.0f} | {trained:.2f} | {theirs / trained:.0f} | {fit:.2f} | {theirs / fit:.0f} |")


def product_rate() -> float:
    """Return the multiplications and additions a second of a large matrix product on all cores."""
    matrix = np.random.default_rng(0).standard_normal((2000, 2000))
    times = []
    for _ in range(5):
        began = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - began)
    return 2 * 2000**3 / min(times)


def apart(*arguments: str) -> dict[str, object]:
    """Run this file in a process of its own and return what it measured.

    Our solves have threads of their own and leave one to BLAS; the others get BLAS on all cores.
    """
    blas = "1" if arguments[0] in ("--case", "--parts-of", "--published-on-one") else str(CORES)
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": blas, "OPENBLAS_NUM_THREADS": blas},
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    measured: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return measured


def table(names: list[str]) -> None:
    """Print the table of the named cases."""
    rate = product_rate()
    print(f"{CORES} cores, matrix products {rate / 1e9:.0f} GFlop/s\n")
    print("| case | s | target, s | paper | MiB | cost | stationarity | share | surrogates | how |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    found = {}
    for name in names:
        case, measured = CASES[name], apart("--case", name)
        found[name] = measured
        against = "-"
        if name in REFERENCES:
            reference = apart("--dense", REFERENCES[name])
            against = f"{abs(measured['cost'] / reference['cost'] - 1):.0e} of dense ({reference['seconds']:.1f} s)"
        elif "nmi" in measured:
            against = f"NMI {measured['nmi']:.3f}"
        elif name.endswith("-certified") and name.removesuffix("-certified") in found:
            plain = found[name.removesuffix("-certified")]["cost"]
            against = f"{(plain - measured['cost']) / abs(plain):.0e} below the rule's"
        share = measured["work"] / measured["seconds"] / rate
        surrogates = measured["calls"]["surrogate"] if "calls" in measured else measured["iterations"]
        print(
            f"| {name} | {measured['seconds']:.2f} | {case.target:g} | {case.paper} | {measured['mib']:.0f} "
            f"| {against} | {measured['stationarity']:.0e} | {share:.2f} | {surrogates} | {measured['evaluation']} |",
            flush=True,
        )
    for kernel in ("gaussian", "polynomial"):
        ours = found.get(f"{kernel}-10k")
        if ours is not None:
            theirs = apart("--published", kernel)
            ratio = theirs["seconds"] / ours["seconds"]
            print(f"\nOperations of the authors' code, {kernel}: {theirs['seconds']:.0f} s, {theirs['mib']:.0f} MiB,")
            print(f"{ratio:.0f} times the time of {kernel}-10k.", flush=True)


def main(arguments: list[str]) -> None:
    """Measure one case in this process, or print a table."""
    tables: dict[str, Callable[[list[str]], None]] = {
        "--parts": lambda names: parts_table(names or list(PARTS)),
        "--threads": lambda names: threads_table(names or list(THREADS)),
        "--authors": lambda names: authors_table(),
        "--list": lambda names: print("\n".join(CASES)),
    }
    measures: dict[str, Callable[[str], object]] = {
        "--case": lambda name: run(CASES[name]),
        "--dense": lambda kernel: run(Case("mnist 10000", kernel, evaluator="dense")),
        "--parts-of": parts,
        "--threads-of": fits,
        "--published": published,
        "--published-on-one": published,
    }
    first = arguments[0] if arguments else ""
    if first in tables:
        tables[first](arguments[1:])
    elif first in measures:
        print(json.dumps(measures[first](arguments[1])))
    else:
        table(arguments or list(CASES))


if __name__ == "__main__":
    main(sys.argv[1:])
