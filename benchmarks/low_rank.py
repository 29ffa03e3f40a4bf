"""Low-rank kernel learning: cost of a projection, and how it grows in the same run.

    OMP_NUM_THREADS=1 python benchmarks/low_rank.py            all tables, some minutes
    OMP_NUM_THREADS=1 python benchmarks/low_rank.py rank       one of them: rank, samples

CPU time of one core, machine code loaded before.
Paper: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006.
"""

import sys
import time
import tracemalloc
from collections.abc import Sequence
from functools import partial

import numpy as np
from measuring import print_head, print_row, timed

from kdrbench.kernels.family import FloatArray
from kdrbench.lowrank import Constraints, Stopping, draw_pairs, learn_kernel, squared_distances
from kdrbench.lowrank.burg import Burg
from kdrbench.lowrank.reduced import reduce_problem
from kdrbench.lowrank.result import Progress
from kdrbench.lowrank.von_neumann import VonNeumann

Kind = type[Burg] | type[VonNeumann]
NO_RULE = 1e-300


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
        spent, _ = timed(lambda at=(state, duals, progress): [divergence.sweep(*at) for _ in range(3)])
        costs.append(spent / progress.projections)
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
    print()
    print_head("r", "Burg numpy, us", "compiled", "ratio", "von Neumann numpy, us", "compiled", "ratio")
    for r in ranks:
        cells = []
        for kind, count in ((Burg, 200), (VonNeumann, 100 if r < 128 else 10)):
            plain, compiled = (projection_us(kind, 2000, r, count, how) for how in (False, True))
            cells += [plain, compiled, plain / compiled]
        table.append(cells)
        print_row(r, *(f"{cell:.3g}" for cell in cells))
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
    """Print what depends on the number of samples, and the memory."""
    sizes = (100, 1_000, 10_000, 100_000, 1_000_000)
    rows = []
    print()
    print_head("n (r = 16, 100 constraints, Burg)", "us a projection", "set-up and finish, ms", "peak, bytes / 8nr")
    for n in sizes:
        factor, constraints = made(n, 16, 100)
        whole = partial(learn_kernel, factor, constraints.take([0]), stopping=Stopping(NO_RULE, NO_RULE, 1))
        tracemalloc.start()
        whole()
        peak = tracemalloc.get_traced_memory()[1] / (8 * n * 16)
        tracemalloc.stop()
        # What other work on the machine adds is no part of the least time.
        ends_ms = 1e3 * min(timed(whole)[0] for _ in range(3))
        rows.append((projection_us(Burg, n, 16, 100, True), ends_ms))
        print_row(f"{n:,}", f"{rows[-1][0]:.3f}", f"{ends_ms:.2f}", f"{peak:.2f}")
    ends = [row[1] for row in rows]
    print(f"exponent in n of set-up and finish: {exponent(sizes[2:], ends[2:]):.2f} from 10,000 on")
    # Set-up and finish have parts that do not grow: what is linear shows beyond them.
    print(f"exponent in n of what exceeds n = 100: {exponent(sizes[2:], [end - ends[0] for end in ends[2:]]):.2f}")
    print(f"exponent in n of a projection: {exponent(sizes, [row[0] for row in rows]):.2f}")


TABLES = {"rank": rank, "samples": samples}


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
