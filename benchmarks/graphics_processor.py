"""Passes and fits on a graphics processor, in turn with those of numpy; "no GPU" where there is none.

python benchmarks/graphics_processor.py [--only PART]

Wall-clock seconds: the best of three of F with its gradient at two W (of fewer where they take seconds), and of one
whole fit by default with the bandwidth given. The host has as many threads as cores. Memory is the most that torch held
on the device, beyond the samples. The error is that of the gradient, relative to the host's; of fits, that of the
objective. Samples are those of MNIST where they can be had, and made ones. What would take minutes is left out ("nan").
"""

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from at_the_limit import standardised
from measuring import parser_of, print_head, print_row
from numpy.typing import NDArray
from sklearn.base import clone

from kdrbench.estimators import InterpretableKDR
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.kernels import Gaussian, Kernel, Multiquadric, Polynomial, median_distance
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem, TraceObjective, supervised_gamma

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
    yield "mnist-10k", lambda: standardised("mnist"), 10
    yield "mnist-60k", lambda: standardised("mnist-60k"), 10
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


def best(work: Callable[[], Any], repeats: int, torch: Any) -> tuple[float, Any]:
    """Return the least seconds of some calls, with all that they started there, and what the last returned."""
    seconds: list[float] = []
    while len(seconds) < repeats and sum(seconds) <= LONGEST_PASS:
        torch.cuda.synchronize()
        began = time.perf_counter()
        result = work()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    return min(seconds), result


def compared(
    works: list[Callable[[], Any]], number: Callable[[Any], Any], repeats: int, by_host: bool, torch: Any
) -> tuple[tuple[float, float], list[str], Any]:
    """Return the seconds of works on the device and on the host, the numbers of their row, and the device's result."""
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    seconds, found = best(works[0], repeats, torch)
    mib, own, error = (torch.cuda.max_memory_allocated() - held) / 2**20, np.nan, np.nan
    if by_host:
        own, expected = best(works[1], repeats, torch)
        error = np.linalg.norm(number(found) - number(expected)) / np.linalg.norm(number(expected))
    shown = [f"{seconds:.4f}", f"{own:.4f}", f"{own / seconds:.1f}", f"{mib:.0f}", f"{error:.0e}"]
    return (seconds, own), shown, found


def at_two_points(problem: Problem, projection: FloatArray) -> FloatArray:
    """Return the gradient at W, after one nearby: nothing that is held of a W answers twice."""
    for point in (np.linalg.qr(projection + 1e-6)[0], projection):
        _, gradient = problem.value_and_gradient(point)
    return gradient


def measure(name: str, features: FloatArray, labels: NDArray[np.int64], q: int, torch: Any) -> None:
    """Print a row for each kernel and each of the two works."""
    device, gamma = torch.tensor(features, device=DEVICE), supervised_gamma(labels)
    rng, threads = np.random.default_rng(0), os.cpu_count() or 1
    projection = np.linalg.qr(rng.standard_normal((features.shape[1], q)))[0]
    for label, kernel in kernels(features, q).items():
        here = build_problem(TraceObjective(features, kernel, gamma), Evaluation(threads=threads))
        there = build_problem(TraceObjective(device, kernel, gamma))
        for problem in (there, here):
            # Makes what is chosen once, such as the basis of class sums.
            problem.evaluator(projection)
        # Pairs of a million samples would take the host minutes.
        by_host = len(features) <= LARGEST_BY_PAIRS_ON_HOST or not here.explain(q).startswith("panels")
        works = [partial(at_two_points, problem, projection) for problem in (there, here)]
        (seconds, own), shown, _ = compared(works, lambda gradient: gradient, REPEATS, by_host, torch)
        print_row(name, label, "two gradients", *shown, there.explain(q))
        if seconds < LONGEST_PASS:
            model = InterpretableKDR(q, kernel=kernel, n_jobs=-1)
            works = [partial(clone(model).fit, samples, labels) for samples in (device, features)]
            _, shown, mine = compared(works, lambda fit: fit.objective_, 1, own < LONGEST_PASS, torch)
            print_row(name, label, "fit", *shown, f"{mine.status_}; {mine.result_.evaluation}")


def main() -> None:
    """Print the table, or that there is no GPU."""
    parser = parser_of(__doc__)
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
    print_head("data", "kernel", "work", "device, s", "host, s", "ratio", "MiB", "error", "how")
    for name, data, q in (case for case in cases() if case[0].startswith(chosen)):
        try:
            features, labels = data()
        except SystemExit as missing:
            print_row(name, missing)
            continue
        measure(name, features, labels, q, torch)


if __name__ == "__main__":
    main()
