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
from operator import itemgetter
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
    samples = samples_of(name)
    features, labels, *_ = samples
    family, _, sigma = (kernel or "gaussian").partition(" ")
    n_components = int(q) if q else min(10, len(np.unique(labels)), features.shape[1])
    options = {"kernel": family, "n_components": n_components} | ({"sigma": sigma} if sigma else {})
    fits = [[fit(InterpretableKDR(**options, **setting), *samples) for setting in both] for _ in range(turns)]
    (before_s, accuracy, before), (after_s, other, after) = (
        min(of, key=itemgetter(0)) for of in zip(*fits, strict=True)
    )
    yield f"{features.shape[0]} x {features.shape[1]}, {n_components}"
    yield from (f"{before_s:.3f}", f"{after_s:.3f}", f"{after_s / before_s:.2f}")
    yield f"{(after.objective_ - before.objective_) / abs(before.objective_):.0e}"
    yield f"{accuracy:.3f} / {other:.3f}"
    yield f"{after.result_.evaluation.partition(':')[0]}; {after.result_.message.partition('; ')[2]}"


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


def fit(
    model: InterpretableKDR, features: Array, labels: Array, others: Array, theirs: Array
) -> tuple[float, float, InterpretableKDR]:
    """Return CPU seconds, the best of as many fits as half a second takes, accuracy of neighbours, and the model."""
    seconds, began = [], time.process_time()
    while not seconds or time.process_time() - began < SHORT_S:
        seconds.append(timed(lambda: model.fit(features, labels))[0])
    neighbours = KNeighborsClassifier(5).fit(model.transform(features), labels)
    return min(seconds), float(neighbours.score(model.transform(others), theirs)), model


if __name__ == "__main__":
    main()
