"""Low-rank kernel learning: cost of a projection, ratios to rivals in the same run, and the paper's figures in numbers.

    OMP_NUM_THREADS=1 python benchmarks/low_rank.py            all tables, under 3 minutes
    OMP_NUM_THREADS=1 python benchmarks/low_rank.py cost       one of them: cost, rivals, digits, gyrb, special

Digits are the registered sample of 317 of pendigits 3, 8 and 9; "gyrb-standin" is synthetic, so that nothing on it
reproduces a number of the paper. Paper: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006.
"""

import sys
from collections.abc import Sequence

import numpy as np
from low_rank_tasks import digits, gyrb, special, timed

from kdrbench.datasets import load_dataset
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank import (
    Constraints,
    Stopping,
    constraints_from_labels,
    draw_pairs,
    learn_kernel,
    squared_distances,
)
from kdrbench.lowrank.burg import Burg
from kdrbench.lowrank.reduced import reduce_problem
from kdrbench.lowrank.result import Progress
from kdrbench.lowrank.von_neumann import VonNeumann

NO_RULE = 1e-300


def made(n: int, rank: int, n_constraints: int) -> tuple[FloatArray, Constraints]:
    """Return a random factor and distances within a quarter of those of K0, so that projections have work to do."""
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((n, rank))
    pairs = draw_pairs(n, n_constraints, rng)
    squares = np.sum((factor[pairs[:, 0]] - factor[pairs[:, 1]]) ** 2, axis=1)
    return factor, squared_distances(n, pairs, "=", squares * rng.uniform(0.75, 1.25, n_constraints))


def projection_us(kind: type[Burg] | type[VonNeumann], n: int, rank: int, n_constraints: int) -> float:
    """Return microseconds a projection, over a second and a third sweep: the first one loads what is loaded once."""
    factor, constraints = made(n, rank, n_constraints)
    divergence = kind(reduce_problem(factor, constraints, orthonormal=kind.orthonormal, slack=np.inf))
    duals = np.zeros(len(divergence.problem))
    state = divergence.at(duals)
    if state is None:
        raise RuntimeError("no start")
    divergence.sweep(state, duals, Progress())
    return 1e6 * timed(lambda: divergence.sweep(state, duals, Progress()), 2) / n_constraints


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of a line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def cost() -> None:
    """Print microseconds a projection against r, n and the number of constraints."""
    ranks = (4, 16, 64, 256)
    burg = [projection_us(Burg, 2000, rank, 200) for rank in ranks]
    neumann = [projection_us(VonNeumann, 2000, rank, 100 if rank < 256 else 10) for rank in ranks]
    print("\n| r | Burg, us | von Neumann, us |\n|---|---|---|")
    for row in zip(ranks, burg, neumann, strict=True):
        print("| {} | {:.1f} | {:.0f} |".format(*row))
    print(f"exponent in r, 64 to 256: {exponent(ranks[2:], burg[2:]):.1f}, {exponent(ranks[2:], neumann[2:]):.1f}")
    sizes, whole = (100, 1_000, 10_000, 100_000, 1_000_000), []
    print("\n| n (r = 16, 100 constraints, Burg) | us a projection | set-up and finish, ms |\n|---|---|---|")
    for n in sizes:
        factor, constraints = made(n, 16, 100)
        once = Stopping(NO_RULE, NO_RULE, 1)
        few = constraints.take([0])
        whole.append(1e3 * timed(lambda f=factor, c=few, s=once: learn_kernel(f, c, stopping=s)))
        print(f"| {n:,} | {projection_us(Burg, n, 16, 100):.1f} | {whole[-1]:.2f} |")
    print(f"exponent of set-up and finish, 10,000 to 1,000,000: {exponent(sizes[2:], whole[2:]):.2f}")
    counts = (50, 500, 5000)
    sweeps = [1e-3 * count * projection_us(Burg, 2000, 16, count) for count in counts]
    told = ", ".join(f"{sweep:.2f} ms ({count})" for count, sweep in zip(counts, sweeps, strict=True))
    print(f"\na Burg sweep (constraints), r = 16: {told}; exponent {exponent(counts, sweeps):.2f}")


def itml(features: FloatArray, constraints: Constraints, sweeps: int) -> FloatArray:
    """Return ITML's metric with hard bounds: full d x d updates by the authors' formulas, as a plain numpy loop."""
    metric = np.eye(features.shape[1])
    differences = constraints.vectors @ features
    multipliers = np.zeros(len(constraints))
    for _ in range(sweeps):
        for i, v in enumerate(differences):
            sign = 1.0 if constraints.senses[i] == "<=" else -1.0
            square = v.dot(metric).dot(v)
            alpha = min(multipliers[i], sign * (1 / square - 1 / constraints.bounds[i]))
            multipliers[i] -= alpha
            beta = sign * alpha / (1 - sign * alpha * square)
            product = metric.dot(v)
            metric += np.outer(product, product * beta)
    return metric


def rivals() -> None:
    """Print ratios of time on the same constraints in one run."""
    data = load_dataset("digits")
    constraints = constraints_from_labels(data.features, data.labels, 100, np.random.default_rng(0))
    sweeps = 200
    fixed = Stopping(NO_RULE, NO_RULE, sweeps)
    divergence = Burg(reduce_problem(data.features, constraints, orthonormal=False, slack=np.inf))

    def ours() -> FloatArray:
        duals = np.zeros(len(constraints))
        state = divergence.at(duals)
        if state is None:
            raise RuntimeError("no start")
        for _ in range(sweeps):
            divergence.sweep(state, duals, Progress())
        return state.root()

    root, other = ours(), itml(data.features, constraints, sweeps)
    gap = np.abs(root @ root.T - other).max() / np.abs(other).max()
    ratio = timed(lambda: itml(data.features, constraints, sweeps)) / timed(ours)
    print(
        f"\nITML's loop / Burg, {fixed.max_sweeps} sweeps of 100 constraints, r = 16: {ratio:.2f}; M equal to {gap:.0e}"
    )
    print(
        "\n| constraints, tolerance 1e-6 | Burg cyclic, ms | Newton, ms | vN cyclic, ms | Newton, ms |\n|" + "---|" * 5
    )
    for count in (25, 50, 100):
        drawn = constraints_from_labels(data.features, data.labels, count, np.random.default_rng(0))
        cells = []
        for name in ("burg", "von_neumann"):
            for solver in ("cyclic", "newton"):
                options = {"divergence": name, "solver": solver, "stopping": Stopping(1e-6, 1e-6, 5000)}
                cells.append(1e3 * timed(lambda c=drawn, o=options: learn_kernel(data.features, c, **o), 1))
        print(f"| {count} | " + " | ".join(f"{cell:.0f}" for cell in cells) + " |")


TABLES = {"cost": cost, "rivals": rivals, "digits": digits, "gyrb": gyrb, "special": special}


def main() -> None:
    """Print the tables asked for."""
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()


if __name__ == "__main__":
    main()
