"""Scores of kernels and numbers of components in the folds of a cross validation, and the choice among them.

A path is a kernel with the candidates q, ascending. It is fitted from the largest to the smallest, each from the first
rows that the one before found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import OneOf, check_value, whole
from kdrbench.progress import FitProgress

Params = dict[str, Any]
_FOLDS = 5
_SCALERS = OneOf(("standard", "passthrough"))
_RULES = OneOf(("best", "one_standard_error"))


class Fold(NamedTuple):
    """The samples of one split, and what all its fits share: the training features are scaled, the others are not."""

    train: tuple[FloatArray, NDArray[Any]]
    test: tuple[FloatArray, NDArray[Any]]
    scaler: Any
    final_estimator: Any
    scorer: Callable[..., float]


def scaler_of(scaler: Any) -> Any:
    """Return the unfitted transformer that ``scaler`` is or names; ``InputError`` for an unknown name."""
    if not isinstance(scaler, str):
        return clone(scaler)
    check_value("scaler", scaler, _SCALERS)
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    return StandardScaler() if scaler == "standard" else FunctionTransformer(feature_names_out="one-to-one")


def folds_of(
    search: Any, features: FloatArray, known: NDArray[Any], predictor: Any, rng: np.random.RandomState
) -> Iterator[Fold]:
    """Yield the splits that ``search.cv`` says, with their scalers fitted, on training samples alone.

    ``rng`` shuffles samples where ``search`` has a ``random_state`` and leaves the folds to us.
    """
    from sklearn.metrics import check_scoring
    from sklearn.model_selection import KFold, StratifiedKFold, check_cv

    cv, classes = search.cv, is_classifier(predictor)
    if search.random_state is not None and (cv is None or isinstance(cv, Integral)):
        kind = StratifiedKFold if classes else KFold
        cv = kind(_FOLDS if cv is None else cv, shuffle=True, random_state=rng.randint(2**31))
    scorer = check_scoring(predictor, search.scoring)
    for train, test in check_cv(cv, known, classifier=classes).split(features, known):
        scaler = scaler_of(search.scaler)
        scaled = (scaled_to(scaler, features[train], known[train]), known[train])
        yield Fold(scaled, (features[test], known[test]), scaler, predictor, scorer)


def scaled_to(scaler: Any, features: FloatArray, known: Any) -> FloatArray:
    """Fit the scaler and return the scaled samples; ``InputError`` where they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled: FloatArray = scaler.fit(features, known).transform(features)
    if not np.isfinite(scaled).all():
        most = np.abs(features).max()
        raise InputError(
            f"samples with values of up to {most:.2g} are not finite once scaled by {scaler}; change their unit"
        )
    return scaled


def visited_paths(
    folds: list[Fold],
    template: Any,
    paths: list[Params],
    *,
    warm: bool,
    n_jobs: int | None,
    progress: FitProgress | None = None,
) -> FloatArray:
    """Return score and iterations of each fit: paths x folds x candidates q x 2; ``progress`` counts those done."""
    from sklearn.utils.parallel import Parallel, delayed

    jobs = (delayed(_visit)(fold, template, path, warm) for path in paths for fold in folds)
    visited = np.empty((len(paths) * len(folds), len(paths[0]["n_components"]), 2))
    for number, scores in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(jobs), 1):
        visited[number - 1] = scores
        if progress is not None:
            progress.show(number * visited.shape[1], float(visited[:number, :, 0].max()), lambda: None)
    return visited.reshape(len(paths), len(folds), *visited.shape[1:])


def _visit(fold: Fold, template: Any, path: Params, warm: bool) -> list[tuple[float, int]]:
    """Return score and iterations of each q of a path, in its order; visited from the largest to the smallest."""
    from sklearn.pipeline import Pipeline

    visited, start = [], None
    for n_components in reversed(path["n_components"]):
        model = with_params(template, {**path, "n_components": n_components})
        if start is not None:
            model.set_params(start=start)
        projected = model.fit(*fold.train).transform(fold.train[0])
        predictor = clone(fold.final_estimator).fit(projected, fold.train[1])
        pipeline = Pipeline([("scaler", fold.scaler), ("reduction", model), ("final_estimator", predictor)])
        visited.append((float(fold.scorer(pipeline, *fold.test)), model.n_iter_))
        start = model.components_ if warm else None
    return visited[::-1]


def with_params(template: Any, params: Params) -> Any:
    """Return an unfitted copy with these parameters; what is no parameter of the estimator is one of its kernel."""
    model, known = clone(template), template.get_params()
    model.set_params(**{name: value for name, value in params.items() if name in known})
    options = {name: value for name, value in params.items() if name not in known}
    return model.set_params(kernel_params={**(model.kernel_params or {}), **options}) if options else model


def results_of(paths: list[Params], visited: FloatArray) -> dict[str, Any]:
    """Return what was visited (paths x folds x candidates q x 2) as ``cv_results_``."""
    params = [{**path, "n_components": one} for path in paths for one in path["n_components"]]
    scores, iterations = visited.transpose(3, 1, 0, 2).reshape(2, visited.shape[1], len(params))
    mean = scores.mean(axis=0)
    results: dict[str, Any] = {"mean_n_iter": iterations.mean(axis=0)}
    for name in sorted({name for one in params for name in one}):
        values = np.ma.array(np.empty(len(params), dtype=object), mask=True)
        for place, one in enumerate(params):
            if name in one:
                values[place] = one[name]
        results[f"param_{name}"] = values
    results["params"] = params
    results |= {f"split{fold}_test_score": one for fold, one in enumerate(scores)}
    filled = np.nan_to_num(mean, nan=-np.inf)
    rank = 1 + (filled[:, None] < filled).sum(axis=1)
    return results | {"mean_test_score": mean, "std_test_score": scores.std(axis=0), "rank_test_score": rank}


def chosen_row(results: Mapping[str, Any], selection: str | Callable[[Mapping[str, Any]], int], n_splits: int) -> int:
    """Return the row of ``cv_results_`` that ``selection`` takes; of equals the one of fewest components.

    Raises ``InputError`` for an unknown rule, a callable's index that is no row, or scores that are all NaN.
    """
    if callable(selection):
        index = selection(results)
        check_value("the index that selection returns", index, whole(0, len(results["params"]) - 1))
        return int(index)
    check_value("selection", selection, _RULES)
    mean, counts = results["mean_test_score"], results["param_n_components"].astype(int)
    if np.isnan(mean).all():
        raise InputError("all scores are NaN; give another scoring, or fewer folds")
    best = np.lexsort((counts, -mean))[0]
    if selection == "best" or n_splits == 1:
        return int(best)
    scores = [results[f"split{fold}_test_score"][best] for fold in range(n_splits)]
    least = mean[best] - np.std(scores, ddof=1) / np.sqrt(n_splits)
    return int(np.lexsort((-mean, counts, ~(mean >= least)))[0])
