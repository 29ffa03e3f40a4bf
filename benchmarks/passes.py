"""Passes over all pairs of samples beside what this processor allows, as a Markdown table.

    OMP_NUM_THREADS=1 python benchmarks/passes.py               functions of kernels by numpy
    OMP_NUM_THREADS=1 python benchmarks/passes.py --compiled    in machine code, by numba

F and its gradient on 10,000 random samples of ten classes in ten components. The floor is what the products of matrices
take at the rate of large ones, and the kernel's function in numpy at the rate of cached arrays. Wall seconds are the
least of six; the last columns are those with two threads, and how many times as quick these are.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from measuring import Array, parser_of, print_head, print_row

from kdrbench.evaluation.panels import PanelProblem
from kdrbench.kernels import Gaussian, Kernel, Multiquadric, Polynomial
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.solvers.geometry.stiefel import orthonormalised

N_SAMPLES, Q, SIDE, CACHED, REPEATS = 10_000, 10, 2000, 2**14, 6
KERNELS: dict[str, tuple[Kernel, Callable[[Array], Any]]] = {
    "Gaussian": (Gaussian(6.0), np.exp),
    "multiquadric": (Multiquadric(1.0), lambda values: 1.0 / np.sqrt(-values)),
    "polynomial": (Polynomial(degree=3, offset=1.0, scale=0.1), np.square),
}


def least(work: Callable[[], Any]) -> float:
    """Return the least wall seconds of some calls, after one that is not counted."""
    work()
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def floor_s(function: Callable[[Array], Any], dtype: Any) -> float:
    """Return the seconds of a pass: two products with q + 1 columns, one that makes the argument, and the function."""
    square, values = np.ones((SIDE, SIDE), dtype), np.linspace(-2.0, -1.0, CACHED, dtype=dtype)
    multiplication = least(lambda: square @ square) / SIDE**3
    return N_SAMPLES**2 / 2 * ((3 * Q + 4) * multiplication + least(lambda: function(values)) / CACHED)


def main() -> None:
    """Print a line for each kernel and precision."""
    parser = parser_of(__doc__)
    parser.add_argument("--compiled", action="store_true", help="functions of kernels in machine code")
    compiled = parser.parse_args().compiled
    rng = np.random.default_rng(0)
    features, gamma = rng.standard_normal((N_SAMPLES, 50)), supervised_gamma(np.arange(N_SAMPLES) % 10)
    point = orthonormalised(rng.standard_normal((50, Q)))
    print_head("kernel", "precision", "floor, s", "pass, s", "share of floor", "two threads, s", "times as quick")
    for name, (kernel, function) in KERNELS.items():
        for single in (False, True):
            make = partial(PanelProblem, single_precision=single, compiled=compiled)
            one, two = (make(TraceObjective(features, kernel, gamma), threads=threads) for threads in (1, 2))
            alone, together = (least(partial(problem.value_and_gradient, point)) for problem in (one, two))
            floor = floor_s(function, np.float32 if single else np.float64)
            numbers = (f"{floor:.3f}", f"{alone:.3f}", f"{floor / alone:.2f}", f"{together:.3f}")
            print_row(name, "float32" if single else "float64", *numbers, f"{alone / together:.2f}")


if __name__ == "__main__":
    main()
