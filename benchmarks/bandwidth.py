"""The exact median distance: time, and what a subsample would cost in error.

python benchmarks/bandwidth.py
"""

import time

import numpy as np
from mnist import mirror, mnist

from kdrbench.kernels.bandwidth import median_distance
from kdrbench.kernels.family import FloatArray

SUBSAMPLES = (1000, 3000)
DRAWS = 10


def data() -> list[tuple[str, FloatArray]]:
    """Return the digits where there are some, and made data of their size where not."""
    if mirror("mnist") is not None:
        return [("MNIST 10,000", mnist(10_000)[0]), ("MNIST 60,000", mnist(60_000)[0])]
    print("KDRBENCH_MIRROR names no folder with mnist/: made data instead")
    return [("made 10,000", np.random.default_rng(0).standard_normal((10_000, 700)))]


def main() -> None:
    """Print the table."""
    header = " | ".join(f"largest error of {size:,} drawn" for size in SUBSAMPLES)
    print(f"| data | median distance | exact, s | {header} |")
    print("|---|---|---|" + "---|" * len(SUBSAMPLES))
    for name, features in data():
        began = time.perf_counter()
        exact = median_distance(features)
        seconds = time.perf_counter() - began
        errors = []
        for size in SUBSAMPLES:
            draws = [np.random.default_rng(seed).choice(len(features), size, replace=False) for seed in range(DRAWS)]
            errors.append(max(abs(median_distance(features[rows]) / exact - 1) for rows in draws))
        print(f"| {name} | {exact:.4f} | {seconds:.1f} | " + " | ".join(f"{error:.1e}" for error in errors) + " |")


if __name__ == "__main__":
    main()
