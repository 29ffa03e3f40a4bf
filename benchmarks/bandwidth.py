"""The median distance: exact, in turn with two passes in double precision, and estimated.

python benchmarks/bandwidth.py [--large] [--threads N]

CPU seconds of one thread, the best of three in turn, and with ``--threads`` the wall-clock time of that many. The
reference counts all pairs in bins and then takes those of the middle bins, as many programs do. Estimates are drawn
from ten seeds; their errors are relative. ``--large`` adds 60,000 digits (only once, without the reference's five
minutes).
"""

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
from real_data import mnist
from threadpoolctl import threadpool_limits

from kdrbench.kernels import Pairing, estimated_median_distance, median_distance
from kdrbench.kernels.family import FloatArray, pairing_block

BLOCK, BINS, SEEDS = 1024, 4096, 10


def blocks(centred: FloatArray) -> Iterator[FloatArray]:
    """Yield the squared distances of all pairs i < j."""
    for row in range(0, len(centred), BLOCK):
        for column in range(row, len(centred), BLOCK):
            block = pairing_block(Pairing.DIFFERENCE, centred[row : row + BLOCK], centred[column : column + BLOCK])
            yield block[np.triu_indices(len(block), 1)] if row == column else block.ravel()


def in_two_passes(features: FloatArray) -> float:
    """Return the median distance by a histogram in double precision and a second pass over its middle bins."""
    centred = features - features.mean(axis=0)
    n_samples = len(centred)
    ranks = [((n_samples**2 - 1) // 2 - n_samples) // 2, (n_samples**2 // 2 - n_samples) // 2]
    low, high = np.quantile(np.concatenate(list(blocks(centred[:: max(1, n_samples // 1000)]))), [0.4, 0.6])
    width, below, counts = (high - low) / BINS, 0, np.zeros(BINS, dtype=np.int64)

    def bins(squares: FloatArray) -> FloatArray:
        return np.clip(np.floor((squares - low) / width), -1, BINS).astype(np.int64)

    for squares in blocks(centred):
        places = bins(squares)
        below += int(np.count_nonzero(places < 0))
        counts += np.bincount(places[(places >= 0) & (places < BINS)], minlength=BINS)
    up_to = below + np.cumsum(counts)
    first, last = np.searchsorted(up_to, ranks, side="right")
    kept = []
    for squares in blocks(centred):
        places = bins(squares)
        kept.append(squares[(places >= first) & (places <= last)])
    ordered = np.sqrt(np.sort(np.concatenate(kept)))
    return float(np.mean([ordered[rank - below - counts[:first].sum()] for rank in ranks]))


def timed(clock: Callable[[], float], method: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    began = clock()
    method()
    return clock() - began


def row(name: str, features: FloatArray, threads: int, *, reference: bool) -> str:
    """Return the row of one data set."""
    ways: dict[str, Callable[[], object]] = {
        "exact": lambda: median_distance(features),
        "estimate": lambda: estimated_median_distance(features, np.random.default_rng(0)),
    }
    if reference:
        ways["old"] = lambda: in_two_passes(features)
    spent: dict[str, list[float]] = {"old": [], "exact": [], "estimate": []}
    for _ in range(3 if reference else 1):
        for way, method in ways.items():
            spent[way].append(timed(time.process_time, method))
    exact = median_distance(features)
    wall = timed(time.perf_counter, lambda: median_distance(features, threads=threads)) if threads > 1 else None
    best = {way: min(seconds, default=float("nan")) for way, seconds in spent.items()}
    drawn = [estimated_median_distance(features, np.random.default_rng(seed)) for seed in range(SEEDS)]
    error = np.sqrt(np.mean([(one.value / exact - 1) ** 2 for one in drawn]))
    stated = np.mean([one.standard_error / exact for one in drawn])
    times = f"{best['old']:.2f} | {best['exact']:.2f} | {best['old'] / best['exact']:.1f} | {wall or float('nan'):.2f}"
    return f"| {name} | {exact:.4f} | {times} | {best['estimate']:.2f} | {error:.0e} | {stated:.0e} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="with 60,000 digits")
    parser.add_argument("--threads", type=int, default=1, help="threads of one more exact median")
    asked = parser.parse_args()
    print("| data | median | two passes, s | exact, s | ratio | threads, wall s | estimate, s | error | stated |")
    print("|---|---|---|---|---|---|---|---|---|")
    digits, rng = mnist(10_000)[0], np.random.default_rng(0)
    data = [(f"MNIST, {size:,}", digits[:size]) for size in (2000, 5000, 10_000)]
    data.append(("normal, 10,000 x 20", rng.standard_normal((10_000, 20))))
    with threadpool_limits(1, user_api="blas"):
        for name, features in data:
            print(row(name, features, asked.threads, reference=True), flush=True)
        if asked.large:
            print(row("MNIST, 60,000", mnist(60_000)[0], asked.threads, reference=False), flush=True)


if __name__ == "__main__":
    main()
