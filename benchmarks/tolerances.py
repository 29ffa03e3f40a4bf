"""CPU seconds of fits with a tolerance of 1e-3 beside exact ones, in turn and on one thread, as a Markdown table.

    KDRBENCH_MIRROR=... OMP_NUM_THREADS=1 python benchmarks/tolerances.py                      twelve sets, Gaussian
    KDRBENCH_MIRROR=... OMP_NUM_THREADS=1 python benchmarks/tolerances.py --kernel polynomial mnist-5000

A tolerance is never to make a fit slower: each quotient is at most 1.1. A fit is the best of ``--turns``. The objective
is that of the exact problem in both.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.preprocessing import StandardScaler

from kdrbench.datasets import load_dataset
from kdrbench.estimators import InterpretableKDR

SETS = (
    *("wdbc", "optdigits", "yeast", "satellite", "musk2", "pendigits", "usps", "face", "scaling-4000"),
    *("mnist-2000", "mnist-5000", "mnist"),
)
SHORT_S = 0.5


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=SETS)
    parser.add_argument("--kernel", default="gaussian")
    parser.add_argument("--turns", type=int, default=2)
    asked = parser.parse_args()
    print("| set | n x d, q | exact, s | tolerance, s | quotient | objective, relative | by | instead of |")
    print("|---|---|---:|---:|---:|---:|---|---|")
    for name in asked.names:
        print(f"| {name} | {' | '.join(row(name, asked.kernel, asked.turns))} |", flush=True)


def row(name: str, kernel: str, turns: int) -> Iterator[str]:
    """Yield the cells of a line."""
    features, labels = samples_of(name)
    q = min(10, len(np.unique(labels)), features.shape[1])
    fits: dict[float, list[tuple[float, InterpretableKDR]]] = {0.0: [], 1e-3: []}
    for _ in range(turns):
        for tolerance, of_one in fits.items():
            of_one.append(
                fit(InterpretableKDR(q, kernel=kernel, evaluation={"tolerance": tolerance}), features, labels)
            )
    (exact_s, exact), (rough_s, rough) = (min(of_one, key=lambda one: one[0]) for of_one in fits.values())
    yield f"{features.shape[0]} x {features.shape[1]}, {q}"
    yield from (f"{exact_s:.3f}", f"{rough_s:.3f}", f"{rough_s / exact_s:.2f}")
    yield f"{(rough.objective_ - exact.objective_) / abs(exact.objective_):.0e}"
    yield from (model.result_.evaluation.partition(":")[0] for model in (rough, exact))


def samples_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised samples and classes; a number after the hyphen of MNIST draws as many."""
    base, _, count = name.partition("-")
    data = load_dataset(base if base == "mnist" else name)
    features, labels = data.features, data.labels
    if base == "mnist" and count:
        rows = np.random.default_rng(0).permutation(len(labels))[: int(count)]
        features, labels = features[rows], labels[rows]
    return StandardScaler().fit_transform(features[:, features.std(axis=0) > 0]), labels


def fit(model: InterpretableKDR, features: np.ndarray, labels: np.ndarray) -> tuple[float, InterpretableKDR]:
    """Return CPU seconds of a fit, the best of as many as half a second takes, and the model."""
    seconds, began = [], time.process_time()
    while not seconds or time.process_time() - began < SHORT_S:
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(features, labels)
        seconds.append(time.process_time() - begun)
    return min(seconds), model


if __name__ == "__main__":
    main()
