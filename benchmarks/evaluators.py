"""Time, memory and error of each way of evaluating a problem, against the dense arrays in the same run.

Made data of ten overlapping classes. First a table at a size where n x n arrays can still be held: one surrogate and
one gradient at a new W each, and a whole solve by ISM with the papers' rule. Then how the time of an ISM step grows
with n. Memory is the peak beyond the data. "share" is that of the machine's rate of products which the work of a dense
surrogate, 2 n^2 (d + q) multiplications and additions, would stand for: above one where the work is not done at all.

Last, how near passes over all pairs (F and gradient by panels) are to their floor: the time that the three products of
matrices would take at the rate of a large one, and the exponential of each pair (for the multiquadric its square root
and reciprocal, for the polynomial two products). Floors and passes are measured in turn, in CPU time, and the best of
each counts.

At last what the polynomial kernel's zero diagonal costs on MNIST, CPU seconds, in turn: X' diag(w) X as a plain sum and
by its skyline (``kdrbench.evaluation.skyline``), beside a whole surrogate; and what a Hessian product does with
samples, through the curvature of all pairs of columns and through the derivative of monomials.

    OMP_NUM_THREADS=1 python benchmarks/evaluators.py
"""

import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from real_data import mnist

from kdrbench.evaluation import Evaluation, FactoredProblem, build_problem
from kdrbench.evaluation.weights import weighted_gram
from kdrbench.kernels import Gaussian, Kernel, Multiquadric, Polynomial, Squared
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem, TraceObjective, supervised_gamma
from kdrbench.solvers import IterationMonitor, build_solver, make_start, solve

N_SAMPLES, N_FEATURES, N_COMPONENTS, N_CLASSES = 4000, 200, 9, 10
REPEATS = 3
CALLS = 50
GROWTH: dict[str, tuple[Kernel, int, tuple[int, ...], float]] = {
    "polynomial": (Polynomial(degree=3, scale=0.2), 5, (500, 5_000, 50_000, 500_000, 1_000_000), 0.0),
    "Gaussian, panels": (Gaussian(sigma=10.0), 5, (500, 4_000, 16_000, 60_000), 0.0),
    "Gaussian, 1e-4 of the trace": (Gaussian(sigma=10.0), 5, (4_000, 16_000, 60_000), 1e-4),
}


def objective_of(n_samples: int, n_features: int, kernel: Kernel) -> TraceObjective:
    """Return a supervised problem on overlapping classes, the same on every run."""
    rng = np.random.default_rng(n_samples)
    labels = np.arange(n_samples) % N_CLASSES
    features = rng.standard_normal((n_samples, n_features))
    features += (1.5 * rng.standard_normal((N_CLASSES, n_features)))[labels]
    return TraceObjective(features - features.mean(axis=0), kernel, supervised_gamma(labels))


def seconds(action: Callable[[], object]) -> float:
    """Return the median wall time of some calls."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def product_rate() -> float:
    """Return the multiplications and additions a second of a large matrix product."""
    matrix = np.random.default_rng(0).standard_normal((1500, 1500))
    return 2 * 1500**3 / seconds(lambda: matrix @ matrix)


def peak_mib(action: Callable[[], object]) -> float:
    """Return the peak of what is allocated during a call."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def ism(problem: Problem, n_components: int) -> FloatArray:
    """Return ISM's result from Phi_0 by the papers' rule."""
    start = make_start("surrogate", problem, n_components, np.random.default_rng(0))
    return solve(build_solver({"method": "ism"}), problem, start, IterationMonitor()).projection


KERNELS: dict[str, tuple[Kernel, dict[str, float]]] = {
    "polynomial": (Polynomial(degree=3, scale=1 / N_COMPONENTS), {"dense": 0.0, "panels": 0.0, "factored": 0.0}),
    "squared": (Squared(), {"dense": 0.0, "panels": 0.0, "factored": 0.0}),
    "Gaussian": (Gaussian(sigma=25.0), {"dense": 0.0, "panels": 0.0, "low_rank": 1e-3}),
    "multiquadric": (Multiquadric(offset=1.0), {"dense": 0.0, "panels": 0.0}),
}


@dataclass(frozen=True)
class Measured:
    """What one evaluator took on one problem, and what came out."""

    surrogate_s: float
    gradient_s: float
    solve_s: float
    memory_mib: float
    surrogate: FloatArray
    cost: float


def measure(objective: TraceObjective, evaluator: str, tolerance: float) -> Measured:
    """Measure one evaluator."""
    problem = build_problem(objective, Evaluation(evaluator=evaluator, tolerance=tolerance))
    point = make_start("random", problem, N_COMPONENTS, np.random.default_rng(1))

    def build_and_evaluate() -> None:
        build_problem(objective, Evaluation(evaluator=evaluator, tolerance=tolerance)).surrogate(point)

    exact = build_problem(objective, Evaluation(evaluator="panels"))
    return Measured(
        surrogate_s=seconds(lambda: problem.fresh().surrogate(point)),
        gradient_s=seconds(lambda: problem.fresh().gradient(point)),
        solve_s=seconds(lambda: ism(problem.fresh(), N_COMPONENTS)),
        memory_mib=peak_mib(build_and_evaluate),
        surrogate=problem.fresh().surrogate(point),
        cost=exact.value(ism(problem.fresh(), N_COMPONENTS)),
    )


def compare() -> None:
    """Print the first table."""
    rate, work = product_rate(), 2 * N_SAMPLES**2 * (N_FEATURES + N_COMPONENTS)
    print(f"n = {N_SAMPLES}, d = {N_FEATURES}, q = {N_COMPONENTS}; matrix products {rate / 1e9:.0f} GFlop/s\n")
    print("| kernel | evaluator | surrogate, s | share | gradient, s | ISM, s | MiB | error of Phi | cost, relative |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (kernel, ways) in KERNELS.items():
        objective = objective_of(N_SAMPLES, N_FEATURES, kernel)
        reference = measure(objective, "dense", 0.0)
        for way, tolerance in ways.items():
            found = reference if way == "dense" else measure(objective, way, tolerance)
            error = np.abs(found.surrogate - reference.surrogate).max() / np.abs(reference.surrogate).max()
            print(
                f"| {name} | {way} | {found.surrogate_s:.3f} | {work / found.surrogate_s / rate:.2f} | "
                f"{found.gradient_s:.3f} | {found.solve_s:.3f} | {found.memory_mib:.0f} | {error:.0e} | "
                f"{abs(found.cost / reference.cost - 1):.0e} |"
            )


def grow() -> None:
    """Print how the time of a surrogate and a gradient grows."""
    print("\n| kernel | n | surrogate, s | gradient, s | MiB beyond the data | exponent so far |")
    print("|---|---|---|---|---|---|")
    for name, (kernel, q, sizes, tolerance) in GROWTH.items():
        spent: list[float] = []
        for n_samples in sizes:
            objective = objective_of(n_samples, 50, kernel)
            problem = build_problem(objective, Evaluation(tolerance=tolerance))
            point = make_start("random", problem, q, np.random.default_rng(1))
            a_surrogate = seconds(lambda problem=problem, point=point: problem.fresh().surrogate(point))
            a_gradient = seconds(lambda problem=problem, point=point: problem.fresh().gradient(point))
            memory = peak_mib(lambda problem=problem, point=point: problem.fresh().surrogate(point))
            spent.append(a_surrogate)
            exponent = np.polyfit(np.log(sizes[: len(spent)]), np.log(spent), 1)[0] if len(spent) > 1 else np.nan
            print(f"| {name} | {n_samples} | {a_surrogate:.3f} | {a_gradient:.3f} | {memory:.0f} | {exponent:.2f} |")


def best_in_turn(actions: dict[str, Callable[[], object]], rounds: int = 10) -> dict[str, float]:
    """Return the least CPU time of each action, all of them having their turn in each round."""
    best = dict.fromkeys(actions, np.inf)
    for _ in range(rounds):
        for name, action in actions.items():
            began = time.process_time()
            action()
            best[name] = min(best[name], time.process_time() - began)
    return best


def elementwise(samples: FloatArray) -> dict[str, Callable[[], object]]:
    """Return for each kernel what it does to one block of arguments, again and again in the same memory."""
    out, positive = np.empty_like(samples), np.abs(samples) + 1
    return {
        "Gaussian": lambda: np.exp(samples, out=out),
        "multiquadric": lambda: np.reciprocal(np.sqrt(positive, out=out), out=out),
        "polynomial": lambda: np.multiply(np.multiply(samples, samples, out=out), samples, out=out),
    }


def shares(n_samples: int = 6000, n_features: int = 100, n_components: int = 10) -> None:
    """Print the share of its floor that each pass over pairs reaches."""
    print("\n| kernel | precision | ns a pair | floor, ns | share | share of products and exponentials |")
    print("|---|---|---|---|---|---|")
    kernels = {"Gaussian": Gaussian(20.0), "multiquadric": Multiquadric(1.0), "polynomial": Polynomial(3, 1.0, 0.1)}
    rng = np.random.default_rng(0)
    for precision, tolerance in (("float64", 0.0), ("float32", 1e-5)):
        matrix, block = (rng.random(shape).astype(precision) for shape in ((1000, 1000), (256, 256)))
        actions: dict[str, Callable[[], object]] = {"product": lambda matrix=matrix: matrix @ matrix}
        # Often, as in a pass: the first time the block is not in the cache.
        for name, action in elementwise(-block).items():
            actions[f"of {name}"] = lambda action=action: [action() for _ in range(CALLS)]
        for name, kernel in kernels.items():
            problem = build_problem(objective_of(n_samples, n_features, kernel), Evaluation("panels", tolerance))
            point = make_start("random", problem, n_components, rng)
            actions[name] = lambda problem=problem, point=point: problem.value_and_gradient(point)
        best = best_in_turn(actions)
        multiplications = n_components + 2 * (n_components + 1)
        products = multiplications * best["product"] / matrix.shape[0] ** 3
        pairs = n_samples * (n_samples + 1) / 2
        for name in kernels:
            floor, spent = products + best[f"of {name}"] / CALLS / block.size, best[name] / pairs
            exponentials = products + best["of Gaussian"] / CALLS / block.size
            print(
                f"| {name} | {precision} | {spent * 1e9:.2f} | {floor * 1e9:.2f} | {floor / spent:.2f} | "
                f"{exponentials / spent:.2f} |"
            )


def through_curvature(problem: FactoredProblem, point: FloatArray, moved: FloatArray) -> FloatArray:
    """Return (C * (P R' + R P')) P + G R, column by column: sum_a p_a * C (r_a p_b) + r_a * C (p_a p_b)."""
    held = problem._at(point)
    samples, (n, q) = held.samples, held.samples.shape
    crossed, squares = (
        (left[:, :, None] * samples[:, None, :]).reshape(n, q * q) for left in (moved, samples)
    )  # fmt: skip
    through = problem._curved(held, np.hstack([crossed, squares])).reshape(n, 2, q, q)
    turned = np.einsum("na,nab->nb", samples, through[:, 0]) + np.einsum("na,nab->nb", moved, through[:, 1])
    result: FloatArray = problem._sloped(point, moved) + turned
    return result


def zero_diagonal(n_samples: int) -> None:
    """Print a row: what the diagonal of K = 0 and Hessian products of the polynomial kernel cost."""
    features, labels = mnist(n_samples)
    objective = TraceObjective(features, Polynomial(degree=3, scale=0.1), supervised_gamma(labels))
    problem = FactoredProblem(objective)
    point = make_start("surrogate", problem, 10, np.random.default_rng(0))
    weights, moved = problem._at(point).own_slopes, features @ np.roll(point, 1, axis=0)
    actions: tuple[Callable[[], object], ...] = (
        lambda: weighted_gram(features, weights),
        lambda: problem._grams.of(weights),
        lambda: problem.fresh().surrogate(point),
        lambda: through_curvature(problem, point, moved),
        lambda: problem._turned(point, moved),
    )
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(REPEATS + 1):
        for spent, action in zip(times, actions, strict=True):
            began = time.process_time()
            action()
            spent.append(time.process_time() - began)
    # The first call of each finds the skyline, and what is kept at W.
    print(f"| {n_samples} | " + " | ".join(f"{min(spent[1:]):.3f}" for spent in times) + " |")


if __name__ == "__main__":
    compare()
    grow()
    shares()
    print("\n| MNIST | X'diag(w)X plain, s | by skyline | surrogate | Hessian product by curvature | by derivative |")
    print("|---|---|---|---|---|---|")
    for size in (10_000, 60_000):
        zero_diagonal(size)
