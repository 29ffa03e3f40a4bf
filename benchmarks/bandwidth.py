"""The exact median distance: time, and what a subsample would cost in error.

python benchmarks/bandwidth.py
"""

import time

import numpy as np
from real_data import mnist

from kdrbench.kernels.bandwidth import median_distance
from kdrbench.kernels.family import FloatArray

SUBSAMPLES = (1000, 3000)
DRAWS = 10


def data() -> list[tuple[str, FloatArray]]:
    """Return the digits."""
    return [("MNIST 10,000", mnist(10_000)[0]), ("MNIST 60,000", mnist(60_000)[0])]


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
