"""Time and memory of every estimator with default arguments, as a Markdown table.

    OMP_NUM_THREADS=1 python benchmarks/estimators.py                    all
    OMP_NUM_THREADS=1 python benchmarks/estimators.py KPCATrick:lmnn     those whose names begin so
    OMP_NUM_THREADS=1 python benchmarks/estimators.py InterpretableKDR:  every kernel in every paradigm
    OMP_NUM_THREADS=1 python benchmarks/estimators.py size:              10,000 to 1,000,000 samples

Each fit has a process of its own: CPU seconds, and the peak of resident memory beyond what was held before the fit.
Samples are made: 20 features, four classes of two clusters each. A fit that takes more CPU seconds than its limit is
stopped, and then larger ones of the same estimator are not run. The limit is 60 s for a kernel in a paradigm and 600 s
for others, or --limit. One that needs more memory than is free says so.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.datasets import make_classification

LIMIT_S, KDR_LIMIT_S = 600, 60
KDR = "InterpretableKDR"
SIZES = (10_000, 100_000, 1_000_000)
KERNELS = ("gaussian", "polynomial", "linear", "squared", "multiquadric", "rbf_relative")
PARADIGMS = ("supervised", "unsupervised", "semi_supervised", "alternative")


def cases() -> dict[str, tuple[int, Callable[[], Any]]]:
    """Return for each name the number of samples and what makes the estimator."""
    from kdrbench import estimators as of

    found: dict[str, tuple[int, Callable[[], Any]]] = {
        name: (5000, maker) for name, maker in (("LMNN", of.LMNN), ("NCA", of.NCA), ("DNE", of.DNE))
    }
    found |= {f"KPCATrick:{name}": (5000, maker) for name, maker in tricks().items()}
    for kernel in KERNELS:
        for paradigm in PARADIGMS:
            found[f"{KDR}:{kernel}:{paradigm}"] = (5000, kdr(kernel, paradigm))
    for name, maker in sized_cases().items():
        for n_samples in SIZES:
            found[f"size:{name}:{n_samples}"] = (n_samples, maker)
    return found


def sized_cases() -> dict[str, Callable[[], Any]]:
    """Return what makes the estimators that are measured at several sizes."""
    from kdrbench import estimators as of

    found = {f"{KDR}:{kernel}": kdr(kernel, "supervised") for kernel in KERNELS}
    found |= {f"{KDR}:{paradigm}": kdr("gaussian", paradigm) for paradigm in PARADIGMS[1:]}
    found["LowRankKernelLearner:linear"] = lambda: of.LowRankKernelLearner(random_state=0)
    found["LowRankKernelLearner:gaussian"] = lambda: of.LowRankKernelLearner(kernel="gaussian", random_state=0)
    found |= {"DNE": of.DNE, "AlignedKernel": of.AlignedKernel, "LMNN": of.LMNN, "NCA": of.NCA}
    return found | {f"KPCATrick:{name}": maker for name, maker in tricks().items()}


def kdr(kernel: str, paradigm: str) -> Callable[[], Any]:
    """Return what makes the estimator of a kernel in a paradigm, with as many clusters as there are classes."""
    from kdrbench.estimators import InterpretableKDR

    if paradigm == "supervised":
        return lambda: InterpretableKDR(4, kernel=kernel)
    options = {} if paradigm == "alternative" else {"n_clusters": 4}
    return lambda: InterpretableKDR(4, kernel=kernel, paradigm=paradigm, random_state=0, **options)


def tricks() -> dict[str, Callable[[], Any]]:
    """Return what makes the KPCA trick of each learner, and of one of scikit-learn's."""
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    from kdrbench.estimators import KPCATrick

    found: dict[str, Callable[[], Any]] = {name: lambda name=name: KPCATrick(name) for name in ("dne", "lmnn", "nca")}
    found["scikit-learn's NCA"] = lambda: KPCATrick(NeighborhoodComponentsAnalysis(random_state=0))
    return found


def measure(name: str) -> dict[str, float | str]:
    """Fit one of them in this process."""
    n_samples, maker = cases()[name]
    features, labels = make_classification(
        n_samples, 20, n_informative=8, n_classes=4, n_clusters_per_class=2, random_state=0
    )
    small = maker()
    known = None if ":unsupervised" in name else labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What is loaded when first used is not of the fit.
        small.fit(features[:200], None if known is None else known[:200])
        # Making the samples takes more than some fits: the peak is counted from here.
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before, began = peak_kib(), time.process_time()
        maker().fit(features, known)
    seconds = time.process_time() - began
    return {
        "n": n_samples,
        "seconds": seconds,
        "mib": (peak_kib() - before) / 1024,
    }


def peak_kib() -> int:
    """Return the peak of resident memory since it was last cleared."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def main() -> None:
    """Print the table, a process for each line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[""], help="beginnings of names; all without")
    parser.add_argument("--one", action="store_true", help="measure the one named, in this process")
    parser.add_argument("--limit", type=int, help="CPU seconds of one fit, with its imports")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.names[0])))
        return
    print("| estimator | samples | CPU s | MiB beyond the data |\n|---|---|---|---|")
    stopped: set[str] = set()
    for name, (n_samples, _) in cases().items():
        estimator = name.rpartition(":")[0] if name.startswith("size:") else name
        if name.startswith(tuple(asked.names)):
            said = "not run | -" if estimator in stopped else line_of(name, asked.limit or limit_s(name))
            if not said[0].isdigit():
                stopped.add(estimator)
            print(f"| {estimator.removeprefix('size:')} | {n_samples} | {said} |", flush=True)


def limit_s(name: str) -> int:
    """Return the CPU seconds that a fit may take where none are asked for."""
    return KDR_LIMIT_S if name.startswith(f"{KDR}:") else LIMIT_S


def line_of(name: str, limit_s: int) -> str:
    """Return the last two cells of a line of the table."""
    command = [sys.executable, __file__, name, "--one"]
    limited = partial(resource.setrlimit, resource.RLIMIT_CPU, (limit_s, limit_s))
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limited)
    if done.returncode < 0:
        return f"more than {limit_s} | -"
    if done.returncode:
        return f"{done.stderr.strip().splitlines()[-1]} | -"
    found = json.loads(done.stdout.splitlines()[-1])
    return f"{found['seconds']:.1f} | {found['mib']:.0f}"


if __name__ == "__main__":
    main()
