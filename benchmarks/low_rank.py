"""Low-rank kernel learning: cost of a projection, how it grows, ratios to rivals in the same run.

    OMP_NUM_THREADS=1 python benchmarks/low_rank.py            all tables, some minutes
    OMP_NUM_THREADS=1 python benchmarks/low_rank.py rank       one of them: rank, samples, itml, rivals

CPU time of one core, machine code loaded before. low_rank_special.py has correlation matrices and unfolding; the
paper's tasks are a stage of the workflow: `snakemake --cores N lowrank`.
Paper: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006.
"""

import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from kdrbench.datasets import load_dataset
from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank import (
    Constraints,
    LearnedKernel,
    Stopping,
    constraints_from_labels,
    definite_boost,
    draw_pairs,
    learn_kernel,
    squared_distances,
)
from kdrbench.lowrank.burg import Burg
from kdrbench.lowrank.reduced import reduce_problem
from kdrbench.lowrank.result import Progress
from kdrbench.lowrank.von_neumann import VonNeumann

Kind = type[Burg] | type[VonNeumann]
NO_RULE = 1e-300


def timed(action: Callable[[], object], repeats: int = 3) -> float:
    """Return the least CPU time of some calls: what other work on the machine adds is no part of it."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return min(times)


def made(n: int, rank: int, n_constraints: int) -> tuple[FloatArray, Constraints]:
    """Return a random factor and distances within a quarter of those of K0, so that projections have work to do."""
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((n, rank))
    pairs = draw_pairs(n, n_constraints, rng)
    squares = np.sum((factor[pairs[:, 0]] - factor[pairs[:, 1]]) ** 2, axis=1)
    return factor, squared_distances(n, pairs, "=", squares * rng.uniform(0.75, 1.25, n_constraints))


def projection_us(kind: Kind, n: int, rank: int, n_constraints: int, compiled: bool) -> float:
    """Return microseconds a projection in sweeps two to four: later ones have less to do, or nothing."""
    factor, constraints = made(n, rank, n_constraints)
    problem = reduce_problem(factor, constraints, orthonormal=kind.orthonormal, slack=np.inf)
    divergence = kind(problem, compiled)
    costs = []
    for _ in range(30 if compiled else 3):
        duals, progress = np.zeros(len(problem)), Progress()
        state = divergence.at(duals)
        if state is None:
            raise RuntimeError("no start")
        divergence.sweep(state, duals, Progress())
        began = time.process_time()
        for _ in range(3):
            divergence.sweep(state, duals, progress)
        costs.append((time.process_time() - began) / progress.projections)
        if progress.changes < progress.projections:
            raise RuntimeError("projections had nothing to do")
    return 1e6 * min(costs)


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of a line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def rank() -> None:
    """Print microseconds a projection against r, in numpy and in machine code, and the exponents between ranks."""
    ranks = (4, 8, 16, 32, 64, 128, 256, 512)
    table = []
    print("\n| r | Burg numpy, us | compiled | ratio | von Neumann numpy, us | compiled | ratio |\n|" + "---|" * 7)
    for r in ranks:
        cells = []
        for kind, count in ((Burg, 200), (VonNeumann, 100 if r < 128 else 10)):
            plain, compiled = (projection_us(kind, 2000, r, count, how) for how in (False, True))
            cells += [plain, compiled, plain / compiled]
        table.append(cells)
        print(f"| {r} | " + " | ".join(f"{cell:.3g}" for cell in cells) + " |", flush=True)
    for name, column in (("Burg", 1), ("von Neumann", 4)):
        values = [cells[column] for cells in table]
        steps = ", ".join(f"{exponent(ranks[k : k + 2], values[k : k + 2]):.1f}" for k in range(len(ranks) - 1))
        # Time a + b r^2 by least squares on relative errors: the share of r = 16 and 64 that grows with r.
        terms = np.stack([np.ones(len(ranks)), np.square(ranks)], axis=1) / np.array(values)[:, None]
        fixed, growing = np.linalg.lstsq(terms, np.ones(len(ranks)), rcond=None)[0]
        print(
            f"{name}, compiled: exponent 4 to 256 {exponent(ranks[:-1], values[:-1]):.2f}, 64 to 512 "
            f"{exponent(ranks[4:], values[4:]):.2f}, from each rank to the next {steps}; "
            f"{fixed:.3f} us + {1e3 * growing:.3f} ns r^2"
        )


def samples() -> None:
    """Print what depends on the numbers of samples and of constraints, and the memory."""
    sizes = (100, 1_000, 10_000, 100_000, 1_000_000)
    rows = []
    print("\n| n (r = 16, 100 constraints, Burg) | us a projection | set-up and finish, ms | peak, bytes / 8nr |")
    print("|" + "---|" * 4)
    for n in sizes:
        factor, constraints = made(n, 16, 100)
        whole = partial(learn_kernel, factor, constraints.take([0]), stopping=Stopping(NO_RULE, NO_RULE, 1))
        tracemalloc.start()
        whole()
        peak = tracemalloc.get_traced_memory()[1] / (8 * n * 16)
        tracemalloc.stop()
        rows.append((projection_us(Burg, n, 16, 100, True), 1e3 * timed(whole), peak))
        print("| {:,} | {:.3f} | {:.2f} | {:.2f} |".format(n, *rows[-1]), flush=True)
    ends = [row[1] for row in rows]
    print(f"exponent in n of set-up and finish: {exponent(sizes[2:], ends[2:]):.2f} from 10,000 on")
    # Set-up and finish have parts that do not grow: what is linear shows beyond them.
    print(f"exponent in n of what exceeds n = 100: {exponent(sizes[2:], [end - ends[0] for end in ends[2:]]):.2f}")
    print(f"exponent in n of a projection: {exponent(sizes, [row[0] for row in rows]):.2f}")
    counts = (50, 500, 5_000, 50_000)
    for kind in (Burg, VonNeumann):
        tried = counts if kind is Burg else counts[:3]
        sweeps = [1e-3 * count * projection_us(kind, 2000, 16, count, True) for count in tried]
        listed = ", ".join(f"{sweep:.3g} ms ({count})" for count, sweep in zip(tried, sweeps, strict=True))
        print(f"a sweep of {kind.__name__} (constraints), r = 16: {listed}; exponent {exponent(tried, sweeps):.2f}")


def itml_loop(features: FloatArray, constraints: Constraints, sweeps: int) -> FloatArray:
    """Return ITML's metric with hard bounds: full d x d updates by the authors' formulas, as a plain numpy loop.

    What metric-learn's implementation does for each constraint, with gamma infinite.
    """
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


def itml() -> None:
    """Print how many times as long ITML takes on the same constraints for as many sweeps, and how equal M is.

    Ours are whole solves by the paper's rule, set-up, checks and finish included.
    """
    data = load_dataset("digits")
    print("\n| constraints | sweeps | ITML loop, ms | / Burg numpy | / Burg compiled | M equal to |\n|" + "---|" * 6)
    for count in (25, 100, 150):
        constraints = constraints_from_labels(data.features, data.labels, count, np.random.default_rng(0))
        cells, gaps = [], []
        for compiled in (False, True):
            ours = partial(learn_kernel, data.features, constraints, stopping=Stopping(1e-3, 1e300), compiled=compiled)
            found = ours()
            if not cells:
                loop = partial(itml_loop, data.features, constraints, found.sweeps)
                other, slow = loop(), timed(loop)
            metric = found.factor_map @ found.factor_map.T
            cells.append(slow / timed(ours))
            gaps.append(f"{np.abs(metric - other).max() / np.abs(other).max():.0e}")
        print(f"| {count} | {found.sweeps} | {1e3 * slow:.1f} | {cells[0]:.2f} | {cells[1]:.1f} | {', '.join(gaps)} |")


def rivals() -> None:
    """Print projections a second and the time to equal KKT residuals of all solvers, on the same constraints."""
    data = load_dataset("digits")
    for count in (25, 50, 100):
        drawn = constraints_from_labels(data.features, data.labels, count, np.random.default_rng(0))
        print(f"\n| Digits, {count} constraints | sweeps or steps | projections a s | ms to KKT residual 1e-3 | 1e-6 |")
        print("|" + "---|" * 5)
        for name in ("burg", "von_neumann"):
            for label, options in (
                ("cyclic, numpy", {"compiled": False}),
                ("cyclic, compiled", {"compiled": True}),
                ("Newton", {"solver": "newton"}),
            ):
                solve = partial(learn_kernel, data.features, drawn, divergence=name, **options)
                print(f"| {name}: {label} | {_cells(solve, (1e-3, 1e-6))} |", flush=True)
        # Of trace one, as DefiniteBoost wants it: bounds are scaled with the kernel.
        scaled = drawn.take(range(count))
        scaled.bounds[:] /= np.sum(data.features**2)
        solve = partial(learn_kernel, data.features, scaled, divergence="von_neumann", trace=1.0)
        print(f"| von_neumann, trace one | {_cells(solve, (1e-3,))} | |", flush=True)
        for step in ("exact", "own_range", "symmetric"):
            solve = partial(definite_boost, data.features, scaled, step=step)
            print(f"| DefiniteBoost, trace one: {step} | {_cells(solve, (1e-3,))} | |", flush=True)


def _cells(solve: Callable[..., LearnedKernel], tolerances: Sequence[float]) -> str:
    found, seconds = [], []
    for tolerance in tolerances:
        stopping = Stopping(1e300, tolerance, 1000 if len(tolerances) == 1 else 20_000)
        run = partial(solve, stopping=stopping)
        found.append(run())
        seconds.append(timed(run, 1 if len(tolerances) == 1 else 2))
    rate = found[-1].projections / seconds[-1]
    times = [
        f"{1e3 * s:.3g}" + ("" if f.status == "converged" else f": {f.status}")
        for f, s in zip(found, seconds, strict=True)
    ]
    return " | ".join([", ".join(str(one.sweeps) for one in found), f"{rate:,.0f}", *times])


TABLES = {"rank": rank, "samples": samples, "itml": itml, "rivals": rivals}


def main() -> None:
    """Print the tables asked for, machine code being loaded first, and say how long that took."""
    began = time.perf_counter()
    for divergence in ("burg", "von_neumann"):
        learn_kernel(np.eye(3), squared_distances(3, [(0, 1)], "<=", 1.0), divergence=divergence, compiled=True)
    print(f"machine code loaded, or made, in {time.perf_counter() - began:.1f} s")
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()


if __name__ == "__main__":
    main()
