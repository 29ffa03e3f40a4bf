"""Time and memory of every estimator with default arguments, as a Markdown table.

    OMP_NUM_THREADS=1 python benchmarks/estimators.py                  all
    OMP_NUM_THREADS=1 python benchmarks/estimators.py KPCATrick:lmnn   those whose names begin so

Each fit has a process of its own: CPU seconds, and the peak of resident memory beyond what was held before the fit.
Samples are made: 20 features, four classes of two clusters each. A fit that takes longer than LIMIT_S is stopped.
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
from typing import Any

from sklearn.datasets import make_classification

LIMIT_S = 600
KERNELS = ("gaussian", "polynomial", "linear", "squared", "multiquadric", "rbf_relative")
PARADIGMS = ("supervised", "unsupervised", "semi_supervised", "alternative")


def cases() -> dict[str, tuple[int, Callable[[], Any]]]:
    """Return for each name the number of samples and what makes the estimator."""
    from kdrbench import estimators as of

    found: dict[str, tuple[int, Callable[[], Any]]] = {
        name: (5000, maker) for name, maker in (("LMNN", of.LMNN), ("NCA", of.NCA), ("DNE", of.DNE))
    }
    for learner in ("lmnn", "nca", "dne"):
        found[f"KPCATrick:{learner}"] = (5000, lambda learner=learner: of.KPCATrick(learner))
    for kernel in KERNELS:
        found[f"InterpretableKDR:{kernel}"] = (5000, lambda kernel=kernel: of.InterpretableKDR(4, kernel=kernel))
    for paradigm in PARADIGMS[1:]:
        options = {} if paradigm == "alternative" else {"n_clusters": 4}
        found[f"InterpretableKDR:{paradigm}"] = (
            5000,
            lambda paradigm=paradigm, options=options: of.InterpretableKDR(
                4, paradigm=paradigm, paradigm_params=options, random_state=0
            ),
        )
    for kernel in ("gaussian", "polynomial", "linear", "squared"):
        found[f"InterpretableKDR:{kernel}:1e6"] = (
            1_000_000,
            lambda kernel=kernel: of.InterpretableKDR(4, kernel=kernel),
        )
    return found


def measure(name: str) -> dict[str, float | str]:
    """Fit one of them in this process."""
    n_samples, maker = cases()[name]
    features, labels = make_classification(
        n_samples, 20, n_informative=8, n_classes=4, n_clusters_per_class=2, random_state=0
    )
    small = maker()
    known = None if "unsupervised" in name else labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What is loaded when first used is not of the fit.
        small.fit(features[:200], None if known is None else known[:200])
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        maker().fit(features, known)
    seconds = time.process_time() - began
    return {
        "n": n_samples,
        "seconds": seconds,
        "mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
    }


def main() -> None:
    """Print the table, a process for each line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[""], help="beginnings of names; all without")
    parser.add_argument("--one", action="store_true", help="measure the one named, in this process")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.names[0])))
        return
    print("| estimator | samples | CPU s | MiB beyond the data |\n|---|---|---|---|")
    for name in cases():
        if not name.startswith(tuple(asked.names)):
            continue
        command = [sys.executable, __file__, name, "--one"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            print(f"| {name} | {found['n']} | {found['seconds']:.1f} | {found['mib']:.0f} |", flush=True)
        except subprocess.TimeoutExpired:
            print(f"| {name} | {cases()[name][0]} | stopped at {LIMIT_S} | - |", flush=True)
        except subprocess.CalledProcessError as error:
            print(f"| {name} | {cases()[name][0]} | {error.stderr.strip().splitlines()[-1]} | - |", flush=True)


if __name__ == "__main__":
    main()
