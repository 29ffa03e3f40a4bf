"""The folds of a cross validation, scores of kernels and numbers of components in them, and the choice among these.

A path is a kernel with the candidates q, ascending. It is fitted from the largest to the smallest, each from the first
rows that the one before found.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.utils.validation import has_fit_parameter

from kdrbench.errors import InputError, counted
from kdrbench.errors import in_words as in_words_of_error
from kdrbench.estimators.definitions import given_options
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import OneOf, check_value, whole
from kdrbench.progress import FitProgress

Params = dict[str, Any]
_RULES = OneOf(("best", "one_standard_error"))
_SIGMAS = {"sigma": ["0.25 median", "0.5 median", "median", "2 median"]}
_DEGREES = {"degree": [1, 2, 3]}
_GRIDS: dict[str, Any] = {"gaussian": _SIGMAS, "rbf": _SIGMAS, "polynomial": _DEGREES, "poly": _DEGREES}
_FOLDS = 5
_SCALERS = OneOf(("standard", "passthrough"))


class Given(NamedTuple):
    """Samples (dense or sparse), what is known of them, and their weights if any."""

    features: Any
    known: NDArray[Any]
    weights: FloatArray | None = None

    def at(self, rows: NDArray[np.intp]) -> Given:
        """Return some of the samples."""
        weights = None if self.weights is None else self.weights[rows]
        return Given(self.features[rows], self.known[rows], weights)

    def fit(self, model: Any) -> Any:
        """Return the model fitted on the samples, with their weights where its ``fit`` takes any."""
        if self.weights is None or not has_fit_parameter(model, "sample_weight"):
            return model.fit(self.features, self.known)
        return model.fit(self.features, self.known, sample_weight=self.weights)


class Fold(NamedTuple):
    """The samples of one split, and what all its fits share: the training features are scaled, the others are not."""

    train: Given
    test: Given
    scaler: Any
    final_estimator: Any
    scorer: Callable[..., float]


def scaler_of(scaler: Any, features: Any) -> Any:
    """Return the unfitted transformer that ``scaler`` is or names; ``InputError`` for an unknown name."""
    if not isinstance(scaler, str):
        return clone(scaler)
    check_value("scaler", scaler, _SCALERS)
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    if scaler == "standard":
        # Centred, sparse samples would be dense.
        return StandardScaler(with_mean=not issparse(features))
    return FunctionTransformer(feature_names_out="one-to-one", accept_sparse=True)


def folds_of(search: Any, given: Given, predictor: Any, groups: Any, rng: np.random.RandomState) -> Iterator[Fold]:
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
    for train, test in check_cv(cv, given.known, classifier=classes).split(given.features, given.known, groups):
        scaler = scaler_of(search.scaler, given.features)
        yield Fold(scaled_to(scaler, given.at(train)), given.at(test), scaler, predictor, scorer)


def predictor_of(search: Any) -> Any:
    """Return the unfitted final estimator of a search that has seen y, the neighbours' where none is given."""
    if search.final_estimator is not None:
        return clone(search.final_estimator)
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    return KNeighborsClassifier() if hasattr(search, "classes_") else KNeighborsRegressor()


def scaled_to(scaler: Any, given: Given) -> Given:
    """Fit the scaler and return the scaled samples; ``InputError`` where they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = given.fit(scaler).transform(given.features)
    if not np.isfinite(scaled.data if issparse(scaled) else scaled).all():
        most = abs(given.features).max()
        raise InputError(
            f"samples with values of up to {most:.2g} are not finite once scaled by {scaler}; change their unit"
        )
    return given._replace(features=scaled)


def components_tried(given: Any, n_classes: int, n_features: int) -> list[int]:
    """Return the candidates q that are ``given`` (``None``: by the number of classes), each once, ascending.

    Raises ``InputError`` for an empty list, and for what is no number of components.
    """
    if given is None:
        powers = [2**power for power in range(n_classes.bit_length()) if 2**power < n_classes]
        return sorted({min(one, n_features) for one in (*powers, n_classes, 2 * n_classes)})
    listed: list[Any] = list(np.atleast_1d(np.asarray(given, dtype=object)))
    for one in listed:
        check_value("n_components", one, whole(1, n_features, f"n_features = {n_features}"))
    if not listed:
        raise InputError("n_components must name at least one candidate, got an empty list")
    return sorted({int(one) for one in listed})


def params_tried(grid: Mapping[str, Sequence[Any]] | Sequence[Any] | None, template: Any) -> list[Params]:
    """Return the candidates of all other parameters; ``None``: those of the kernel, unless ``template`` sets them."""
    from sklearn.model_selection import ParameterGrid

    if grid is None:
        family = template.kernel if isinstance(template.kernel, str) else ""
        grid = {} if given_options(template) else _GRIDS.get(family, {})
    found = [dict(one) for one in ParameterGrid(grid)]
    if any("n_components" in one for one in found):
        raise InputError("param_grid must not hold n_components; give its candidates as n_components=[...]")
    return found


def visited_paths(
    folds: list[Fold],
    template: Any,
    paths: list[Params],
    *,
    warm: bool,
    n_jobs: int | None,
    progress: FitProgress | None = None,
) -> FloatArray:
    """Return score and iterations of each fit: paths x folds x candidates q x 2; ``progress`` counts those done.

    Both are NaN of a fit that failed, which a ``FitFailedWarning`` says. Raises the first error where all failed.
    """
    from sklearn.utils.parallel import Parallel, delayed

    jobs = (delayed(_visit)(fold, template, path, warm) for path in paths for fold in folds)
    visited = np.empty((len(paths) * len(folds), len(paths[0]["n_components"]), 2))
    errors: list[Exception] = []
    for number, (scores, failed) in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(jobs), 1):
        visited[number - 1], errors = scores, errors + failed
        if progress is not None:
            best = float(np.fmax.reduce(visited[:number, :, 0], axis=None))
            progress.show(number * visited.shape[1], best, lambda: None)
            if number % len(folds) == 0:
                _say(paths[number // len(folds) - 1], visited[number - len(folds) : number, :, 0], progress)
    _judge(errors, visited[..., 0].size)
    return visited.reshape(len(paths), len(folds), *visited.shape[1:])


def _judge(errors: list[Exception], n_fits: int) -> None:
    """Warn of fits that failed; raise the first error where all did."""
    if not errors:
        return
    if len(errors) < n_fits:
        warnings.warn(
            f"{counted(len(errors), 'fit')} of {n_fits} failed, and their candidates are left out; the first: "
            f"{in_words_of_error(errors[0])}",
            FitFailedWarning,
            stacklevel=4,
        )
    elif n_fits > 1 and isinstance(errors[0], InputError):
        hint = 'choose other candidates, such as param_grid={"sigma": ["median", "2 median"]}'
        raise InputError(f"{errors[0]}; all {n_fits} fits of the cross validation failed: {hint}") from errors[0]
    else:
        raise errors[0]


def _say(path: Params, scores: FloatArray, progress: FitProgress) -> None:
    """Leave a line for each candidate of a path, with its score in folds x candidates."""
    for n_components, of_folds in zip(path["n_components"], scores.T, strict=True):
        score = f"score {of_folds.mean():.4g} +- {of_folds.std():.2g} over {counted(len(of_folds), 'fold')}"
        progress.say(f"{in_words({**path, 'n_components': n_components})}: {score}")


def in_words(params: Params) -> str:
    """Return parameters as ``n_components=2, sigma='median'``."""
    return ", ".join(f"{name}={value!r}" for name, value in sorted(params.items()))


def _visit(fold: Fold, template: Any, path: Params, warm: bool) -> tuple[list[tuple[float, float]], list[Exception]]:
    """Return score and iterations of each q of a path, in its order, and what failed; the largest is visited first."""
    visited, failed, start = [], [], None
    for n_components in reversed(path["n_components"]):
        model = with_params(template, {**path, "n_components": n_components})
        if start is not None:
            model.set_params(start=start)
        try:
            predictor = predictor_after(fold.scaler, fold.train.fit(model), fold.train, fold.final_estimator)
            score = fold.scorer(predictor, fold.test.features, fold.test.known)
        except Exception as error:
            # As a search of scikit-learn does, whose candidates may raise anything.
            visited.append((np.nan, np.nan))
            failed.append(error)
            continue
        visited.append((float(score), model.n_iter_))
        start = model.components_ if warm else None
    return visited[::-1], failed


def predictor_after(scaler: Any, reduction: Any, scaled: Given, final_estimator: Any) -> Any:
    """Return the pipeline of a fitted scaler, reduction, and a final estimator that is fitted on projected samples."""
    from sklearn.pipeline import Pipeline

    projected = reduction.transform(scaled.features)
    predictor = scaled._replace(features=projected).fit(clone(final_estimator))
    return Pipeline([("scaler", scaler), ("reduction", reduction), ("final_estimator", predictor)])


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
