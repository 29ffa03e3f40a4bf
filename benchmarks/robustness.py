"""How often plain ISM and safeguarded ISM fail, and what the safeguards cost, as Markdown tables.

Plain ISM stops by the papers' rule (delta = 0.01) or after 200 iterations. "Cycle": its last iterate is that before
the last but one, and not the last one. Shares are of structured problems / of noise.

    python benchmarks/robustness.py [draws of each family, 10 if not given]
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from measuring import print_head, print_row, timed

from kdrbench.datasets import Standardiser, load_dataset, synthetic
from kdrbench.kernels import Kernel, build_kernel, median_distance
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import supervised_problem
from kdrbench.problems import Problem
from kdrbench.solvers import Monitor, build_solver, make_start, solve
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.geometry.stiefel import relative_stationarity, subspace_turn

N_COMPONENTS, ROUNDING = 3, 1e-9
# Of logarithms, which are printed as a ratio; all others are shares.
TIME = "time, plain ISM = 1"
Measured = dict[str, float]


# Family, and bandwidth as a share of the median distance; without one the family's defaults.
KERNELS = {
    "Gaussian, sigma = median": ("gaussian", 1.0),
    "Gaussian, 0.3 median": ("gaussian", 0.3),
    "Gaussian, 0.1 median": ("gaussian", 0.1),
    "polynomial": ("polynomial", None),
    "multiquadric": ("multiquadric", None),
}


def built(family: str, share: float | None, features: FloatArray) -> Kernel:
    """Return a kernel on these features."""
    options = {} if share is None else {"sigma": share * median_distance(features)}
    return build_kernel({"family": family, **options}, features, N_COMPONENTS)


def subsample(name: str, size: int, rng: np.random.Generator, *, permuted: bool = False):
    """Return rows drawn without replacement, with their labels or with these permuted."""
    dataset = load_dataset(name)
    rows = rng.choice(len(dataset.labels), size, replace=False)
    labels = dataset.labels[rows]
    return dataset.features[rows], rng.permutation(labels) if permuted else labels


def xor(rng: np.random.Generator, **options: float):
    """Return two classes on opposite corners of a square: no single column tells them apart."""
    features, corners = synthetic.four_gaussians(120, rng, **options)
    return features, corners // 2 ^ corners % 2


def circles(rng: np.random.Generator):
    """Return two classes on circles of radius 1 and 2 about the origin, and three columns of noise."""
    labels, angles = rng.integers(0, 2, 120), rng.uniform(0.0, 2.0 * np.pi, 120)
    radii = 1.0 + labels + 0.1 * rng.standard_normal(120)
    informative = radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.hstack([informative, rng.standard_normal((120, 3))]), labels


STRUCTURED = {
    "wine": lambda rng: subsample("wine", 107, rng),
    "wdbc": lambda rng: subsample("wdbc", 150, rng),
    "xor": xor,
    "xor, tight": lambda rng: xor(rng, n_noise=8, spread=0.1),
    "four gaussians": lambda rng: synthetic.four_gaussians(120, rng),
    "circles": circles,
}
NOISE = {
    "wine, permuted": lambda rng: subsample("wine", 107, rng, permuted=True),
    "wdbc, permuted": lambda rng: subsample("wdbc", 150, rng, permuted=True),
    "noise": lambda rng: synthetic.noise(100, 10, 3, rng),
    "noise, d > n": lambda rng: synthetic.noise(30, 40, 3, rng),
}


def cases(draws: int) -> Iterator[tuple[str, bool, Problem]]:
    """Yield every kernel on every family, ``draws`` times, and whether that has structure; the same on every run."""
    for families, structured in ((STRUCTURED, True), (NOISE, False)):
        for family, make in families.items():
            for draw in range(draws):
                features, labels = make(np.random.default_rng([draw, len(family)]))
                features = Standardiser.fit(features).transform(features)
                for kernel, definition in KERNELS.items():
                    yield kernel, structured, supervised_problem(features, labels, built(*definition, features))


class History(Monitor):
    """Keeps every iterate."""

    def __init__(self) -> None:
        super().__init__()
        self.iterates: list[FloatArray] = []

    def keep_going(self, iterate: FloatArray) -> bool:
        """Note the iterate."""
        self.iterates.append(iterate)
        return super().keep_going(iterate)


@dataclass(frozen=True)
class Solved:
    """F along the way and at the end, the last iterates, and seconds."""

    values: list[float]
    iterates: list[FloatArray]
    seconds: float


def run(problem: Problem, method: str, start_name: str = "surrogate", seed: int = 0, **options: object) -> Solved:
    """Solve and keep F of every iterate, the result last."""
    start = make_start(start_name, problem, N_COMPONENTS, np.random.default_rng(seed))
    solver, history = build_solver({"method": method, **options}), History()
    seconds, result = timed(lambda: solve(solver, problem.fresh(), start, history))
    iterates = history.iterates
    if not np.array_equal(iterates[-1], result.projection):
        iterates.append(result.projection)
    return Solved([problem.value(iterate) for iterate in iterates], iterates, seconds)


def measured(problem: Problem) -> dict[str, Measured]:
    """Return what is measured of one problem, by solver and title."""
    plain, safe = run(problem, "ism"), run(problem, "ism_safeguarded")
    others = [run(problem, "ism_safeguarded", "random", seed) for seed in range(1, 6)]
    best = max(solved.values[-1] for solved in [safe, *others])
    scale = max(abs(best), abs(plain.values[0]))
    certificate = certify(problem.fresh(), safe.iterates[-1])
    turned = len(plain.iterates) > 3 and subspace_turn(plain.iterates[-1], plain.iterates[-2]) > 1e-3
    holds = {
        "cycle": turned and subspace_turn(plain.iterates[-1], plain.iterates[-3]) < 1e-3,
        "below its start": plain.values[-1] < plain.values[0] - ROUNDING * scale,
        "below its best iterate": plain.values[-1] < max(plain.values) - ROUNDING * scale,
        "stationarity > 1e-2": relative_stationarity(plain.iterates[-1], problem.gradient(plain.iterates[-1])) > 1e-2,
        "> 1 % below best known": plain.values[-1] < best - 0.01 * abs(best),
    }
    promises = {
        "F decreased": min(np.diff(safe.values)) < -1e-12 * scale,
        "stationarity > 1e-6": certificate.stationarity > 1e-6,
        "curvature < -1e-6": certificate.curvature < -1e-6,
        "below plain ISM": safe.values[-1] < plain.values[-1] - ROUNDING * scale,
        "mean gain over plain": (safe.values[-1] - plain.values[-1]) / scale,
        "> 1 % below best known": safe.values[-1] < best - 0.01 * abs(best),
        TIME: np.log(safe.seconds / plain.seconds),
    }
    return {"Plain ISM": holds, "Safeguarded ISM": promises}


def cell(title: str, parts: list[list[Measured]]) -> str:
    """Return the means over structured problems / noise."""
    means = [np.mean([one[title] for one in part]) for part in parts]
    if title == TIME:
        return " / ".join(f"{np.exp(mean):.1f}" for mean in means)
    return " / ".join(f"{100 * mean:.3g}" for mean in means) + " %"


def main() -> None:
    """Print both tables."""
    rows = defaultdict(list)
    for kernel, structured, problem in cases(int(sys.argv[1]) if len(sys.argv) > 1 else 10):
        rows[kernel, structured].append(measured(problem))
    print(f"{sum(map(len, rows.values()))} problems")
    for solver, titles in rows[next(iter(rows))][0].items():
        print(f"\n{solver}\n")
        print_head("kernel", *titles)
        for kernel in KERNELS:
            parts = [[one[solver] for one in rows[kernel, structured]] for structured in (True, False)]
            print_row(kernel, *(cell(title, parts) for title in titles))


if __name__ == "__main__":
    main()
