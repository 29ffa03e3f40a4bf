"""Low-rank kernel learning: cost of a projection, ratios to rivals in the same run, and the paper's figures in numbers.

    OMP_NUM_THREADS=1 python benchmarks/low_rank.py            all tables, under 3 minutes
    OMP_NUM_THREADS=1 python benchmarks/low_rank.py cost       one of them: cost, rivals, digits, gyrb, special

Digits are the registered sample of 317 of pendigits 3, 8 and 9; "gyrb-standin" is synthetic, so that nothing on it
reproduces a number of the paper. Paper: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006.
"""

import statistics
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from kdrbench.datasets import load_dataset, load_kernel_set
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank import (
    Constraints,
    LearnedKernel,
    Outcome,
    Stopping,
    centred_factor,
    constraints_from_labels,
    definite_boost,
    draw_pairs,
    factor_of,
    higham_correlation,
    isometry_constraints,
    kmeans_on_factor,
    learn_kernel,
    nearest_correlation,
    squared_distances,
)
from kdrbench.lowrank.burg import Burg
from kdrbench.lowrank.reduced import reduce_problem
from kdrbench.lowrank.result import Progress
from kdrbench.lowrank.von_neumann import VonNeumann

PAPER_RULE = Stopping(1e-3, 1e-3, 2000)
NO_RULE = 1e-300


def timed(action: Callable[[], object], repeats: int = 3) -> float:
    """Return the median CPU time of some calls; the machine may have other work."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return statistics.median(times)


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
        whole.append(1e3 * timed(lambda f=factor, c=few, s=once: learn_kernel(f, c, stopping=s)))  # type: ignore[misc]
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
    print(f"\nITML's loop / Burg, {fixed.max_sweeps} sweeps of 100 constraints, r = 16: {ratio:.2f}; M equal to {gap:.0e}")
    print("\n| constraints, tolerance 1e-6 | Burg cyclic, ms | Newton, ms | vN cyclic, ms | Newton, ms |\n|" + "---|" * 5)
    for count in (25, 50, 100):
        drawn = constraints_from_labels(data.features, data.labels, count, np.random.default_rng(0))
        cells = []
        for name in ("burg", "von_neumann"):
            for solver in ("cyclic", "newton"):
                options = {"divergence": name, "solver": solver, "stopping": Stopping(1e-6, 1e-6, 5000)}
                cells.append(1e3 * timed(lambda c=drawn, o=options: learn_kernel(data.features, c, **o), 1))  # type: ignore[misc]
        print(f"| {count} | " + " | ".join(f"{cell:.0f}" for cell in cells) + " |")


def learned(features: FloatArray, constraints: Constraints, divergence: str) -> LearnedKernel:
    """Return the solution by Newton's method, or where there is none what 50 sweeps of projections leave."""
    found = learn_kernel(features, constraints, divergence=divergence, solver="newton", stopping=PAPER_RULE)
    if found.outcome is Outcome.CONVERGED:
        return found
    return learn_kernel(features, constraints, divergence=divergence, stopping=Stopping(1e-3, 1e-3, 50))


def two_fold(rows: FloatArray, labels: FloatArray, rng: np.random.Generator) -> float:
    """Return 5-NN accuracy of one 50/50 split, each half being tested once."""
    from sklearn.neighbors import KNeighborsClassifier

    order = rng.permutation(len(labels))
    halves = order[: len(order) // 2], order[len(order) // 2 :]
    right = [
        (KNeighborsClassifier(5).fit(rows[a], labels[a]).predict(rows[b]) == labels[b]).sum()
        for a, b in (halves, halves[::-1])
    ]
    return float(sum(right) / len(labels))


def scores(rows: FloatArray, labels: FloatArray, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return 5-NN accuracy, NMI of k-means from one start, and of the best of ten starts."""
    from sklearn.metrics import normalized_mutual_info_score

    classes = len(np.unique(labels))
    nmi = [
        float(normalized_mutual_info_score(labels, kmeans_on_factor(rows, classes, rng, n_starts=starts)))
        for starts in (1, 10)
    ]
    return two_fold(rows, labels, rng), nmi[0], nmi[1]


def digits(runs: int = 5) -> None:
    """Print sweeps, accuracy and NMI on Digits against the number of constraints (Figures 1 and 2, and the text)."""
    data = load_dataset("digits")
    print("\n| Digits: constraints | Burg: solvable, 5-NN, NMI (1 start), NMI (10) | von Neumann: the same |\n|---|---|---|")
    for count in (0, 50, 100, 150, 200):
        cells = []
        for name in ("burg", "von_neumann"):
            found, solvable = [], 0
            for seed in range(runs):
                rows = data.features
                if count:
                    constraints = constraints_from_labels(rows, data.labels, count, np.random.default_rng(seed))
                    result = learned(rows, constraints, name)
                    rows, solvable = result.factor, solvable + (result.outcome is Outcome.CONVERGED)
                found.append(scores(rows, data.labels, np.random.default_rng(100 + seed)))
            means = " / ".join(f"{mean:.3f}" for mean in np.mean(found, axis=0))
            cells.append(f"{solvable if count else runs} of {runs}: {means}")
        print(f"| {count} | {cells[0]} | {cells[1]} |", flush=True)
    print("paper: 5-NN .94 -> .97\n\n| sweeps by the paper's rule alone (1e-3), median of 3 | Burg | von Neumann |\n|---|---|---|")
    for count in (25, 75, 150):
        cells = []
        for name in ("burg", "von_neumann"):
            stopping, sweeps = Stopping(1e-3, 1e9, 2000), []
            for seed in range(3):
                drawn = constraints_from_labels(data.features, data.labels, count, np.random.default_rng(seed))
                sweeps.append(learn_kernel(data.features, drawn, divergence=name, stopping=stopping).sweeps)
            cells.append(f"{statistics.median(sweeps):g}")
        print(f"| {count} | " + " | ".join(cells) + " |", flush=True)
    print("paper: Burg 17-354, von Neumann 11-105")


def gyrb() -> None:
    """Print sweeps on the stand-in for gyrB, from the identity of trace one, to the KKT residual 1e-3."""
    data = load_kernel_set("gyrb-standin")
    truth = factor_of(data.kernel / np.trace(data.kernel))
    n = len(data.kernel)
    start = np.eye(n) / np.sqrt(n)
    print("\n| gyrb-standin (synthetic): constraints | Burg | von Neumann | DefiniteBoost: exact | own range | symmetric | NMI before, after (vN) |")
    print("|" + "---|" * 7)
    for count in (50, 200, 600):
        rng = np.random.default_rng(0)
        pairs = draw_pairs(n, count, rng)
        squares = np.sum((truth[pairs[:, 0]] - truth[pairs[:, 1]]) ** 2, axis=1)
        same = data.labels[pairs[:, 0]] == data.labels[pairs[:, 1]]
        drawn = squared_distances(n, pairs, ["<=" if alike else ">=" for alike in same], squares)
        found = [learn_kernel(start, drawn, divergence=name, stopping=PAPER_RULE) for name in ("burg", "von_neumann")]
        capped = Stopping(1e-3, 1e-3, 300)
        found += [definite_boost(start, drawn, step=step, stopping=capped) for step in ("exact", "own_range", "symmetric")]
        told = [f"{r.sweeps}" if r.outcome is Outcome.CONVERGED else f"{r.sweeps}: {r.outcome}" for r in found]
        nmi = [scores(rows, data.labels, np.random.default_rng(1))[2] for rows in (start, found[1].factor)]
        print(f"| {count} | " + " | ".join(told) + f" | {nmi[0]:.2f}, {nmi[1]:.2f} |", flush=True)
    print("paper, on the true gyrB: 11 sweeps (von Neumann), 3220 (DefiniteBoost)")


def special() -> None:
    """Print both objectives of correlation matrices, and a Swiss roll beside Isomap."""
    from sklearn.datasets import make_swiss_roll
    from sklearn.manifold import Isomap, trustworthiness

    print("\n| nearest correlation, n = 50 | Frobenius distance | Burg divergence | ms |\n|---|---|---|---|")
    rng = np.random.default_rng(0)
    raw = rng.standard_normal((50, 60))
    kernel = raw @ raw.T / 60
    methods: dict[str, Callable[[], FloatArray]] = {
        "Burg": lambda: nearest_correlation(kernel, stopping=Stopping(1e-8, 1e-8, 10_000)).kernel,
        "von Neumann": lambda: nearest_correlation(kernel, divergence="von_neumann").kernel,
        "Higham": lambda: higham_correlation(kernel),
    }
    for name, method in methods.items():
        found = method()
        ratio = np.linalg.solve(kernel, found)
        burg = np.trace(ratio) - np.linalg.slogdet(ratio)[1] - 50
        print(f"| {name} | {np.linalg.norm(found - kernel):.4f} | {burg:.4f} | {1e3 * timed(method, 1):.0f} |")
    roll, _ = make_swiss_roll(150, noise=0.0, random_state=0)
    roll = roll - roll.mean(axis=0)
    constraints = isometry_constraints(roll, 6)
    start = np.sqrt(1e3) * centred_factor(np.eye(150))
    result = learn_kernel(start, constraints, divergence="von_neumann", stopping=Stopping(1e-2, 1e-2, 15))
    plane = factor_of(result.kernel, 2)
    isomap = Isomap(n_neighbors=6, n_components=2).fit_transform(roll)
    flat = factor_of(roll @ roll.T, 2)
    told = ", ".join(
        f"{name} {trustworthiness(roll, rows, n_neighbors=6):.3f}"
        for name, rows in (("von Neumann", plane), ("Isomap", isomap), ("PCA", flat))
    )
    print(f"\nSwiss roll, 150 points, trustworthiness in 2 dimensions: {told}; {result.sweeps} sweeps, {result.outcome}")


TABLES = {"cost": cost, "rivals": rivals, "digits": digits, "gyrb": gyrb, "special": special}


def main() -> None:
    """Print the tables asked for."""
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()


if __name__ == "__main__":
    main()
