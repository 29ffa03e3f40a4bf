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
from sklearn.utils.validation import check_is_fitted

from kdrbench.blas import one_blas_thread
from kdrbench.estimators.fitting import (
    N_JOBS,
    certificate_of,
    components_of,
    evaluation_of,
    exactly,
    resolved_kernel,
    starting_points,
)
from kdrbench.estimators.footprints import check_projection_footprint
from kdrbench.estimators.inputs import known_samples, projected
from kdrbench.kernels import Combination, Kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import Task, build_task, learn_from_all
from kdrbench.paradigms.bandwidth import doubts, searched_bandwidth
from kdrbench.parameters import COUNT, OPTIONS, POSITIVE, Declarations, check_parameters, optional
from kdrbench.samples import Samples
from kdrbench.solvers import IterationMonitor, Status, seeded_solver
from kdrbench.solvers.geometry.certificate import Certificate

# One start is known to end in poor alternatives; elsewhere it is that of Phi_0.
_DEFAULT_STARTS = {"alternative": ("multistart", 4)}


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
        family's defaults. The median distance is exact up to 5000 samples and beyond within some 1e-4, unless
        ``"exact median"`` is asked for. ``{"sigma": "search"}`` chooses a Gaussian's bandwidth for clusters
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
        starts (Phi_0's and random ones), or orthonormal rows such as another fit's ``components_``. ``None`` is
        ``surrogate``, and for ``alternative`` the best of four starts.
    n_init : int
        Number of starts of ``multistart``.
    tol : float
        The solver's tolerance: relative stationarity, or for ``ism`` the change of the eigenvalues.
    max_iter : int
        Most iterations of the solver, in each round of a clustering.
    random_state : int, RandomState or None
        Used by random starts and portfolios. An integer also deals the groups that estimate a median.
    evaluation : dict or None
        How the kernel's sums may be evaluated (:class:`kdrbench.evaluation.Evaluation`): ``evaluator``, ``tolerance``
        (0: exact; 1e-3 is quick for large Gaussian problems, and the default to cluster 2000 samples by eigenvalues),
        ``memory_mib``, ``scheduler`` (of a Dask cluster). ``objective_`` and ``certificate_`` are exact all the same.
    n_jobs : int or None
        Threads that work side by side; ``None`` is 1, -1 all cores.

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
        problem was evaluated, and why). For a clustering the certificate is about the problem of the last round. It is
        computed when first asked for (or pickled) where it costs as much as a solve: q (d - q) > 400, unless the kernel
        is linear or squared. Until then the model holds the features, which must not be changed.
    labels_, embedding_, history_ :
        Of clusterings: the clusters, their spectral embedding (n_samples x n_clusters), the objective of each round.
    kernel_ :
        The kernel with its bandwidth or weights; an ``EstimatedGaussian`` has the standard error of its bandwidth.
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

    def fit(self, X: Any, y: Any = None) -> InterpretableKDR:
        """Learn the projection from X (n_samples x n_features) and y, whose meaning is the paradigm's.

        X may be larger than memory: see :func:`kdrbench.samples.samples_of`. A tensor X stays on its device, and sums
        over samples are taken there, in float64, without ``n_jobs``; supervised learning only, with y anywhere.

        Raises ``ValueError`` for bad parameters, NaN or sparse input, or fewer than two classes; warns with
        ``ConvergenceWarning`` when the solver ended before its tolerance.
        """
        check_parameters(self)
        # Threads of BLAS would wait for those of ``n_jobs``, or for other processes.
        with one_blas_thread():
            self._learn(X, y)
        return self

    def _learn(self, X: Any, y: Any) -> None:
        for fitted in ("classes_", "labels_", "embedding_", "history_"):
            # Attributes of another paradigm's fit.
            self.__dict__.pop(fitted, None)
        features, known = known_samples(self, X, y)
        evaluation = evaluation_of(self.evaluation, self.n_jobs, (self, features.shape[0]))
        check_projection_footprint(self, features, evaluation.evaluator)
        task = build_task(self.paradigm, self.paradigm_params or {}, features, known, evaluation=evaluation)
        n_components = components_of(self.n_components, task, features.shape[1], partial(self._kernel, task, features))
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
        best, compared = learn_from_all(task, self.kernel_, solver, starts, monitor)
        learned = exactly(best)
        self.result_ = learned.result
        self.status_ = learned.status
        self.n_iter_ = learned.iterations
        self.components_ = learned.projection.T
        self.objective_ = learned.objective
        self._certificate = certificate_of(learned)
        if learned.clustering is not None:
            self.labels_ = learned.clustering.labels
            self.embedding_ = learned.clustering.embedding
            self.history_ = np.array([round_.objective for round_ in learned.clustering.rounds])
        if self.status_ is not Status.CONVERGED:
            warnings.warn(f"{self.solver} ended as {self.status_}: {learned.message}", ConvergenceWarning, 3)
        if self.paradigm == "alternative":
            for doubt in doubts(task, self.kernel_, learned, compared, searched=self._searches):
                warnings.warn(doubt, UserWarning, 3)

    @property
    def certificate_(self) -> Certificate:
        """What is proved of the solution; ``ValueError`` if the features were changed before it was first asked for."""
        check_is_fitted(self)
        return self._certificate if isinstance(self._certificate, Certificate) else self._certificate.get()

    def transform(self, X: Any) -> Any:
        """Return X W: of a Dask array a lazy one, of chunks a generator, of a tensor one on its device."""
        check_is_fitted(self)
        with one_blas_thread():
            return projected(self, X, self.components_)

    @property
    def _searches(self) -> bool:
        return self.kernel == "gaussian" and (self.kernel_params or {}).get("sigma") == "search"

    def _kernel(self, task: Task, features: FloatArray | Samples, n_components: int) -> Kernel | Combination:
        options = {**(self.kernel_params or {}), "sigma": "median"} if self._searches else self.kernel_params
        return resolved_kernel(self, options, features, n_components, task)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.paradigm != "unsupervised"
        tags.target_tags.one_d_labels = tags.target_tags.two_d_labels = True
        return tags
