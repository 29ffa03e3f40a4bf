"""Interpretable kernel dimension reduction with its components and kernel chosen by cross validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from kdrbench.errors import InputError
from kdrbench.estimators.common import VERBOSE, check_classes
from kdrbench.estimators.cross_validation import (
    Given,
    chosen_row,
    components_tried,
    folds_of,
    in_words,
    params_tried,
    predictor_after,
    predictor_of,
    results_of,
    scaled_to,
    scaler_of,
    visited_paths,
    with_params,
)
from kdrbench.estimators.definitions import definitions_of
from kdrbench.estimators.fitting import N_JOBS
from kdrbench.estimators.inputs import accepts_sparse, checked_weights
from kdrbench.estimators.interpretable_kdr import InterpretableKDR
from kdrbench.parameters import FLAG, Declarations, Instance, check_parameters, optional
from kdrbench.progress import fit_progress

_SAMPLES: dict[str, Any] = {"dtype": (np.float64, np.float32), "accept_sparse": "csr"}


class InterpretableKDRCV(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """:class:`InterpretableKDR` with n_components and kernel parameters chosen by cross validation, from labels.

    In each fold the scaler, the kernel's bandwidth, the projection and ``final_estimator`` are fitted on its training
    samples alone, and scored on the others. Then scaler and projection are fitted on all samples with what was chosen.
    ``best_score_`` is the highest of many and so too high: judge the choice by cross validation around this estimator.

    Parameters
    ----------
    estimator : InterpretableKDR or None
        What is fitted, with the parameters that are not chosen; supervised. ``None``: the defaults.
    n_components : int, list of int or None
        Candidates q. ``None``: powers of two below the number C of classes, C, and 2 C; at most n_features.
    param_grid : dict, list of dicts or None
        Candidates of other parameters, as for ``GridSearchCV``: of ``estimator``, or options of its kernel such as
        ``{"sigma": ["median", 2.0]}``. ``None``: sigma of a Gaussian (1/4, 1/2, 1, 2 medians), the degree of a
        polynomial (1 to 3), nothing for other kernels; what ``estimator`` sets itself is kept.
    scaler : {"standard", "passthrough"} or transformer
        Fitted on the training samples of each fold: ``StandardScaler`` (of sparse samples without centring, which would
        make them dense), nothing, or a transformer.
    final_estimator : estimator or None
        Predicts from projected samples. ``None``: ``KNeighborsClassifier()``, for continuous targets
        ``KNeighborsRegressor()``.
    scoring : str, callable or None
        scikit-learn's name of a score, or ``scorer(pipeline, X, y)`` of fitted scaler, projection and final estimator.
        ``None``: accuracy, for continuous targets R^2.
    cv : int, splitter, iterable of splits or None
        Folds, stratified where y is classes; ``None``: 5.
    selection : {"best", "one_standard_error"} or callable
        Which candidate is taken: the highest mean score, and of equals the fewest components. Or the fewest
        components within one standard error of it: std / sqrt(folds) of the best, with folds - 1. Or
        ``selection(cv_results_)``, an index.
    warm_starts : bool
        Whether each q starts from the first rows that the next larger one found, unless F is higher where Phi_0
        starts. It takes fewer iterations; where there are several optima scores may differ. Between kernel
        parameters nothing is gained, and the last fit is always cold.
    n_jobs : int or None
        Folds that are fitted side by side; ``None`` is 1, -1 all cores.
    random_state : int, RandomState or None
        Shuffles samples where ``cv`` is a number or None; without it folds are taken in the order of samples. Seeds
        an ``estimator`` that has no ``random_state``.
    verbose : bool or int
        Whether lines on standard error say the score of each candidate, and between them how many fits are done, the
        best score so far and the time left.

    Attributes
    ----------
    best_estimator_, predictor_ : Pipeline
        Scaler and :class:`InterpretableKDR`, fitted on all samples; the same with ``final_estimator``.
    best_params_, best_score_, best_index_ : what was chosen, its mean score, and its row in ``cv_results_``.
    cv_results_ : dict of arrays
        As ``GridSearchCV`` has them: ``params``, ``param_...``, ``split0_test_score``, ..., ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``. Not times, since one fit starts where another ends, but
        ``mean_n_iter``, iterations of the solver.
    components_ : W' for scaled features, n_components_ x n_features.
    n_components_, n_splits_, kernel_, scorer_ : q, the number of folds, the kernel with its parameters, the scorer.
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn; ``classes_`` not for continuous targets.

    References
    ----------
    Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984 (one standard error).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from kdrbench.estimators import InterpretableKDRCV
    >>> X, y = load_wine(return_X_y=True)
    >>> InterpretableKDRCV(n_components=[1, 2, 3], selection="one_standard_error").fit(X, y).n_components_
    3
    """

    _constraints: ClassVar[Declarations] = {
        "estimator": optional(Instance((InterpretableKDR,), "an InterpretableKDR")),
        "n_components": optional(
            Instance((Integral, list, tuple, range, np.ndarray), "an integer or a list of integers")
        ),
        "param_grid": optional(Instance((Mapping, list, tuple), "a dict of lists, or a list of such dicts")),
        "warm_starts": FLAG,
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        estimator: InterpretableKDR | None = None,
        *,
        n_components: int | Sequence[int] | None = None,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None = None,
        scaler: Any = "standard",
        final_estimator: Any = None,
        scoring: str | Callable[..., float] | None = None,
        cv: Any = None,
        selection: str | Callable[[Mapping[str, Any]], int] = "best",
        warm_starts: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimator = estimator
        self.n_components = n_components
        self.param_grid = param_grid
        self.scaler = scaler
        self.final_estimator = final_estimator
        self.scoring = scoring
        self.cv = cv
        self.selection = selection
        self.warm_starts = warm_starts
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> InterpretableKDRCV:
        """Choose and learn from X (n_samples x n_features) and one column y of labels, or continuous targets.

        X may be sparse where ``estimator`` takes sparse samples. ``sample_weight`` are those of ``InterpretableKDR``;
        the scaler and the final estimator are fitted with them if they take any. Scores weigh test samples alike, as
        those of ``GridSearchCV`` do. ``groups`` are for ``cv``.

        Raises ``ValueError`` for bad parameters, NaN, input that the kernel cannot take, or fewer than two classes;
        warns with ``ConvergenceWarning`` where a solver ended before its tolerance.
        """
        check_parameters(self)
        rng = check_random_state(self.random_state)
        template = self._template(rng)
        given = self._given(template, X, y, sample_weight)
        folds = list(folds_of(self, given, predictor_of(self), groups, rng))
        self.n_splits_, self.scorer_ = len(folds), folds[0].scorer
        least = min(fold.train.features.shape[1] for fold in folds)
        n_classes = len(self.classes_) if hasattr(self, "classes_") else given.known[0].size
        n_components = components_tried(self.n_components, n_classes, least)
        paths = [{**one, "n_components": n_components} for one in params_tried(self.param_grid, template)]
        warm = self.warm_starts and template.start is None
        fits = len(paths) * len(folds) * len(n_components)
        with fit_progress(self, len(given.known), most=fits, unit="fit") as progress:
            visited = visited_paths(folds, template, paths, warm=warm, n_jobs=self.n_jobs, progress=progress)
            self.cv_results_ = results_of(paths, visited)
            self.best_index_ = chosen_row(self.cv_results_, self.selection, self.n_splits_)
            self.best_params_ = self.cv_results_["params"][self.best_index_]
            self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
            self._refit(template, given)
            if progress is not None:
                progress.outcome = f"chosen {in_words(self.best_params_)}, score {self.best_score_:.4g}"
        return self

    def transform(self, X: Any) -> Any:
        """Return X, scaled, times W."""
        check_is_fitted(self)
        return self.best_estimator_.transform(validate_data(self, X, **_SAMPLES, reset=False))

    def score(self, X: Any, y: Any) -> float:
        """Return the score by ``scoring`` of ``predictor_``, for cross validation around this estimator."""
        check_is_fitted(self)
        return float(self.scorer_(self.predictor_, validate_data(self, X, **_SAMPLES, reset=False), y))

    def _given(self, template: InterpretableKDR, X: Any, y: Any, sample_weight: Any) -> Given:
        """Return checked samples and weights; sets ``classes_`` unless y is continuous."""
        features, known = validate_data(self, X, y, **_SAMPLES, order="C", ensure_min_samples=2)
        self.__dict__.pop("classes_", None)
        # Whole numbers are targets, too, where the estimator says so.
        numbers = known.dtype.kind == "f" and type_of_target(known).startswith("continuous")
        if not (numbers or definitions_of(template).is_continuous):
            check_classes(known)
            self.classes_ = np.unique(known)
        return Given(features, known, checked_weights(sample_weight, features.shape[0], may_vanish=True))

    def _template(self, rng: np.random.RandomState) -> InterpretableKDR:
        """Return an unfitted copy of the estimator, seeded where only this one has a ``random_state``."""
        template = InterpretableKDR() if self.estimator is None else clone(self.estimator)
        if template.paradigm != "supervised":
            raise InputError(
                f"{type(self).__name__} scores predictions of y, so its estimator must have paradigm 'supervised', got "
                f"{template.paradigm!r}; a bandwidth for clusters is chosen by sigma = 'search'"
            )
        if template.random_state is None and self.random_state is not None:
            template.set_params(random_state=int(rng.randint(2**31)))
        return template

    def _refit(self, template: InterpretableKDR, given: Given) -> None:
        from sklearn.pipeline import Pipeline

        scaler = scaler_of(self.scaler, given.features)
        scaled = scaled_to(scaler, given)
        reduction = scaled.fit(with_params(template, self.best_params_))
        self.best_estimator_ = Pipeline([("scaler", scaler), ("reduction", reduction)])
        self.predictor_ = predictor_after(scaler, reduction, scaled, predictor_of(self))
        self.components_, self.kernel_ = reduction.components_, reduction.kernel_
        self.n_components_ = len(self.components_)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = accepts_sparse(InterpretableKDR() if self.estimator is None else self.estimator)
        return tags
