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

import json
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from measuring import forget_peak, memory_mib, parser_of, print_head, print_row, timed
from sklearn.datasets import make_classification

LIMIT_S, KDR_LIMIT_S = 600, 60
KDR = "InterpretableKDR"
SIZES = (10_000, 100_000, 1_000_000)
KERNELS = ("gaussian", "polynomial", "linear", "squared", "multiquadric", "rbf_relative")
PARADIGMS = ("supervised", "unsupervised", "semi_supervised", "alternative")


Maker = Callable[[], Any]


def cases() -> dict[str, tuple[int, Maker]]:
    """Return for each name the number of samples and what makes the estimator."""
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    from kdrbench import estimators as of

    learners = {name: name for name in ("dne", "lmnn", "nca")}
    learners["scikit-learn's NCA"] = NeighborhoodComponentsAnalysis(random_state=0)
    tricks: dict[str, Maker] = {f"KPCATrick:{name}": partial(of.KPCATrick, one) for name, one in learners.items()}
    plain: dict[str, Maker] = {"LMNN": of.LMNN, "NCA": of.NCA, "DNE": of.DNE} | tricks
    sized = {f"{KDR}:{kernel}": kdr(kernel, "supervised") for kernel in KERNELS}
    sized |= {f"{KDR}:{paradigm}": kdr("gaussian", paradigm) for paradigm in PARADIGMS[1:]}
    sized[f"{KDR}:multiquadric of two components"] = partial(of.InterpretableKDR, 2, kernel="multiquadric")
    for kernel in ("linear", "gaussian"):
        sized[f"LowRankKernelLearner:{kernel}"] = partial(of.LowRankKernelLearner, kernel=kernel, random_state=0)
    sized |= {"DNE": of.DNE, "AlignedKernel": of.AlignedKernel, "LMNN": of.LMNN, "NCA": of.NCA} | tricks
    plain |= {f"{KDR}:{kernel}:{paradigm}": kdr(kernel, paradigm) for kernel in KERNELS for paradigm in PARADIGMS}
    found = {name: (5000, maker) for name, maker in plain.items()}
    return found | {f"size:{name}:{n}": (n, maker) for name, maker in sized.items() for n in SIZES}


def kdr(kernel: str, paradigm: str) -> Maker:
    """Return what makes the estimator of a kernel in a paradigm, with as many clusters as there are classes."""
    from kdrbench.estimators import InterpretableKDR

    if paradigm == "supervised":
        return partial(InterpretableKDR, 4, kernel=kernel)
    options = {} if paradigm == "alternative" else {"n_clusters": 4}
    return partial(InterpretableKDR, 4, kernel=kernel, paradigm=paradigm, random_state=0, **options)


def measure(name: str) -> dict[str, float]:
    """Fit one of them in this process."""
    n_samples, maker = cases()[name]
    features, labels = make_classification(
        n_samples, 20, n_informative=8, n_classes=4, n_clusters_per_class=2, random_state=0
    )
    known = None if ":unsupervised" in name else labels
    warnings.simplefilter("ignore")
    # What is loaded when first used is not of the fit.
    maker().fit(features[:200], None if known is None else known[:200])
    # Making the samples takes more than some fits: the peak is counted from here.
    before = forget_peak()
    seconds, _ = timed(lambda: maker().fit(features, known))
    return {"seconds": seconds, "mib": memory_mib() - before}


def main() -> None:
    """Print the table, a process for each line."""
    parser = parser_of(__doc__)
    parser.add_argument("names", nargs="*", default=[""], help="beginnings of names; all without")
    parser.add_argument("--one", action="store_true", help="measure the one named, in this process")
    parser.add_argument("--limit", type=int, help="CPU seconds of one fit, with its imports")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.names[0])))
        return
    print_head("estimator", "samples", "CPU s", "MiB beyond the data")
    stopped: set[str] = set()
    for name, (n_samples, _) in cases().items():
        estimator = name.rpartition(":")[0] if name.startswith("size:") else name
        if name.startswith(tuple(asked.names)):
            usual_s = KDR_LIMIT_S if name.startswith(f"{KDR}:") else LIMIT_S
            said = ("not run", "-") if estimator in stopped else cells_of(name, asked.limit or usual_s)
            if not said[0][0].isdigit():
                stopped.add(estimator)
            print_row(estimator.removeprefix("size:"), n_samples, *said)


def cells_of(name: str, limit_s: int) -> tuple[str, str]:
    """Return the last two cells of a line of the table."""
    command = [sys.executable, __file__, name, "--one"]
    limited = partial(resource.setrlimit, resource.RLIMIT_CPU, (limit_s, limit_s))
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limited)
    if done.returncode < 0:
        return f"more than {limit_s}", "-"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1], "-"
    found = json.loads(done.stdout.splitlines()[-1])
    return f"{found['seconds']:.1f}", f"{found['mib']:.0f}"


if __name__ == "__main__":
    main()
