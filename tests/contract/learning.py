"""Canaries of low-rank kernel learning, metric learners, reducers, baselines and judges."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any, Self, cast

import numpy as np

from contract.canary import Canary, bundled, canary, samples
from kdrbench.baselines import BASELINES, build_baseline
from kdrbench.kernels import Gaussian, gram_matrix
from kdrbench.lowrank import (
    Stopping,
    constraints_from_labels,
    definite_boost,
    diagonal,
    factor_of,
    join,
    kmeans_on_factor,
    learn_kernel,
    nearest_correlation,
    relative_distances,
    similarities,
    squared_distances,
)
from kdrbench.metric_learning import (
    DNE,
    SamplePairs,
    aligned_kernel,
    build_learner,
    cross_validated_kernel,
    gaussian_grid,
    kdne,
    kernel_pca,
    lmnn_objective,
    polynomial_grid,
)
from kdrbench.metric_learning.selection import Part
from kdrbench.reduction.methods import METHODS, build_reducer
from kdrbench.suite.systems.league.judges import judge

SWEEPS = 4
# Few steps of what descends: LMNN and NCA part company with themselves after many, where rounding differs.
LEARNERS: dict[str, list[dict[str, Any]]] = {
    "nca": [{"max_iterations": 4}],
    "lmnn": [{"max_iterations": 4}],
    "dne": [{}, {"n_neighbours": 3}],
}


def _constraints(factor: Any) -> tuple[Any, float]:
    """Return constraints of all kinds that a kernel near that of the factor meets, and its trace."""
    rng = np.random.default_rng(4)
    n, r = factor.shape
    other = factor @ (np.eye(r) + 0.2 * rng.standard_normal((r, r)))
    parts = []
    for build, width, sense in (
        (squared_distances, 2, "<="),
        (similarities, 2, ">="),
        (relative_distances, 3, "<="),
        (diagonal, 1, "="),
    ):
        for _ in range(4):
            chosen = rng.choice(n, width, replace=False)
            given = chosen if width == 1 else chosen[None, :]
            parts.append(build(n, given, sense, build(n, given, "=", 0.0).values(other)[0]))
    return join(*parts), float(np.square(other).sum())


def _kernel_numbers(learned: Any) -> dict[str, Any]:
    counted = {name: getattr(learned, name) for name in ("sweeps", "projections", "divergence", "status")}
    return {"kernel": learned.kernel, **counted, "status": str(learned.status)}


def _low_rank(rank: int, sweeps: int, divergence: str, *, traced: bool = False, **options: Any) -> dict[str, Any]:
    options["stopping"] = Stopping(1e-10, 1e-10, sweeps)
    factor = samples(20, rank)[0] if rank < 20 else np.eye(20) + 0.1 * samples(20, 20)[0]
    asked, trace = _constraints(factor)
    options |= {"trace": trace} if traced else {}
    return _kernel_numbers(learn_kernel(factor, asked, divergence=divergence, **options))


def _boosted(step: str) -> dict[str, Any]:
    factor = np.eye(12) / np.sqrt(12)
    target = samples(12, 5)[0] / np.linalg.norm(samples(12, 5)[0])
    pairs = np.array([(i, (i * 5 + 1) % 12) for i in range(12) if i != (i * 5 + 1) % 12])
    squares = np.sum((target[pairs[:, 0]] - target[pairs[:, 1]]) ** 2, axis=1)
    asked = squared_distances(12, pairs, ["<=" if i % 2 else ">=" for i in range(len(pairs))], squares)
    return _kernel_numbers(definite_boost(factor, asked, step=step, stopping=Stopping(1e-6, 1e-6, SWEEPS)))


def _draws() -> dict[str, Any]:
    features, codes = samples()
    drawn = constraints_from_labels(features, codes, 12, np.random.default_rng(1))
    learned = learn_kernel(features, drawn, divergence="burg", stopping=Stopping(1e-3, 1e-3, 3))
    clusters = kmeans_on_factor(features, 3, np.random.default_rng(2), n_starts=3)
    return {"bounds": drawn.bounds, "kernel": learned.kernel, "cluster sizes": np.sort(np.bincount(clusters))}


def _correlations() -> dict[str, Any]:
    kernel = np.eye(8) + 0.9 * np.cos(np.arange(64.0)).reshape(8, 8)
    kernel = kernel + kernel.T
    near = factor_of(kernel @ kernel, 4)
    return {"factor": near @ near.T, "nearest": nearest_correlation(kernel @ kernel).kernel}


def _of_learner(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return A'A, which is the same for all signs and orders of the rows of A."""
    features, codes = samples()
    learned = build_learner(name, options).fit(features, codes)
    return {"metric": learned.T @ learned if learned.shape[1] == features.shape[1] else learned @ learned.T}


def _by_kernel_tricks() -> dict[str, Any]:
    features, codes = samples()
    gram = gram_matrix(Gaussian(1.5), features)
    pushed = lmnn_objective(features, codes, 2)
    coordinates = kernel_pca(gram, 3).transform(gram)
    return {
        "KDNE": kdne(gram, codes, n_components=2).values[:2],
        "LMNN value": pushed.value_and_gradient(np.eye(6))[0],
        "LMNN": pushed.value_and_gradient(np.eye(6))[1],
        "coordinates": np.linalg.norm(coordinates[:, None] - coordinates, axis=2),
    }


def _chosen_kernels() -> dict[str, Any]:
    features, codes = samples()
    pairs, grid = SamplePairs(features, features), gaussian_grid(6)[6:12] + polynomial_grid(3)
    chosen, accuracies = cross_validated_kernel(grid, DNE(), pairs, codes, np.random.default_rng(1), n_folds=3)
    weights = [aligned_kernel(grid, pairs, codes, centred=centred)[1].weights for centred in (False, True)]
    return {"chosen": grid.index(chosen), "accuracies": accuracies, "aligned": weights[0], "centred": weights[1]}


def _projected(name: str, **options: Any) -> dict[str, Any]:
    """Return distances of what a reducer projects, which no sign or rotation changes."""
    data = bundled("wine", 60)
    features = (data.features - data.features.mean(axis=0)) / data.features.std(axis=0)
    with _stand_in_for_umap():
        shown = build_reducer(name, 2, 1).set_params(**options).fit(features, data.labels).transform(features)
    return {"distances": np.linalg.norm(shown[:, None] - shown, axis=2), "components": shown.shape[1]}


def _in_many_features(name: str, n_components: int, features: Any, codes: Any) -> dict[str, Any]:
    model = build_reducer(name, n_components, 1).fit(features, codes)
    # A control holds the model that it has fitted to shuffled labels.
    model = getattr(model, "estimator_", model)
    return {"objective": model.objective_, "iterations": model.n_iter_}


class _Layout:
    """What UMAP is asked for: its descent is chaotic, and another package's."""

    def __init__(self, **asked: Any) -> None:
        self.asked = asked

    def fit(self, features: Any, response: Any) -> Self:
        numbers = [value for value in self.asked.values() if not isinstance(value, str)]
        self.embedding_ = np.outer(features[:, 0] + response, np.log1p(numbers))
        return self

    def transform(self, features: Any) -> Any:
        return self.embedding_


@contextmanager
def _stand_in_for_umap() -> Iterator[None]:
    known = sys.modules.get("umap")
    sys.modules["umap"] = cast("ModuleType", SimpleNamespace(UMAP=_Layout))
    try:
        yield
    finally:
        del sys.modules["umap"]
        if known is not None:
            sys.modules["umap"] = known


def _of_baseline(name: str) -> dict[str, Any]:
    data = bundled("wine", 60)
    features = (data.features - data.features.mean(axis=0)) / data.features.std(axis=0)
    baseline: Any = build_baseline({"method": name})
    rng, train = np.random.default_rng(1), np.arange(60) % 3 > 0
    if baseline.task == "classification":
        labels = baseline.fit(features[train], data.labels[train], 2, rng).predict(features[~train])
        return {"accuracy": float((labels == data.labels[~train]).mean()), "labels": labels}
    if baseline.task == "clustering":
        clusters = baseline.cluster(features, 3, 2, rng)
        return {"together": clusters[:, None] == clusters}
    known = np.where(np.arange(60) % 4 == 0, data.labels, -1)
    return {"labels": baseline.complete(features, known, 2, rng)}


def _judged() -> dict[str, Any]:
    features, codes = samples()
    return judge(Part(features[:25, :2], codes[:25], features[25:, :2], codes[25:]))


_DIVERGENCES = ("burg", "von_neumann")
_ON_LANDMARKS = {"estimator__n_landmarks": 20, "estimator__learner_params": {"max_iterations": 4}}
_MANY_FEATURES = "kdr_polynomial", 3, *samples(200, 45)
_FLAT = 5, np.cumsum(samples(100, 90)[0], axis=1), samples(100, 90)[1]


def _projected_kernel(name: str, divergence: str, solver: str, *given: Any, **options: Any) -> Canary:
    components = f"divergence/{divergence} projection/{solver}"
    return canary(f"low rank {name}", components, _low_rank, *given, divergence, solver=solver, **options)


CANARIES = [
    *(
        _projected_kernel(f"{name} {solver} {how} of rank {rank}", name, solver, rank, SWEEPS, compiled=how != "plain")
        for name in _DIVERGENCES
        for solver, how in (("cyclic", "compiled"), ("cyclic", "plain"), ("newton", "plain"))
        for rank in (5, 20)
    ),
    *(
        _projected_kernel(f"von_neumann {solver} of a trace", "von_neumann", solver, 5, SWEEPS, traced=True)
        for solver in ("cyclic", "newton")
    ),
    *(_projected_kernel(f"{name} to the end", name, "newton", 5, 500) for name in _DIVERGENCES),
    *(
        canary(f"boosting {step}", "boosting/definite_boost", _boosted, step)
        for step in ("own_range", "symmetric", "exact")
    ),
    canary("low rank draws", "splits/low_rank divergence/burg projection/cyclic referee/low_rank", _draws),
    canary("low rank correlations", "divergence/burg projection/cyclic", _correlations),
    *(
        canary(f"learner {name} {number}", f"learner/{name}", _of_learner, name, options)
        for name, choices in LEARNERS.items()
        for number, options in enumerate(choices)
    ),
    canary("learner kernel tricks", "learner/dne learner/nca learner/lmnn selection/plain", _by_kernel_tricks),
    canary("selection kernels", "selection/cross_validated selection/aligned learner/dne", _chosen_kernels),
    *(canary(f"reducer {name}", f"reducer/{name}", _projected, name) for name in METHODS),
    # The league takes landmarks for more samples than a canary can have.
    canary("reducer kpca_trick on landmarks", "reducer/kpca_trick", _projected, "kpca_trick", **_ON_LANDMARKS),
    # Where further starts are drawn; and where F is flat, as neighbouring features are nearly the same, and q (d - q)
    # is more than 400, so that fits end early.
    canary("reducer kdr_polynomial in many features", "reducer/kdr_polynomial", _in_many_features, *_MANY_FEATURES),
    *(
        canary(f"reducer {name} in many features", f"reducer/{name}", _in_many_features, name, *_FLAT)
        for name in ("kdr_gaussian", "shuffled_kdr")
    ),
    *(canary(f"baseline {name}", f"baseline/{name}", _of_baseline, name) for name in BASELINES),
    canary("judge league", "judge/league", _judged),
]
