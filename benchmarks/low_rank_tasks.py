"""The tasks of the paper on low-rank kernel learning, for low_rank.py: digits, the stand-in for gyrB, special cases."""

import statistics
import time
from collections.abc import Callable

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

PAPER_RULE = Stopping(1e-3, 1e-3, 2000)


def timed(action: Callable[[], object], repeats: int = 3) -> float:
    """Return the median CPU time of some calls; the machine may have other work."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return statistics.median(times)


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
    print(
        "\n| Digits: constraints | Burg: solvable, 5-NN, NMI (1 start), NMI (10) | von Neumann: the same |\n"
        + "|---" * 3
        + "|"
    )
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
    print(
        "paper: 5-NN .94 -> .97\n\n| sweeps by the paper's rule alone (1e-3), median of 3 | Burg | von Neumann |\n"
        + "|---" * 3
        + "|"
    )
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
    print(
        "\n| gyrb-standin (synthetic): constraints | Burg | von Neumann | DefiniteBoost: exact | own range | symmetric "
        "| NMI before, after (vN) |"
    )
    print("|" + "---|" * 7)
    for count in (50, 100, 200):
        rng = np.random.default_rng(0)
        pairs = draw_pairs(n, count, rng)
        squares = np.sum((truth[pairs[:, 0]] - truth[pairs[:, 1]]) ** 2, axis=1)
        same = data.labels[pairs[:, 0]] == data.labels[pairs[:, 1]]
        drawn = squared_distances(n, pairs, ["<=" if alike else ">=" for alike in same], squares)
        found = [learn_kernel(start, drawn, divergence=name, stopping=PAPER_RULE) for name in ("burg", "von_neumann")]
        capped = Stopping(1e-3, 1e-3, 150)
        found += [
            definite_boost(start, drawn, step=step, stopping=capped) for step in ("exact", "own_range", "symmetric")
        ]
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
    result = learn_kernel(start, constraints, divergence="von_neumann", solver="newton")
    plane = factor_of(result.kernel, 2)
    isomap = Isomap(n_neighbors=6, n_components=2).fit_transform(roll)
    flat = factor_of(roll @ roll.T, 2)
    told = ", ".join(
        f"{name} {trustworthiness(roll, rows, n_neighbors=6):.3f}"
        for name, rows in (("von Neumann", plane), ("Isomap", isomap), ("PCA", flat))
    )
    print(
        f"\nSwiss roll, 150 points, trustworthiness in 2 dimensions: {told}; {result.sweeps} Newton steps, "
        f"{result.outcome}"
    )
