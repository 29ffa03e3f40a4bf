"""Low-rank kernel learning on special constraints: nearest correlation matrices, and unfolding beside Isomap.

OMP_NUM_THREADS=1 python benchmarks/low_rank_special.py
"""

from collections.abc import Callable

import numpy as np
from low_rank import timed

from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank import (
    LowRankStatus,
    Stopping,
    centred_factor,
    factor_of,
    higham_correlation,
    isometry_constraints,
    learn_kernel,
    nearest_correlation,
)


def correlation() -> None:
    """Print both objectives of every method, and for which ranks there are correlation matrices."""
    rng = np.random.default_rng(0)
    raw = rng.standard_normal((50, 60))
    kernel = raw @ raw.T / 60
    print("\n| nearest correlation, n = 50 | Frobenius distance | Burg divergence | ms |\n|---|---|---|---|")
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
    print("\n| rank | unknowns | Burg | Frobenius distance | von Neumann | Frobenius distance | Higham, of any rank |")
    print("|" + "---|" * 7)
    for rank in (8, 12, 16, 25):
        cells = []
        for divergence in ("burg", "von_neumann"):
            learned = nearest_correlation(kernel, rank=rank, divergence=divergence, solver="newton")
            solved = learned.status is LowRankStatus.CONVERGED
            cells += [str(learned.status), f"{np.linalg.norm(learned.kernel - kernel):.2f}" if solved else "-"]
        start = factor_of(kernel, rank)
        high = np.linalg.norm(higham_correlation(start @ start.T) - kernel)
        print(f"| {rank} | {rank * (rank + 1) // 2} | " + " | ".join(cells) + f" | {high:.2f} |")


def unfolding() -> None:
    """Print how trustworthy the plane of an unrolled Swiss roll is, beside Isomap's."""
    from sklearn.datasets import make_swiss_roll
    from sklearn.manifold import Isomap, trustworthiness

    roll, _ = make_swiss_roll(150, noise=0.0, random_state=0)
    roll = roll - roll.mean(axis=0)
    start = np.sqrt(1e3) * centred_factor(np.eye(150))
    result = learn_kernel(start, isometry_constraints(roll, 6), divergence="von_neumann", solver="newton")
    planes = {
        "von Neumann": factor_of(result.kernel, 2),
        "Isomap": Isomap(n_neighbors=6, n_components=2).fit_transform(roll),
        "PCA": factor_of(roll @ roll.T, 2),
    }
    listed = ", ".join(f"{name} {trustworthiness(roll, rows, n_neighbors=6):.3f}" for name, rows in planes.items())
    print(f"\nSwiss roll, 150 points, trustworthiness in 2 dimensions: {listed}; {result.sweeps} Newton steps")


if __name__ == "__main__":
    correlation()
    unfolding()
