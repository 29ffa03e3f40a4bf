"""Low-rank kernel learning as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from kdrbench import lowrank
from kdrbench.errors import InputError
from kdrbench.estimators.common import (
    LabelledTransformer,
    Samples,
    check_footprint,
    check_spread,
    warn_of_kernel_matrix,
)
from kdrbench.estimators.definitions import (
    PRECOMPUTED,
    Bandwidth,
    Count,
    Offset,
    Options,
    Positive,
    given_options,
    kernel_definition,
    pairwise_kernel,
)
from kdrbench.estimators.targets import present_values
from kdrbench.kernels import Kernel
from kdrbench.kernels.family import FloatArray, pairing_block, pairing_values
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

# Fourth powers of features, of which curvatures of the dual are made, are finite up to here.
_MOST_SPREAD = 1e75
# Parameters of learn_kernel with the same names.
_PASSED_ON = ("divergence", "solver", "slack", "compiled")


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
    sigma, gamma, degree, coef0, kernel_params :
        Of the kernel, as in :class:`kdrbench.estimators.InterpretableKDR`.
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
    compiled : True, False or "auto"
        Whether cyclic projections are machine code, which needs numba; ``auto``: where that pays.
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

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kdrbench.estimators import LowRankKernelLearner
    >>> X, y = load_wine(return_X_y=True)
    >>> LowRankKernelLearner(random_state=0).fit_transform(StandardScaler().fit_transform(X), y).shape
    (178, 13)
    """

    n_components: Count = None
    _: KW_ONLY
    kernel: str | Kernel = "linear"
    sigma: Bandwidth = None
    gamma: Positive = None
    degree: Count = None
    coef0: Offset = None
    kernel_params: Options = None
    divergence: Annotated[str, OneOf(tuple(sorted(lowrank.DIVERGENCES)))] = "burg"
    solver: Annotated[str, OneOf(tuple(sorted(lowrank.SOLVERS)))] = "newton"
    n_constraints: Annotated[int, COUNT] = 200
    change: Annotated[float, FRACTION] = 0.25
    slack: Annotated[float, POSITIVE_OR_INFINITE] = 1.0
    tol: Annotated[float, POSITIVE] = 1e-3
    max_iter: Annotated[int, COUNT] = 2000
    compiled: Annotated[bool | str, OneOf((True, False, "auto"))] = "auto"
    random_state: Any = None

    _way_out: ClassVar[str] = "learn from fewer samples, or take a linear kernel"

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, *, constraints: lowrank.Constraints | None = None) -> Self:
        """Learn from X (n_samples x n_features) and labels y, or ``constraints`` on the kernel of these samples.

        Raises ``ValueError`` for bad parameters, NaN or sparse input, fewer than two classes, or constraints that
        cannot hold alone or in pairs; warns with ``ConvergenceWarning`` unless the solver converged.
        """
        check_parameters(self)
        self.__dict__.pop("classes_", None)
        features, labels = self._validated(X, y if y is None else present_values(y), constraints)
        if np.may_share_memory(features, np.asarray(X)):
            features = features.copy()
        check_spread(self, features, _MOST_SPREAD)
        size = Samples(*features.shape)
        check_footprint(self, self._needed(size), size, self._way_out)
        self._learn(features, labels, constraints)
        if self.result_.status is not lowrank.LowRankStatus.CONVERGED:
            message = f"{self.solver} ended as {self.result_.status}: {self.result_.message}"
            warnings.warn(message, ConvergenceWarning, 2)
        return self

    def _learn(
        self, features: FloatArray, labels: NDArray[np.generic], constraints: lowrank.Constraints | None = None
    ) -> None:
        factor, self._rows = first_factor(self, features)
        if constraints is None:
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
            count = min(self.n_constraints, len(features) * (len(features) - 1) // 2)
            constraints = lowrank.constraints_from_labels(factor, labels, count, rng, change=self.change)
        self.constraints_ = constraints
        stopping = lowrank.Stopping(self.tol, self.tol, self.max_iter)
        options: dict[str, Any] = {name: getattr(self, name) for name in _PASSED_ON}
        self.result_ = lowrank.learn_kernel(factor, constraints, stopping=stopping, **options)
        self.n_iter_, self.factor_map_ = self.result_.sweeps, self.result_.factor_map

    def _mapped(self, features: FloatArray) -> FloatArray:
        return np.asarray(self._rows.of(features) @ self.factor_map_)

    def _needed(self, samples: Samples) -> float:
        linear = isinstance(self.kernel, str) and self.kernel == "linear" and not self.kernel_params
        return 48.0 * samples.n_samples * samples.n_features if linear else 64.0 * samples.n_samples**2

    def _validated(
        self, X: ArrayLike, y: ArrayLike | None, constraints: lowrank.Constraints | None
    ) -> tuple[FloatArray, Any]:
        if constraints is not None:
            if not isinstance(constraints, lowrank.Constraints):
                raise InputError(f"constraints must be kdrbench.lowrank.Constraints, got {type(constraints).__name__}")
            features = validate_data(self, X, dtype=np.float64, order="C", ensure_min_samples=2)
            warn_of_kernel_matrix(self, features)
            return features, None
        features, labels = self._checked(X, y)
        if len(self.classes_) < 2:
            raise InputError(f"labels must name at least 2 classes, got {len(self.classes_)} class: {self.classes_}")
        return features, labels

    @property
    def _n_features_out(self) -> int:
        return int(self.factor_map_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == PRECOMPUTED
        return tags


class FactorRows(NamedTuple):
    """What maps samples to the rows of a factor G0 of their kernel: k(x, .) V / sqrt(lambda), or x V of a linear one.

    Without ``kernel`` x itself is mapped: features, or the kernel between samples and those of the factor.
    """

    basis: FloatArray | None = None
    kernel: Kernel | None = None
    samples: FloatArray | None = None

    def of(self, features: FloatArray) -> FloatArray:
        """Return the rows of these samples."""
        if self.kernel is not None and self.samples is not None:
            features = np.asarray(self.kernel.value(pairing_block(self.kernel.pairing, features, self.samples)))
        return features if self.basis is None else features @ self.basis


def first_factor(estimator: Any, features: FloatArray) -> tuple[FloatArray, FactorRows]:
    """Return a factor G0 of the kernel that an estimator starts from, and what maps new samples to its rows.

    Raises ``InputError`` for a kernel that is not positive semidefinite, or has not the rank ``n_components``.
    """
    rank: int | None = estimator.n_components
    if estimator.kernel == PRECOMPUTED:
        if given := given_options(estimator):
            raise InputError(f"{given} is of a kernel that is computed; leave it out where kernel is {PRECOMPUTED!r}")
        factor = lowrank.factor_of(features, rank)
        return factor, FactorRows(factor / np.sum(factor**2, axis=0))
    definition = kernel_definition(estimator)
    if definition == {"family": "linear"}:
        # It needs no n x n array.
        return _linear_factor(features, rank)
    kernel = pairwise_kernel(estimator, definition, features)
    matrix = kernel.value(pairing_values(kernel.pairing, features))
    factor = lowrank.factor_of(0.5 * (matrix + matrix.T), rank)
    # k(x, .) V / sqrt(lambda) gives the rows of V sqrt(lambda) at the training samples.
    return factor, FactorRows(factor / np.sum(factor**2, axis=0), kernel, features)


def _linear_factor(features: FloatArray, rank: int | None) -> tuple[FloatArray, FactorRows]:
    """Return X, or X V with V the first right singular vectors."""
    if rank is None:
        return features, FactorRows()
    _, singular, right = np.linalg.svd(features, full_matrices=False)
    most = int((singular > singular[0] * max(features.shape) * np.finfo(float).eps).sum())
    check_value("n_components", rank, optional(whole(1, most, f"the kernel's rank {most}")))
    basis = right[:rank].T
    return np.ascontiguousarray(features @ basis), FactorRows(basis)
