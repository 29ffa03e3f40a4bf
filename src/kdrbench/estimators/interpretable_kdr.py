"""Interpretable kernel dimension reduction as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kdrbench.estimators.common import N_JOBS, evaluation_of, exactly, kernel_of, known_samples, starting_points
from kdrbench.kernels import Combination, Kernel, resolve_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import Task, build_task, learn_from_all
from kdrbench.paradigms.bandwidth import doubts, searched_bandwidth
from kdrbench.parameters import (
    COUNT,
    OPTIONS,
    POSITIVE,
    Declarations,
    Either,
    OneOf,
    check_parameters,
    check_value,
    optional,
    whole,
)
from kdrbench.solvers import IterationMonitor, Status, eigengap_components, seeded_solver
from kdrbench.solvers.geometry.certificate import certify

# One start is known to end in poor alternatives; elsewhere it is that of Phi_0.
_DEFAULT_STARTS = {"alternative": ("multistart", 4)}
_RULES = OneOf(("n_classes", "eigengap"))


class InterpretableKDR(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Project features so that a kernel of the projection says as much as possible about labels or clusters.

    Solves max_W Tr(Gamma K_XW) over W'W = I with K_ij = f(beta_ij), the diagonal of K dropped; for class labels
    Gamma = H Y Y' H with Y one-hot. The features are taken as they are: scale them first, for instance by
    ``StandardScaler``.

    Parameters
    ----------
    n_components : int, {"n_classes", "eigengap"} or None
        Number q of components, 1 <= q <= n_features. ``n_classes`` (or ``None``): the number of classes, clusters or
        continuous target columns, at most n_features. ``eigengap``: the largest gap in the spectrum of Phi_0.
    kernel : str or kernel
        Family: ``gaussian``, ``polynomial``, ``linear``, ``squared``, ``multiquadric``, ``rbf_relative`` or
        ``combination``; or an object such as :class:`kdrbench.kernels.UserKernel`.
    kernel_params : dict or None
        Options of the family, for instance ``{"sigma": 2.0}`` or ``{"sigma": "0.1 median"}``; those left out have the
        family's defaults. ``{"sigma": "search"}`` chooses a Gaussian's bandwidth for clusters
        (:mod:`kdrbench.paradigms.bandwidth`), which takes sixty alternations and needs no ``start``. A
        combination's ``{"members": [...], "weights": "alignment"}`` learns its weights from the labels.
    paradigm : {"supervised", "unsupervised", "semi_supervised", "alternative"}
        What is learned from: y holds class labels (one column or several) or continuous targets; nothing; expert
        scores; or labellings that the clusters shall differ from.
    paradigm_params : dict or None
        Supervised: ``target_kernel`` for continuous y. The others: ``n_clusters``, ``mu``, and ``degrees``,
        ``centred``, ``rule``, ``tolerance``, ``max_rounds`` of :class:`kdrbench.paradigms.Alternation`.
    solver : str or dict
        ``ism_safeguarded`` (certified to first and second order) or another registered solver; a dict with options:
        ``{"method": "ism_safeguarded", "portfolio": 20}`` chooses the best of twenty starts.
    start : {"surrogate", "identity", "random", "multistart"}, array of shape (n_components, n_features) or None
        Starting point: eigenvectors of Phi_0, the first axes, a draw from ``random_state``, the best of ``n_init``
        starts (Phi_0's and random ones), or orthonormal rows such as the ``components_`` of another fit. ``None`` is
        ``surrogate``, and for ``alternative`` the best of four starts.
    n_init : int
        Number of starts of ``multistart``.
    tol : float
        The solver's tolerance: relative stationarity, or for ``ism`` the change of the eigenvalues.
    max_iter : int
        Most iterations of the solver, in each round of a clustering.
    random_state : int, RandomState or None
        Used by random starts and portfolios alone.
    evaluation : dict or None
        How the kernel's sums may be evaluated (:class:`kdrbench.evaluation.Evaluation`): ``evaluator``, ``tolerance``
        (0: exact; 1e-3 makes large Gaussian problems quick), ``memory_mib``. With a tolerance the solver's problem is
        approximate; ``objective_`` and ``certificate_`` are exact all the same, for one pass or two over all pairs.
    n_jobs : int or None
        Threads that work side by side; ``None`` is 1, -1 all cores. Results differ by rounding only.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows W'; the entries say how the original features combine.
    objective_ : float
        F(W) = Tr(Gamma K), the papers' cost with the opposite sign.
    n_iter_ : int
        Iterations of the solver, over all rounds of a clustering.
    status_, certificate_, result_ :
        How the solver ended, what is proved of the solution, and the whole result (``result_.evaluation`` says how the
        problem was evaluated, and why). The certificate costs one surrogate, one gradient and one Hessian (or up to
        some hundreds of its products) on top of the solve. For a clustering it is about the problem of the last round.
    labels_, embedding_, history_ :
        Clusters of the samples, the spectral embedding they come from (n_samples x n_clusters), and the objective
        after each round, as evaluated; clustering paradigms only.
    kernel_ :
        The kernel with its bandwidth or weights.
    classes_ : ndarray
        The labels seen (one column of labels only).
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    References
    ----------
    Wu, Miller, Chang, Sznaier, Dy, "Solving Interpretable Kernel Dimensionality Reduction", NeurIPS 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kdrbench.estimators import InterpretableKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> model = InterpretableKDR(n_components=4).fit(StandardScaler().fit_transform(X), y)
    >>> round(-model.objective_, 2)
    -1628.14
    """

    _constraints: ClassVar[Declarations] = {
        "kernel_params": optional(OPTIONS),
        "paradigm_params": optional(OPTIONS),
        "n_init": COUNT,
        "tol": POSITIVE,
        "max_iter": COUNT,
        "evaluation": optional(OPTIONS),
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        kernel: str | Kernel | Combination = "gaussian",
        kernel_params: Mapping[str, Any] | None = None,
        paradigm: str = "supervised",
        paradigm_params: Mapping[str, Any] | None = None,
        solver: str | Mapping[str, Any] = "ism_safeguarded",
        start: str | ArrayLike | None = None,
        n_init: int = 10,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        evaluation: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.paradigm = paradigm
        self.paradigm_params = paradigm_params
        self.solver = solver
        self.start = start
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.evaluation = evaluation
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> InterpretableKDR:
        """Learn the projection from X (n_samples x n_features) and y, whose meaning is the paradigm's.

        Raises ``ValueError`` for bad parameters, NaN or sparse input, or fewer than two classes; warns with
        ``ConvergenceWarning`` when the solver ended before its tolerance.
        """
        check_parameters(self)
        for fitted in ("classes_", "labels_", "embedding_", "history_"):
            # Attributes of another paradigm's fit.
            self.__dict__.pop(fitted, None)
        continuous = (self.paradigm_params or {}).get("target_kernel") is not None
        features, known = known_samples(self, X, y, self.paradigm, continuous=continuous)
        evaluation = evaluation_of(self.evaluation, self.n_jobs)
        task = build_task(self.paradigm, self.paradigm_params or {}, features, known, evaluation=evaluation)
        n_components = self._resolve_n_components(task, features)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        solver = seeded_solver(self.solver, rng, tolerance=self.tol, max_iterations=self.max_iter)
        monitor = partial(IterationMonitor, self.max_iter)
        if self._searches:
            found = searched_bandwidth(task, solver, n_components, monitor, rng)
            self.kernel_, starts = found.kernel, iter([found.projection])
        else:
            self.kernel_ = self._kernel(task, features, n_components)
            default = _DEFAULT_STARTS.get(self.paradigm, ("surrogate", 1))
            chosen = default if self.start is None else (self.start, self.n_init)
            starts = starting_points(*chosen, task.first_problem(self.kernel_), n_components, rng)
        outcomes = learn_from_all(task, self.kernel_, solver, starts, monitor)
        learned = exactly(outcomes[0])
        self.result_ = learned.result
        self.status_ = learned.status
        self.n_iter_ = learned.iterations
        self.components_ = learned.projection.T
        self.objective_ = learned.objective
        self.certificate_ = certify(learned.problem.fresh(), learned.projection)
        if learned.clustering is not None:
            self.labels_ = learned.clustering.labels
            self.embedding_ = learned.clustering.embedding
            self.history_ = np.array([round_.objective for round_ in learned.clustering.rounds])
        if self.status_ is not Status.CONVERGED:
            warnings.warn(f"{self.solver} ended as {self.status_}: {learned.message}", ConvergenceWarning, 2)
        if self.paradigm == "alternative":
            for doubt in doubts(task, self.kernel_, outcomes, searched=self._searches):
                warnings.warn(doubt, UserWarning, 2)
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return X W, n_samples x n_components."""
        check_is_fitted(self)
        features = validate_data(self, X, dtype=np.float64, reset=False)
        projected: FloatArray = features @ self.components_.T
        return projected

    @property
    def _searches(self) -> bool:
        return self.kernel == "gaussian" and (self.kernel_params or {}).get("sigma") == "search"

    def _resolve_n_components(self, task: Task, features: FloatArray) -> int:
        n_features, wanted = features.shape[1], self.n_components
        if wanted is None or wanted == "n_classes":
            return int(min(task.n_classes, n_features))
        if wanted == "eigengap":
            # A kernel may depend on q; for the spectrum of Phi_0 it is taken as the number of classes.
            kernel = self._kernel(task, features, min(task.n_classes, n_features))
            return eigengap_components(task.first_problem(kernel).initial_surrogate())
        count = whole(1, n_features, f"n_features = {n_features}")
        check_value("n_components", wanted, Either((_RULES, count), or_none=True))
        return int(wanted)

    def _kernel(self, task: Task, features: FloatArray, n_components: int) -> Kernel | Combination:
        options = {**(self.kernel_params or {}), "sigma": "median"} if self._searches else self.kernel_params
        kernel = kernel_of(self.kernel, options)
        return resolve_kernel(kernel, features, n_components, task.alignment_target)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.paradigm != "unsupervised"
        tags.target_tags.one_d_labels = True
        tags.target_tags.two_d_labels = True
        return tags
