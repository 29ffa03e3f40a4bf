"""Low-rank kernel learning as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from kdrbench import lowrank
from kdrbench.errors import InputError
from kdrbench.estimators.common import LEAST_SPREAD, LabelledTransformer
from kdrbench.estimators.definitions import PRECOMPUTED, Count, Options, kernel_definition, pairwise_kernel
from kdrbench.estimators.targets import check_several
from kdrbench.kernels import Kernel, gram_matrix
from kdrbench.kernels.family import FloatArray, pairing_block
from kdrbench.parameters import (
    COUNT,
    FRACTION,
    POSITIVE,
    POSITIVE_OR_INFINITE,
    OneOf,
    check_parameters,
    check_value,
    optional,
    whole,
)


@dataclass(repr=False, eq=False)
class LowRankKernelLearner(LabelledTransformer):
    """Change a kernel as little as possible so that distances do what labels, or constraints, ask for.

    Solves min D(K, K0) over positive semidefinite K in the range of K0 under tr(K A_i) <=, >=, = b_i; see
    :func:`kdrbench.lowrank.learn_kernel`. Rows of the result G, K = G G', are the samples: Euclidean distances of
    transformed samples are the learned ones.

    Parameters
    ----------
    n_components : int or None
        Rank r of K0: its best approximation. ``None``: the features themselves for the linear kernel, else the whole
        kernel matrix.
    kernel : str or kernel
        K0: ``linear`` (uncentred), ``gaussian`` (``rbf``), ``polynomial`` (``poly``), or an object such as
        :class:`kdrbench.kernels.UserKernel`; positive semidefinite, and not a combination or ``rbf_relative``. With
        ``precomputed``, X is the kernel between samples and the training samples, n_samples x n_training_samples.
    kernel_params : dict or None
        Options of the family, as in :class:`kdrbench.estimators.InterpretableKDR`.
    divergence : {"burg", "von_neumann"}
        Which D.
    solver : {"newton", "cyclic"}
        The dual by Newton's method, for up to some thousand constraints, or the paper's cyclic projections.
    n_constraints : int
        Pairs drawn from the labels (all of them when there are fewer).
    change : float
        Pairs of one class shall come nearer by this share of their squared distance, others move apart by it.
    slack : float
        gamma > 0: what it costs to miss a bound. ``inf``: bounds are kept, and may then have no solution, which is
        warned of; constraints given to ``fit`` may then be of rank two as well.
    tol : float
        Tolerance of the duals' relative change and of the KKT residual.
    max_iter : int
        Most sweeps over all constraints, or Newton steps.
    random_state : int, RandomState or None
        Draws the pairs.

    Attributes
    ----------
    factor_map_ : ndarray of shape (r0, r)
        Maps rows of K0's factor to those of G; for the linear kernel without ``n_components``, features to G.
    result_ :
        :class:`kdrbench.lowrank.LearnedKernel`, with status, duals, certificates.
    constraints_, n_iter_ : those used, and sweeps.
    classes_ (where labels were used), n_features_in_, feature_names_in_ : as in scikit-learn.

    References
    ----------
    Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006.
    """

    n_components: Count = None
    _: KW_ONLY
    kernel: str | Kernel = "linear"
    kernel_params: Options = None
    divergence: Annotated[str, OneOf(tuple(sorted(lowrank.DIVERGENCES)))] = "burg"
    solver: Annotated[str, OneOf(tuple(sorted(lowrank.SOLVERS)))] = "newton"
    n_constraints: Annotated[int, COUNT] = 200
    change: Annotated[float, FRACTION] = 0.25
    slack: Annotated[float, POSITIVE_OR_INFINITE] = 1.0
    tol: Annotated[float, POSITIVE] = 1e-3
    max_iter: Annotated[int, COUNT] = 2000
    random_state: Any = None

    _way_out: ClassVar[str] = "learn from fewer samples, or take a linear kernel"
    _takes_matrices: ClassVar[bool] = True
    # Fourth powers of features, of which curvatures of the dual are made, are finite up to here.
    _spread: ClassVar[tuple[float, float]] = (LEAST_SPREAD, 1e75)

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, *, constraints: lowrank.Constraints | None = None) -> Self:
        """Learn from X (n_samples x n_features) and labels y, or ``constraints`` on the kernel of these samples.

        Raises ``ValueError`` for bad parameters, NaN or sparse input, fewer than two classes, or constraints that
        cannot hold alone or in pairs; warns with ``ConvergenceWarning`` unless the solver converged.
        """
        check_parameters(self)
        self.__dict__.pop("classes_", None)
        if constraints is None:
            features, labels = self._labelled(X, y)
            check_several(self.classes_)
            self._learn(features, labels)
        elif isinstance(constraints, lowrank.Constraints):
            features = validate_data(self, X, dtype=np.float64, order="C", ensure_min_samples=2)
            self._adapt(self._factor(self._samples(features, X)), constraints)
        else:
            raise InputError(f"constraints must be kdrbench.lowrank.Constraints, got {type(constraints).__name__}")
        if self.result_.status is not lowrank.LowRankStatus.CONVERGED:
            message = f"{self.solver} ended as {self.result_.status}: {self.result_.message}"
            warnings.warn(message, ConvergenceWarning, 2)
        return self

    def _learn(self, features: FloatArray, labels: NDArray[np.generic]) -> None:
        factor = self._factor(features)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        count = min(self.n_constraints, len(features) * (len(features) - 1) // 2)
        self._adapt(factor, lowrank.constraints_from_labels(factor, labels, count, rng, change=self.change))

    def _factor(self, features: FloatArray) -> FloatArray:
        """Return a factor G0 of K0, and set what maps samples to its rows: ``_kernel`` and ``_basis``."""
        self._kernel: Kernel | None = None
        self._basis: FloatArray | None = None
        if self._is_precomputed:
            if self.kernel_params:
                raise InputError(f"kernel_params are of a kernel that is computed; leave them out of {PRECOMPUTED!r}")
            return self._factor_of(features)
        definition = kernel_definition(self)
        if definition != {"family": "linear"}:
            self._kernel, self._training = pairwise_kernel(self, definition, features), features
            return self._factor_of(gram_matrix(self._kernel, features))
        if self.n_components is None:
            return features
        # A linear kernel needs no n x n array: G0 is X V, V the first right singular vectors.
        _, singular, right = np.linalg.svd(features, full_matrices=False)
        most = int((singular > singular[0] * max(features.shape) * np.finfo(float).eps).sum())
        check_value("n_components", self.n_components, optional(whole(1, most, f"the kernel's rank {most}")))
        self._basis = right[: self.n_components].T
        return np.ascontiguousarray(features @ self._basis)

    def _factor_of(self, matrix: FloatArray) -> FloatArray:
        factor = lowrank.factor_of(matrix, self.n_components)
        # k(x, .) V / sqrt(lambda) gives the rows of V sqrt(lambda) at the training samples.
        self._basis = factor / np.sum(factor**2, axis=0)
        return factor

    def _adapt(self, factor: FloatArray, constraints: lowrank.Constraints) -> None:
        self.constraints_ = constraints
        self.result_ = lowrank.learn_kernel(
            factor,
            constraints,
            divergence=self.divergence,
            solver=self.solver,
            slack=self.slack,
            stopping=lowrank.Stopping(self.tol, self.tol, self.max_iter),
        )
        self.n_iter_, self.factor_map_ = self.result_.sweeps, self.result_.factor_map
        self._n_features_out = self.factor_map_.shape[1]

    def _mapped(self, features: FloatArray) -> FloatArray:
        if self._kernel is not None:
            features = np.asarray(self._kernel.value(pairing_block(self._kernel.pairing, features, self._training)))
        return np.asarray((features if self._basis is None else features @ self._basis) @ self.factor_map_)

    def _needed(self, n_samples: int, n_features: int) -> float:
        linear = isinstance(self.kernel, str) and self.kernel == "linear" and not self.kernel_params
        return 48.0 * n_samples * (n_features if linear else n_samples)
