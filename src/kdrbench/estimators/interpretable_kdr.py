"""Interpretable kernel dimension reduction as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kdrbench.errors import InputError, unknown_name
from kdrbench.kernels import build_kernel, check_definition
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import supervised_problem
from kdrbench.solvers import IterationMonitor, Status, build_solver, make_start, solve
from kdrbench.solvers.certificate import certify

_PARADIGMS = ("supervised",)


class InterpretableKDR(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Project features so that a kernel of the projection depends on the labels as much as possible.

    Solves max_W Tr(H Y Y' H K_XW) over W'W = I with K_ij = f(beta_ij), Y one-hot, the diagonal of K dropped. The
    features are taken as they are: scale them first, for instance by ``StandardScaler``.

    Parameters
    ----------
    n_components : int or None
        Number q of components, 1 <= q <= n_features; ``None`` for the number of classes, at most n_features.
    kernel : str
        Family: ``gaussian``, ``polynomial``, ``linear``, ``squared``, ``multiquadric`` or ``combination``.
    kernel_params : dict or None
        Options of the family, for instance ``{"sigma": 2.0}``; those left out have the family's defaults.
    paradigm : {"supervised"}
        What is learned from.
    solver : str
        ``ism_safeguarded`` (certified to first and second order) or another registered solver.
    start : {"surrogate", "identity", "random"}
        Starting point; ``random`` draws from ``random_state``.
    tol : float
        The solver's tolerance: relative stationarity, or for ``ism`` the change of the eigenvalues.
    max_iter : int
        Most iterations of the solver.
    random_state : int, RandomState or None
        Used by the random start alone.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows W'; the entries say how the original features combine.
    objective_ : float
        F(W) = Tr(Gamma K), the papers' cost with the opposite sign.
    n_iter_ : int
        Iterations of the solver.
    status_, certificate_, result_ :
        How the solver ended, what is proved of the solution, and the whole result. The certificate costs one
        surrogate, one gradient and some tens of Hessian-vector products on top of the solve.
    classes_ : ndarray
        The labels seen.
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

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: str = "gaussian",
        kernel_params: Mapping[str, Any] | None = None,
        paradigm: str = "supervised",
        solver: str = "ism_safeguarded",
        start: str = "surrogate",
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.paradigm = paradigm
        self.solver = solver
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> InterpretableKDR:
        """Learn the projection from X (n_samples x n_features) and class labels y (n_samples).

        Raises ``ValueError`` for bad parameters, NaN or sparse input, or fewer than two classes; warns with
        ``ConvergenceWarning`` when the solver ended before its tolerance.
        """
        if self.paradigm not in _PARADIGMS:
            raise InputError(unknown_name("paradigm", self.paradigm, list(_PARADIGMS)))
        features, labels = validate_data(self, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        n_components = self._resolve_n_components(features.shape[1])
        definition = {"family": self.kernel, **(self.kernel_params or {})}
        check_definition(definition)
        problem = supervised_problem(features, labels, build_kernel(definition, features, n_components))
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        start = make_start(self.start, problem, n_components, rng)
        solver = build_solver({"method": self.solver, "tolerance": self.tol, "max_iterations": self.max_iter})
        self.result_ = solve(solver, problem, start, IterationMonitor(self.max_iter))
        self.status_ = self.result_.status
        self.n_iter_ = self.result_.iterations
        self.components_ = self.result_.projection.T
        self.objective_ = problem.value(self.result_.projection)
        self.certificate_ = certify(problem.fresh(), self.result_.projection)
        if self.status_ is not Status.CONVERGED:
            warnings.warn(f"{self.solver} ended as {self.status_}: {self.result_.message}", ConvergenceWarning, 2)
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return X W, n_samples x n_components."""
        check_is_fitted(self)
        features = validate_data(self, X, dtype=np.float64, reset=False)
        projected: FloatArray = features @ self.components_.T
        return projected

    def _resolve_n_components(self, n_features: int) -> int:
        if self.n_components is None:
            return min(len(self.classes_), n_features)
        wanted = self.n_components
        if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer) or not 1 <= wanted <= n_features:
            raise InputError(
                f"n_components must be None or an integer between 1 and n_features = {n_features}, got {wanted!r}"
            )
        return int(wanted)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        return tags
