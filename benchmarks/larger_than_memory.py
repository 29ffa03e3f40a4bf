"""Samples that are streamed: a whole fit of ten million, and one gradient of a hundred million from a file of 8 GB.

Each case runs in a process of its own. Printed are CPU seconds and wall time, and of that process the peak of its
resident memory and its address space at the end in MiB (a peak would hold the map of the file, by which the file is
named), and both after imports. Data are made in a temporary folder, which
needs 0.8 GB or 8 GB of free disk and is removed. The samples have 20 features in single precision, four classes and q =
2. `fit` is `InterpretableKDR(2, kernel=...).fit`, with its checks, bandwidth, start, solve, certificate and objective.
`gradient` is F and its gradient at one W, with the passes for the mean and the basis, by a Gaussian of given sigma.

    python benchmarks/larger_than_memory.py                 # all cases: some ten minutes on two quiet cores
    python benchmarks/larger_than_memory.py fit linear 1e6  # one case
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measuring import memory_mib, print_head, print_row

CASES = (
    ("fit", "linear", "1e7"),
    ("fit", "polynomial", "1e7"),
    ("fit", "gaussian", "1e7"),
    ("gradient", "gaussian", "1e8"),
)
N_FEATURES, ROWS = 20, 100_000
SETTINGS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}


def main() -> None:
    """Measure and print."""
    if len(sys.argv) == 5:
        measure(sys.argv[1], sys.argv[2], round(float(sys.argv[3])), Path(sys.argv[4]))
        return
    titles = ("CPU s", "wall s", "resident, MiB", "address space, MiB", "after imports", "how")
    print_head("case", "kernel", "n", *titles)
    for case in [tuple(sys.argv[1:])] if len(sys.argv) == 4 else CASES:
        with tempfile.TemporaryDirectory() as folder:
            needed = round(float(case[2])) * N_FEATURES * 4
            if shutil.disk_usage(folder).free < 1.2 * needed:
                print_row(*case, f"not run: {folder} has no {needed / 1e9:.1f} GB free")
                continue
            subprocess.run([sys.executable, __file__, *case, folder], check=True, env={**os.environ, **SETTINGS})


def measure(what: str, kernel: str, n_samples: int, folder: Path) -> None:
    """Run one case, and print its row."""
    from kdrbench.estimators import InterpretableKDR
    from kdrbench.evaluation import build_problem
    from kdrbench.kernels import Gaussian
    from kdrbench.problems import TraceObjective, supervised_gamma
    from kdrbench.samples import samples_of

    imports = sizes()
    labels = written(folder / "samples.f32", n_samples)
    # A map counts to the address space as a whole, until it is gone; the file is read without it.
    samples = samples_of(np.memmap(folder / "samples.f32", np.float32, "r", shape=(n_samples, N_FEATURES)))
    begun = time.perf_counter(), time.process_time()
    if what == "fit":
        how = InterpretableKDR(2, kernel=kernel).fit(samples, labels).result_.evaluation
    else:
        objective = TraceObjective(samples, Gaussian(8.0), supervised_gamma(labels))
        problem = build_problem(objective)
        problem.value_and_gradient(np.eye(N_FEATURES)[:, :2])
        how = problem.explain(2)
    wall, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
    numbers = (f"{n_samples:.0e}", f"{cpu:.0f}", f"{wall:.0f}", *sizes())
    print_row(what, kernel, *numbers, " / ".join(map(str, imports)), how.split("; approached")[0])


def written(path: Path, n_samples: int) -> np.ndarray:
    """Write samples of four classes, and return the labels."""
    rng = np.random.default_rng(0)
    centres = 2 * rng.standard_normal((4, N_FEATURES), dtype=np.float32)
    labels = np.empty(n_samples, dtype=np.int8)
    with path.open("wb") as file:
        for begin in range(0, n_samples, ROWS):
            own = labels[begin : begin + ROWS]
            own[:] = rng.integers(0, 4, len(own))
            (rng.standard_normal((len(own), N_FEATURES), dtype=np.float32) + centres[own]).tofile(file)
    return labels


def sizes() -> tuple[int, int]:
    """Return the peak of resident memory and the address space of this process in MiB."""
    return int(memory_mib()), int(memory_mib("VmSize"))


if __name__ == "__main__":
    main()
