"""Rules for the bandwidth of InterpretableKDR: accuracy of five nearest neighbours and time of a fit.

    OMP_NUM_THREADS=1 python benchmarks/bandwidths.py --mirror FOLDER             # a Markdown table
    OMP_NUM_THREADS=1 python benchmarks/bandwidths.py wine --rules LDA start      # some sets, some rules
    OMP_NUM_THREADS=1 python benchmarks/bandwidths.py mnist usps --most 1250      # 1000 samples to learn from

Each rule projects to q = 1, 2, 4 and k - 1 components (k classes); scaling, projection and classifier are fitted on the
training part of each of five stratified folds. A cell is the mean accuracy in percent and the median CPU seconds of a
fit; the last line has the mean accuracy and the sum of seconds.

``median``      the median distance of the unprojected samples.
``projected``   that times sqrt(q/d) max(1, sqrt(q/4)): the default of InterpretableKDR.
``consistent``  from there sigma is the median distance of the projected samples until it changes by less than 2 %.
``start``       the median distance of the samples in the components of the linear kernel.
``alignment``   of 2, 1, 1/2 and 1/4 times ``projected``, from wide to narrow with warm starts, the largest cosine of
                Gamma and the centred kernel.
"""

from collections import defaultdict
from collections.abc import Callable

import numpy as np
from measuring import Array, Projection, over_folds, parser_of, print_row
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from kdrbench.datasets import load_dataset
from kdrbench.estimators import InterpretableKDR
from kdrbench.kernels import median_distance
from kdrbench.kernels.family import projected_share

SETS = ("wine", "wdbc", "iris", "digits", "glass", "ionosphere", "pima", "balance", "yeast", "satellite", "pendigits")
SETS += ("usps",)


def fitted(X: Array, y: Array, q: int, sigma: float, start: Array | None = None) -> InterpretableKDR:
    """Return the fit with a bandwidth, from another fit's components if given."""
    return InterpretableKDR(q, sigma=sigma, start=start, evaluation={"tolerance": 1e-4}).fit(X, y)


def rule_of(X: Array, q: int) -> float:
    """Return the default bandwidth for q components."""
    return median_distance(X) * projected_share(X, q)


def from_start(X: Array, y: Array, q: int) -> Array:
    """Return W' with sigma the median distance of the samples in the components of the linear kernel."""
    start = InterpretableKDR(q, kernel="linear").fit(X, y).components_
    return fitted(X, y, q, median_distance(X @ start.T)).components_


def consistent(X: Array, y: Array, q: int) -> Array:
    """Return W' with sigma the median distance of X W."""
    sigma, start = rule_of(X, q), None
    for _ in range(6):
        start = fitted(X, y, q, sigma, start).components_
        before, sigma = sigma, median_distance(X @ start.T)
        if abs(sigma / before - 1.0) < 0.02:
            break
    return start


def cosine(X: Array, y: Array, rows: Array, sigma: float) -> float:
    """Return <K, Gamma> / |HKH| up to a factor of y alone."""
    Z = X @ rows.T
    squares = (Z**2).sum(1)
    K = np.exp(-np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0.0) / (2 * sigma**2))
    K -= K.mean(0)
    K -= K.mean(1, keepdims=True)
    Y = np.eye(y.max() + 1)[y]
    return float(np.sum(Y * (K @ Y)) / np.linalg.norm(K))


def aligned(X: Array, y: Array, q: int) -> Array:
    """Return W' of the best of four bandwidths."""
    found, start = [], None
    for share in (2.0, 1.0, 0.5, 0.25):
        sigma = share * rule_of(X, q)
        start = fitted(X, y, q, sigma, start).components_
        found.append((cosine(X, y, start, sigma), start))
    return max(found, key=lambda pair: pair[0])[1]


RULES: dict[str, Callable[[Array, Array, int], Array]] = {
    "LDA": lambda X, y, q: LinearDiscriminantAnalysis(n_components=min(q, y.max())).fit(X, y).scalings_.T[:q],
    "median": lambda X, y, q: fitted(X, y, q, median_distance(X)).components_,
    "projected": lambda X, y, q: fitted(X, y, q, rule_of(X, q)).components_,
    "consistent": consistent,
    "start": from_start,
    "alignment": aligned,
}


def measured(rule: Callable[[Array, Array, int], Array], X: Array, y: Array, q: int) -> tuple[float, float]:
    """Return the mean accuracy in percent and the median CPU seconds."""

    def learn(rows: Array, classes: Array) -> Projection:
        W = rule(rows, classes, q).T
        return lambda some: some @ W

    accuracy, seconds, _ = over_folds(learn, X, y)
    return 100 * accuracy, seconds


def main() -> None:
    """Print a line for each rule and set."""
    parser = parser_of(__doc__)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--mirror")
    parser.add_argument("--most", type=int, default=600, help="samples of a set, drawn at random")
    parser.add_argument("--rules", nargs="*", default=list(RULES))
    given = parser.parse_args()
    total = defaultdict(list)
    for name in given.sets:
        data = load_dataset(name, mirror=given.mirror)
        X, y = data.features, data.labels
        kept = np.random.default_rng(0).permutation(len(X))[: given.most]
        X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
        X = X[:, X.std(0) > 0]
        for q in sorted({q for q in (1, 2, 4, y.max()) if q <= X.shape[1]}):
            cells = {rule: measured(RULES[rule], X, y, q) for rule in given.rules}
            for rule, cell in cells.items():
                total[rule].append(cell)
            print_row(name, q, *(f"{accuracy:.1f} ({seconds:.2f})" for accuracy, seconds in cells.values()))
    columns = (np.transpose(cells) for cells in total.values())
    print_row("mean", "", *(f"{np.mean(accuracy):.2f} ({np.sum(seconds):.1f})" for accuracy, seconds in columns))


if __name__ == "__main__":
    main()
