"""Interpretable kernel dimension reduction with its components and kernel chosen by cross validation."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral, Real
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, has_fit_parameter, validate_data

from kdrbench.errors import InputError
from kdrbench.estimators.common import VERBOSE, columns_of_any_name
from kdrbench.estimators.definitions import OF_KERNEL, PROJECTED, definitions_of
from kdrbench.estimators.fitting import N_JOBS
from kdrbench.estimators.inputs import accepts_sparse, checked_weights
from kdrbench.estimators.interpretable_kdr import InterpretableKDR
from kdrbench.estimators.targets import CLASSES, CONTINUOUS, check_labels, is_continuous, plain_values, present_values
from kdrbench.parameters import Instance, OneOf, check_parameters, check_value, optional, whole
from kdrbench.progress import CountProgress

_SAMPLES: dict[str, Any] = {"dtype": (np.float64, np.float32), "accept_sparse": "csr"}
_PREFIX = "reduction__"
_SIGMAS = {"sigma": ["0.5 projected", "projected", "2 projected"]}
_DEGREES = {"degree": [1, 2, 3]}
_GRIDS: dict[str, Any] = {"gaussian": _SIGMAS, "rbf": _SIGMAS, "polynomial": _DEGREES, "poly": _DEGREES}
_FOLDS = 5
# How candidates of the default grid are fitted where the estimator leaves it open; what is chosen is fitted fully.
_OPEN = ("tol", "max_iter", "evaluation")
_TRIAL = {"max_iter": 5, "evaluation": {"tolerance": 1e-3}}
# A share of a bandwidth, and the rule that it is a share of.
_SHARE = re.compile(rf"(?:(\d*\.?\d+) )?(median|{PROJECTED})")
_COUNTS = optional(Instance((Integral, list, tuple, range, np.ndarray), "an integer or a list of integers"))
_GRID = optional(Instance((Mapping, list, tuple), "a dict of lists, or a list of such dicts"))


def _predicts(method: str, search: Any) -> bool:
    """Return whether the final estimator has a method; nearest neighbours have, of classes even probabilities."""
    final = search.predictor_[-1] if hasattr(search, "predictor_") else search.final_estimator
    return final is None or hasattr(final, method)


def _decides(search: Any) -> bool:
    return _predicts("decision_function", search) or _predicts("predict_proba", search)


@dataclass(repr=False, eq=False)
class InterpretableKDRCV(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """:class:`InterpretableKDR` with n_components and kernel parameters chosen by cross validation, from labels.

    In each fold the scaler, the kernel's bandwidth, the projection and ``final_estimator`` are fitted on its training
    samples alone, and scored on the others. Then scaler and projection are fitted on all samples with what was chosen.
    ``best_score_`` is the highest of many and so too high: judge the choice by cross validation around this estimator.

    A ``UserWarning`` says where the best of several values of a parameter is the smallest or largest of them, and
    scikit-learn's ``FitFailedWarning`` which candidates failed, why, and that they are left out.

    Parameters
    ----------
    n_components : int, list of int or None
        Candidates q. ``None``: powers of two below the number C of classes, C, and 2 C; at most n_features.
    estimator : InterpretableKDR or None
        What is fitted, with the parameters that are not chosen; supervised. ``None``: the defaults.
    param_grid : dict, list of dicts or None
        Candidates of other parameters of ``estimator``, as for ``GridSearchCV``: ``{"sigma": ["median", 2.0]}``.
        ``None``: sigma of a Gaussian (1/2, 1, 2 times "projected"), the degree of a polynomial (1 to 3), nothing for
        other kernels; what ``estimator`` sets itself is kept. These are fitted with at most 5 iterations, unless
        ``estimator`` has a ``tol``, ``max_iter`` or ``evaluation``, and what is chosen until it converges.
    scaler : {"standard", "passthrough"}, transformer or None
        Fitted on the training samples of each fold: ``StandardScaler`` (of sparse samples without centring, which would
        make them dense), nothing (or ``None``), or a transformer, such as a ``ColumnTransformer`` of a frame with text.
    final_estimator : estimator or None
        Predicts from projected samples. ``None``: ``KNeighborsClassifier()``, for continuous targets
        ``KNeighborsRegressor()``.
    scoring : str, callable or None
        scikit-learn's name of a score, or ``scorer(pipeline, X, y)`` of fitted scaler, projection and final estimator.
        ``None``: accuracy, for continuous targets R^2.
    cv : int, splitter, iterable of splits or None
        Folds, stratified where y is classes; ``None``: 5.
    n_jobs : int or None
        Fits side by side; ``None`` is 1, -1 all cores.
    random_state : int, RandomState or None
        Shuffles samples where ``cv`` is a number or None; without it folds are taken in the order of samples. Seeds
        an ``estimator`` that has no ``random_state``.
    verbose : bool or int
        That of ``GridSearchCV``. A search of more than 10 s says on standard error how far it is.

    Attributes
    ----------
    best_estimator_, predictor_ : Pipeline
        Scaler and :class:`InterpretableKDR`, fitted on all samples; the same with ``final_estimator``.
    best_params_, best_score_, best_index_ : what was chosen, its mean score, and its row in ``cv_results_``.
    cv_results_ : dict of arrays
        As ``GridSearchCV`` has them.
    components_ : W' for scaled features, n_components_ x n_features; ``best_estimator_[-1]`` has its certificate.
    n_components_, n_splits_, kernel_, scorer_ : q, the number of folds, the kernel with its parameters, the scorer.
    target_type_ : {"classes", "continuous"}
        How y was taken.
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn; ``classes_`` not for continuous targets.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from kdrbench.estimators import InterpretableKDRCV
    >>> X, y = load_wine(return_X_y=True)
    >>> InterpretableKDRCV(n_components=[1, 2, 3]).fit(X, y).n_components_
    2
    """

    n_components: Annotated[int | Sequence[int] | None, _COUNTS] = None
    _: KW_ONLY
    estimator: Annotated[InterpretableKDR | None, optional(Instance((InterpretableKDR,), "an InterpretableKDR"))] = None
    param_grid: Annotated[Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] | None, _GRID] = None
    scaler: Any = "standard"
    final_estimator: Any = None
    scoring: Any = None
    cv: Any = None
    n_jobs: Annotated[int | None, N_JOBS] = None
    random_state: Any = None
    verbose: Annotated[bool | int, VERBOSE] = False

    def fit(
        self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> InterpretableKDRCV:
        """Choose and learn from X (n_samples x n_features) and one column y of labels, or continuous targets.

        X may be sparse where ``estimator`` takes sparse samples. ``sample_weight`` are those of ``InterpretableKDR``;
        the scaler and the final estimator are fitted with them if they take any. Scores weigh test samples alike, as
        those of ``GridSearchCV`` do. ``groups`` are for ``cv``.

        Raises ``ValueError`` for bad parameters, NaN, input that the kernel cannot take, fewer than two classes,
        or if all candidates fail; warns with ``ConvergenceWarning`` where a solver ended before its tolerance.
        """
        check_parameters(self)
        # Metadata have been routed to this ``fit`` and go to steps by name; steps exchange arrays.
        with config_context(enable_metadata_routing=False, transform_output="default"):
            search = self._searched(X, y, sample_weight, groups)
        self.n_splits_, self.scorer_, self.best_index_ = search.n_splits_, search.scorer_, int(search.best_index_)
        self.cv_results_ = {name.replace(_PREFIX, ""): values for name, values in search.cv_results_.items()}
        self.cv_results_["params"] = [
            {name.removeprefix(_PREFIX): value for name, value in params.items()}
            for params in self.cv_results_["params"]
        ]
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.predictor_ = search.best_estimator_
        self.best_estimator_ = self.predictor_[:-1]
        reduction = self.predictor_["reduction"]
        self.components_, self.kernel_ = reduction.components_, reduction.kernel_
        self.n_components_ = len(self.components_)
        if hasattr(self, "feature_names_in_"):
            self._name_features(self.predictor_[0], reduction)
        for message in best_at_an_end(self.best_params_, self.cv_results_["params"], self.n_features_in_):
            warnings.warn(message, UserWarning, 2)
        return self

    def _name_features(self, scaler: Any, reduction: Any) -> None:
        """Give the names of a frame's columns to the fitted steps: all but a scaler of one's own have seen arrays."""
        if self.scaler is None or isinstance(self.scaler, str):
            (reduction if scaler == "passthrough" else scaler).feature_names_in_ = self.feature_names_in_
        with suppress(AttributeError):
            reduction._scaled_names = scaler.get_feature_names_out()

    def _searched(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Any:
        from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv

        rng = check_random_state(self.random_state)
        features, known, weights = self._checked(X, y, sample_weight)
        pipeline = self._pipeline(issparse(features), rng)
        candidates = self._candidates(pipeline, features, known)
        is_trial = self.param_grid is None and all(getattr(pipeline["reduction"], name) is None for name in _OPEN)
        trial = {f"{_PREFIX}{name}": value for name, value in _TRIAL.items()} if is_trial else {}
        folds = check_cv(self._splitter(pipeline, rng), known, classifier=is_classifier(pipeline))
        n_fits = len(ParameterGrid(candidates)) * folds.get_n_splits(features, known, groups)
        progress = CountProgress(f"{type(self).__name__}, n = {features.shape[0]}", n_fits, "fits begun")
        search = GridSearchCV(
            _counted(clone(pipeline).set_params(**trial), progress),
            candidates,
            scoring=self.scoring,
            cv=folds,
            refit=chosen_row,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        weighted = [name for name, step in pipeline.steps if has_fit_parameter(step, "sample_weight")]
        options = {} if weights is None else {f"{name}__sample_weight": weights for name in weighted}
        try:
            with warnings.catch_warnings():
                if is_trial:
                    warnings.simplefilter("ignore", ConvergenceWarning)
                search.fit(features, known, groups=groups, **options)
        except ValueError as error:
            if "fits failed" in str(error):
                # Raise the error of a fit alone.
                first = {name: values[0] for name, values in candidates[0].items()}
                clone(pipeline).set_params(**first).fit(features, known, **options)
            raise
        if is_trial:
            search.best_estimator_ = clone(pipeline).set_params(**search.best_params_)
            search.best_estimator_.fit(features, known, **options)
        return search

    def transform(self, X: Any) -> Any:
        """Return X, scaled, times W."""
        return self._of(X, lambda samples: self.best_estimator_.transform(samples))

    def inverse_transform(self, X: Any) -> Any:
        """Return the samples that are projected to these, the nearest to the mean, in the units of the features."""
        check_is_fitted(self)
        with config_context(transform_output="default"):
            return self.best_estimator_.inverse_transform(X)

    def loadings_frame(
        self, groups: Mapping[str, Sequence[str]] | None = None, *, feature_names: Sequence[str] | None = None
    ) -> Any:
        """Return W, of scaled features, as :meth:`InterpretableKDR.loadings_frame` does, with its errors."""
        check_is_fitted(self)
        frame = self.predictor_["reduction"].loadings_frame(groups, feature_names=feature_names)
        return frame.set_axis(self.get_feature_names_out(), axis=1)

    @available_if(partial(_predicts, "predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """Return what ``final_estimator`` predicts."""
        return self._of(X, lambda samples: self.predictor_.predict(samples))

    @available_if(partial(_predicts, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of ``classes_`` by ``final_estimator``."""
        return self._of(X, lambda samples: self.predictor_.predict_proba(samples))

    @available_if(_decides)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return how far ``final_estimator`` favours the second of two classes; of more classes, each of them.

        This is its ``decision_function``. Where it has only ``predict_proba`` p, it is p_1 - p_0, which is finite and
        ascends with the log-odds, and for more classes p. Scores by rank, such as ``roc_auc``, take it
        from scikit-learn 1.9 on.
        """
        return self._of(X, self._decision)

    def _decision(self, samples: Any) -> Any:
        if hasattr(self.predictor_, "decision_function"):
            return self.predictor_.decision_function(samples)
        shares = self.predictor_.predict_proba(samples)
        return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares

    def score(self, X: Any, y: Any) -> float:
        """Return the score by ``scoring`` of ``predictor_``, for cross validation around this estimator.

        Warns of classes that ``fit`` has not seen.
        """
        known = plain_values(y)
        if unseen := np.setdiff1d(known, self.classes_).tolist() if hasattr(self, "classes_") else []:
            warnings.warn(
                f"fit has seen no sample of the classes {unseen}, so that none is predicted right; scikit-learn does "
                "not stratify folds around this estimator by itself, so give cv=StratifiedKFold(5)",
                UserWarning,
                2,
            )
        return float(self._of(X, lambda samples: self.scorer_(self.predictor_, samples, known)))

    def _of(self, X: Any, function: Callable[[Any], Any]) -> Any:
        """Return what a function of the fitted pipelines, whose steps exchange arrays, makes of samples."""
        check_is_fitted(self)
        samples = validate_data(self, X, **self._columns_or(_SAMPLES, X), reset=False)
        # Names were compared just now.
        with config_context(transform_output="default"), columns_of_any_name():
            return function(samples)

    def _columns_or(self, checks: dict[str, Any], X: Any) -> dict[str, Any]:
        """Return how samples are checked: those of a frame are left for a ``scaler`` of one's own to read."""
        own = hasattr(X, "columns") and self.scaler is not None and not isinstance(self.scaler, str)
        return {"skip_check_array": True} if own else checks

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Return checked samples, targets and weights; sets ``target_type_``, and ``classes_`` of classes."""
        given = None if y is None else present_values(y)
        checks = self._columns_or({**_SAMPLES, "order": "C", "ensure_min_samples": 2}, X)
        if "skip_check_array" in checks:
            # A ``ColumnTransformer`` takes columns of any types by their names.
            known, features = validate_data(self, y=given), validate_data(self, X, **checks)
            check_consistent_length(features, known)
        else:
            features, known = validate_data(self, X, given, **checks)
        self.__dict__.pop("classes_", None)
        definitions = definitions_of(self._estimator)
        target = CONTINUOUS if definitions.is_continuous else self._estimator.target
        self.target_type_ = CONTINUOUS if is_continuous(known, target) else CLASSES
        if self.target_type_ == CLASSES:
            check_labels(known, "estimator=InterpretableKDR(target='continuous')")
            self.classes_ = np.unique(known)
        return features, known, checked_weights(sample_weight, features.shape[0], may_vanish=True)

    @property
    def _estimator(self) -> InterpretableKDR:
        estimator = InterpretableKDR() if self.estimator is None else self.estimator
        if estimator.paradigm != "supervised":
            raise InputError(
                f"{type(self).__name__} scores predictions of y, so its estimator must have paradigm 'supervised', got "
                f"{estimator.paradigm!r}"
            )
        return estimator

    def _pipeline(self, is_sparse: bool, rng: np.random.RandomState) -> Any:
        """Return the unfitted pipeline; its reduction is seeded where only this estimator has a ``random_state``."""
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import StandardScaler

        reduction, scaler, final_estimator = clone(self._estimator), self.scaler, self.final_estimator
        if reduction.random_state is None and self.random_state is not None:
            reduction.set_params(random_state=int(rng.randint(2**31)))
        # Part of the samples need not look like all of them.
        reduction.set_params(target=self.target_type_)
        scaler = "passthrough" if scaler is None else scaler
        if isinstance(scaler, str):
            check_value("scaler", scaler, OneOf(("standard", "passthrough")))
            # Centred, sparse samples would be dense.
            scaler = StandardScaler(with_mean=not is_sparse) if scaler == "standard" else scaler
        if final_estimator is None:
            final_estimator = KNeighborsClassifier() if hasattr(self, "classes_") else KNeighborsRegressor()
        steps = [("scaler", scaler), ("reduction", reduction), ("final_estimator", final_estimator)]
        return clone(Pipeline(steps))

    def _splitter(self, pipeline: Any, rng: np.random.RandomState) -> Any:
        from sklearn.model_selection import KFold, StratifiedKFold

        if self.random_state is None or not (self.cv is None or isinstance(self.cv, Integral)):
            return self.cv
        kind = StratifiedKFold if is_classifier(pipeline) else KFold
        return kind(_FOLDS if self.cv is None else self.cv, shuffle=True, random_state=rng.randint(2**31))

    def _candidates(self, pipeline: Any, features: Any, known: Any) -> list[dict[str, Any]]:
        """Return the grids that are searched; ``InputError`` for numbers of components that cannot be."""
        scaler, scaled = pipeline[0], features
        if scaler != "passthrough":
            with np.errstate(over="ignore", invalid="ignore"):
                scaled = clone(scaler).fit(features, known).transform(features)
        if not np.isfinite(scaled.data if issparse(scaled) else np.asarray(scaled)).all():
            raise InputError(
                f"samples with values of up to {abs(features).max():.2g} are not finite once scaled by {scaler}; "
                "change their unit"
            )
        n_classes = len(self.classes_) if hasattr(self, "classes_") else known[0].size
        n_components = components_tried(self.n_components, n_classes, scaled.shape[1])
        grids, template = self.param_grid, pipeline["reduction"]
        if grids is None:
            family = template.kernel if isinstance(template.kernel, str) else ""
            chosen = template.kernel_params or any(getattr(template, name) is not None for name in OF_KERNEL)
            grids = {} if chosen else _GRIDS.get(family, {})
        grids = [grids] if isinstance(grids, Mapping) else grids
        if any("n_components" in grid for grid in grids):
            raise InputError("param_grid must not hold n_components; give its candidates as n_components=[...]")
        grids = [{**grid, "n_components": n_components} for grid in grids]
        return [{f"{_PREFIX}{name}": values for name, values in grid.items()} for grid in grids]

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # Of its final estimator; whether y is classes is known by a fit.
        tags.classifier_tags = ClassifierTags()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        estimator = self.estimator if isinstance(self.estimator, InterpretableKDR) else InterpretableKDR()
        tags.input_tags.sparse = accepts_sparse(estimator)
        return tags


def _counted(pipeline: Any, progress: CountProgress) -> Any:
    """Return a pipeline for a search, which clones a clone of it for each fit: these are counted, and are plain."""
    cloned, given = clone(pipeline), clone(pipeline)
    # The search pickles what it was given.
    cloned.__sklearn_clone__ = partial(_plain_clone, pipeline, progress)
    given.__sklearn_clone__ = partial(copy, cloned)
    return given


def _plain_clone(pipeline: Any, progress: CountProgress) -> Any:
    progress.count()
    return clone(pipeline)


def best_at_an_end(best: Mapping[str, Any], tried: Sequence[Mapping[str, Any]], n_features: int) -> Iterator[str]:
    """Yield a sentence for each parameter whose best value is the smallest or largest of several.

    Compared are numbers, and shares of a bandwidth by one rule. Whole numbers end at 1, components at ``n_features``.
    """
    for name, value in best.items():
        rule, size = _rule_and_size(value)
        others = {_rule_and_size(params[name]) for params in tried if name in params}
        sizes = [other for kind, other in others if kind == rule]
        if not rule or len(sizes) < 2 or size not in (min(sizes), max(sizes)):
            continue
        largest = size == max(sizes)
        if (isinstance(value, Integral) and not largest and size == 1) or (name, size) == ("n_components", n_features):
            continue
        which, more = ("largest", "larger") if largest else ("smallest", "smaller")
        grid = "n_components=[...]" if name == "n_components" else f"param_grid={{{name!r}: [...]}}"
        yield f"the best {name}, {value!r}, is the {which} of its candidates; try {more} ones by {grid}"


def _rule_and_size(value: Any) -> tuple[str, float]:
    """Return "number" and a number, or the rule of a bandwidth and its share; no rule for others."""
    if isinstance(value, Real):
        return "number", float(value)
    share = _SHARE.fullmatch(value) if isinstance(value, str) else None
    return (share[2], float(share[1] or 1.0)) if share else ("", 0.0)


def components_tried(given: Any, n_classes: int, n_features: int) -> list[int]:
    """Return the candidates q, each once, ascending: those ``given``, or by the number of classes.

    Raises ``InputError`` for an empty list, and for what is no number of components.
    """
    if given is None:
        powers = [2**power for power in range(n_classes.bit_length()) if 2**power < n_classes]
        return sorted({min(count, n_features) for count in (*powers, n_classes, 2 * n_classes)})
    listed: list[Any] = list(np.atleast_1d(np.asarray(given, dtype=object)))
    for count in listed:
        check_value("n_components", count, whole(1, n_features, f"n_features = {n_features}"))
    if not listed:
        raise InputError("n_components must name at least one candidate, got an empty list")
    return sorted({int(count) for count in listed})


def chosen_row(results: Mapping[str, Any]) -> int:
    """Return the row of a grid search's results with the highest mean score; of equals that of fewest components.

    Raises ``InputError`` for scores that are all NaN.
    """
    mean, counts = results["mean_test_score"], results[f"param_{_PREFIX}n_components"].astype(int)
    if np.isnan(mean).all():
        raise InputError("all scores are NaN; give another scoring, or fewer folds")
    return int(np.lexsort((counts, -mean))[0])
