"""Passes and fits on a graphics processor, in turn with those of numpy; "no GPU" where there is none.

python benchmarks/graphics_processor.py [--only PART]

Wall-clock seconds: the best of three of F with its gradient (of fewer where they take seconds), and of one whole fit by
default with the bandwidth given. The host has as many threads as cores. Memory is the most that torch held on the
device, beyond the samples. The error is that of the gradient, relative to the host's; of fits, that of the objective.
Samples are those of MNIST where they can be had, and made ones. What would take minutes is left out ("nan").
"""

import argparse
import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from at_the_limit import mnist
from numpy.typing import NDArray
from sklearn.base import clone

from kdrbench.estimators import InterpretableKDR
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.kernels import Gaussian, Kernel, Multiquadric, Polynomial, median_distance
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import TraceObjective, supervised_gamma

Data = tuple[FloatArray, NDArray[np.int64]]
LARGEST_BY_PAIRS_ON_HOST, SOME = 100_000, 5000
# Passes are taken again until this many seconds have gone; whole fits are left out where one pass takes longer.
REPEATS, LONGEST_PASS = 3, 2.0
DEVICE = "cuda"


def made(n_samples: int, n_features: int, n_classes: int = 10) -> Data:
    """Return samples of classes whose centres differ in a few features."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n_samples)
    centres = np.zeros((n_classes, n_features))
    centres[:, : n_features // 5] = 2.0 * rng.standard_normal((n_classes, n_features // 5))
    return rng.standard_normal((n_samples, n_features)) + centres[labels], labels


def cases() -> Iterator[tuple[str, Callable[[], Data], int]]:
    """Yield name, data and q."""
    yield "mnist-10k", lambda: mnist(10_000), 10
    yield "mnist-60k", lambda: mnist(60_000), 10
    yield "made-1000000", lambda: made(1_000_000, 50), 5


def kernels(features: FloatArray, q: int) -> dict[str, Kernel]:
    """Return the kernels, with scales of the data."""
    some = features[np.random.default_rng(0).permutation(len(features))[:SOME]]
    sigma = median_distance(some)
    return {
        "Gaussian": Gaussian(sigma),
        "multiquadric": Multiquadric(sigma),
        "polynomial": Polynomial(degree=3, offset=1.0, scale=1.0 / q),
    }


def once(work: Callable[[], Any], torch: Any) -> tuple[float, Any]:
    """Return the seconds of a call, with all that it started there, and what it returned."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    result = work()
    torch.cuda.synchronize()
    return time.perf_counter() - began, result


def best(work: Callable[[], Any], torch: Any) -> tuple[float, Any]:
    """Return the least seconds of several calls, and what the last returned."""
    found, spent, result = np.inf, 0.0, None
    for _ in range(REPEATS):
        seconds, result = once(work, torch)
        found, spent = min(found, seconds), spent + seconds
        if spent > LONGEST_PASS:
            break
    return found, result


def measure(name: str, features: FloatArray, labels: NDArray[np.int64], q: int, torch: Any) -> None:
    """Print a row for each kernel and each of the two works."""
    device, gamma = torch.tensor(features, device=DEVICE), supervised_gamma(labels)
    rng, threads = np.random.default_rng(0), os.cpu_count() or 1
    projection = np.linalg.qr(rng.standard_normal((features.shape[1], q)))[0]
    for label, kernel in kernels(features, q).items():
        here = build_problem(TraceObjective(features, kernel, gamma), Evaluation(threads=threads))
        there = build_problem(TraceObjective(device, kernel, gamma))
        # Pairs of a million samples would take the host minutes.
        by_host = len(features) <= LARGEST_BY_PAIRS_ON_HOST or not here.explain(q).startswith("panels")
        torch.cuda.reset_peak_memory_stats()
        held = torch.cuda.memory_allocated()
        seconds, (_, gradient) = best(lambda there=there: there.value_and_gradient(projection), torch)
        mib, error, own = (torch.cuda.max_memory_allocated() - held) / 2**20, np.nan, np.nan
        if by_host:
            own, (_, expected) = best(lambda here=here: here.value_and_gradient(projection), torch)
            error = np.linalg.norm(gradient - expected) / np.linalg.norm(expected)
        print(row(name, label, "gradient", seconds, own, mib, error, there.explain(q)), flush=True)
        model = InterpretableKDR(q, kernel=kernel, n_jobs=-1)
        if seconds < LONGEST_PASS:
            fits(name, label, model, (features, labels), own < LONGEST_PASS, device, torch)


def fits(name: str, label: str, model: InterpretableKDR, data: Data, by_host: bool, device: Any, torch: Any) -> None:
    """Print the row of whole fits, one each."""
    features, labels = data
    held = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    seconds, mine = once(lambda: clone(model).fit(device, labels), torch)
    mib, own, error = (torch.cuda.max_memory_allocated() - held) / 2**20, np.nan, np.nan
    if by_host:
        own, reference = once(lambda: clone(model).fit(features, labels), torch)
        error = abs(mine.objective_ / reference.objective_ - 1.0)
    print(row(name, label, "fit", seconds, own, mib, error, f"{mine.status_}; {mine.result_.evaluation}"), flush=True)


def row(name: str, kernel: str, work: str, device_s: float, host_s: float, mib: float, error: float, how: str) -> str:
    """Return a row of the table."""
    numbers = f"{device_s:.4f} | {host_s:.4f} | {host_s / device_s:.1f} | {mib:.0f} | {error:.0e}"
    return f"| {name} | {kernel} | {work} | {numbers} | {how} |"


def main() -> None:
    """Print the table, or that there is no GPU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose names begin with this")
    chosen = parser.parse_args().only
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("array_api_compat") is None:
        print("no GPU: torch or array-api-compat is not installed (pip install 'kdrbench[gpu]')")
        return
    import torch

    if not torch.cuda.is_available():
        print("no GPU")
        return
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {os.cpu_count()} cores\n")
    print("| data | kernel | work | device, s | host, s | ratio | MiB | error | how |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, data, q in cases():
        if not name.startswith(chosen):
            continue
        try:
            features, labels = data()
        except SystemExit as missing:
            print(f"| {name} | {missing} |")
            continue
        measure(name, features, labels, q, torch)


if __name__ == "__main__":
    main()
