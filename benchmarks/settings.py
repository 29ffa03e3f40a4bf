"""What a setting of InterpretableKDR costs and brings: CPU seconds, objective and accuracy of fits in turn, one thread.

    KDRBENCH_MIRROR=... OMP_NUM_THREADS=1 python benchmarks/settings.py tolerance             a tolerance of 1e-3
    KDRBENCH_MIRROR=... OMP_NUM_THREADS=1 python benchmarks/settings.py portfolio usps@2000:gaussian:10

``tolerance`` compares it with an exact evaluation: it is never to make a fit slower, so each quotient is at most 1.1.
``portfolio`` compares 24 starts with one. A cell is SET[@ROWS][:KERNEL[ BANDWIDTH][:Q]]; ROWS are drawn at random. A
fit is the best of ``--turns``. The objective is exact in both. Accuracy is that of 5 nearest neighbours of the
projection on at most 2000 of the other rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from measuring import Array, parser_of, print_row, timed
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from kdrbench.datasets import load_dataset
from kdrbench.estimators import InterpretableKDR

TWELVE = (
    *("wdbc", "optdigits", "yeast", "satellite", "musk2", "pendigits", "usps", "face", "scaling-4000"),
    *("mnist@2000", "mnist@5000", "mnist"),
)
STARTS = (
    *("optdigits@1000:gaussian:2", "optdigits@1000:gaussian median:10", "usps@1000:gaussian:5"),
    *("usps@2000:gaussian:10", "mnist@1000:gaussian:10", "face@400:gaussian:10", "mnist@1000:gaussian median:5"),
    *("usps@1000:multiquadric:10", "mnist@1000:multiquadric:5", "usps@500:rbf_relative:5"),
    *("usps@1000:polynomial:2", "mnist@2000:polynomial:10", "optdigits@1000:polynomial:5", "face@400:polynomial:10"),
)
# By name: the default cells, and what the estimator is given without the setting and with it.
SETTINGS: dict[str, tuple[tuple[str, ...], dict[str, Any], dict[str, Any]]] = {
    "tolerance": (TWELVE, {"evaluation": {"tolerance": 0.0}}, {"evaluation": {"tolerance": 1e-3}}),
    "portfolio": (
        STARTS,
        {"solver": {"method": "ism_safeguarded", "portfolio": 1}},
        {"solver": {"method": "ism_safeguarded", "portfolio": 24}},
    ),
}
SHORT_S, HELD_OUT = 0.5, 2000


@dataclass(frozen=True)
class Fit:
    """A model, its CPU seconds, and the accuracy of neighbours."""

    model: InterpretableKDR
    seconds: float
    accuracy: float


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = parser_of(__doc__)
    parser.add_argument("setting", choices=SETTINGS)
    parser.add_argument("cells", nargs="*")
    parser.add_argument("--turns", type=int, default=2)
    asked = parser.parse_args()
    cells, without, given = SETTINGS[asked.setting]
    print("| cell | n x d, q | without, s | with, s | quotient | objective | accuracy | evaluation, message |")
    print("|---|---|---:|---:|---:|---:|---|---|")
    for cell in asked.cells or cells:
        print_row(cell, *row(cell, [without, given], asked.turns))


def row(cell: str, both: list[dict[str, Any]], turns: int) -> Iterator[str]:
    """Yield the entries of a line."""
    name, kernel, q = f"{cell}::".split(":")[:3]
    features, labels, others, theirs = samples_of(name)
    family, _, sigma = (kernel or "gaussian").partition(" ")
    n_components = int(q) if q else min(10, len(np.unique(labels)), features.shape[1])
    options = {"kernel": family, "n_components": n_components} | ({"sigma": sigma} if sigma else {})
    fits: list[list[Fit]] = [[], []]
    for _ in range(turns):
        for setting, of_one in zip(both, fits, strict=True):
            of_one.append(fit(InterpretableKDR(**options, **setting), features, labels, others, theirs))
    before, after = (min(of_one, key=lambda one: one.seconds) for of_one in fits)
    yield f"{features.shape[0]} x {features.shape[1]}, {n_components}"
    yield from (f"{before.seconds:.3f}", f"{after.seconds:.3f}", f"{after.seconds / before.seconds:.2f}")
    size = before.model.objective_
    yield f"{(after.model.objective_ - size) / abs(size):.0e}"
    yield f"{before.accuracy:.3f} / {after.accuracy:.3f}"
    yield f"{after.model.result_.evaluation.partition(':')[0]}; {after.model.result_.message.partition('; ')[2]}"


def samples_of(name: str) -> tuple[Array, Array, Array, Array]:
    """Return standardised samples and classes to fit, and others, which are the same where all are fitted."""
    base, _, count = name.partition("@")
    data = load_dataset(base)
    rows = np.random.default_rng(0).permutation(len(data.labels)) if count else np.arange(len(data.labels))
    some, rest = rows[: int(count or len(rows))], rows[int(count or 0) :][:HELD_OUT]
    varying = data.features[some].std(axis=0) > 0
    scaler = StandardScaler().fit(data.features[some][:, varying])
    features, others = (scaler.transform(data.features[part][:, varying]) for part in (some, rest))
    return features, data.labels[some], others, data.labels[rest]


def fit(model: InterpretableKDR, features: Array, labels: Array, others: Array, theirs: Array) -> Fit:
    """Return the fit, whose CPU seconds are the best of as many as half a second takes."""
    seconds, began = [], time.process_time()
    while not seconds or time.process_time() - began < SHORT_S:
        seconds.append(timed(lambda: model.fit(features, labels))[0])
    neighbours = KNeighborsClassifier(5).fit(model.transform(features), labels)
    return Fit(model, min(seconds), float(neighbours.score(model.transform(others), theirs)))


if __name__ == "__main__":
    main()
