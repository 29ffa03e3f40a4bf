"""The KPCA trick around any metric learner, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from kdrbench import metric_learning
from kdrbench.errors import InputError
from kdrbench.estimators.common import LabelledTransformer, TransformerMap
from kdrbench.estimators.definitions import KERNEL_ALIASES, PRECOMPUTED, Options, kernel_definition, pairwise_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import (
    AnyKernel,
    Learner,
    SamplePairs,
    aligned_kernel,
    build_learner,
    cross_validated_kernel,
    drawn_landmarks,
    fit_on_landmarks,
    gaussian_grid,
    polynomial_grid,
    scaled_gaussian,
)
from kdrbench.metric_learning.kernel_pca import COMPONENTS, components_kept
from kdrbench.parameters import Either, Instance, OneOf, check_names, optional, whole

_SELECTIONS = ("centred_alignment", "alignment", "cross_validation")
# Up to here ``auto`` takes all samples; beyond, this number of landmarks.
_WITHOUT_LANDMARKS, _LANDMARKS = 5000, 2000
# Arrays of n x n that KPCA and the learner hold at once, for some components and for all.
_SOME_COMPONENTS, _ALL_COMPONENTS = 4.5, 12.0
_DEFAULTS = {"polynomial": {"degree": 2, "offset": 1.0, "scale": 1.0}}


@dataclass(repr=False, eq=False)
class KPCATrick(LabelledTransformer):
    """The kernel version of any metric learner: kernel NCA, kernel LMNN, kernel DNE, and those of others.

    By the KPCA trick: the learner's linear map A of the coordinates z(x) of feature vectors. ``transform`` gives
    A'z(x), n_samples x d, whose Euclidean distances are the learned ones, for instance for ``KNeighborsClassifier``.
    The features are taken as they are. ``fit`` raises ``ValueError`` for a kernel that is not positive semidefinite,
    and before it begins where its n x n arrays would not fit in memory.

    Parameters
    ----------
    learner : {"nca", "lmnn", "dne"}, transformer or learner
        A name; a scikit-learn transformer that maps linearly, such as :class:`kdrbench.estimators.LMNN`,
        ``LinearDiscriminantAnalysis`` or those of other packages, whose parameters a search reaches as
        ``learner__...``; or an object whose ``fit(features, labels)`` returns the map (D x d).
    learner_params : dict or None
        Options of a named learner, for instance ``{"n_neighbors": 5}``.
    kernel : str, kernel or callable
        ``gaussian`` (``rbf``) is exp(-|x - y|^2 / (2 n_features sigma^2)), ``polynomial`` (``poly``)
        (scale x'y + offset)^degree; further names as in ``InterpretableKDR``. With ``precomputed``, X is the kernel
        between samples and the training samples. A function takes two arrays of samples and returns their kernel.
    kernel_params : dict or None
        Options of a named kernel that is taken as it is (``selection=None``): ``sigma`` (1.0) in units of the root of
        n_features, as in the paper; or ``degree`` (2), ``offset`` (1) and ``scale`` (1).
    selection : {"centred_alignment", "alignment", "cross_validation"} or None
        How the kernel is chosen from the labels among ``candidates``: as their combination that is most aligned with
        them (one quadratic program; the paper's), the same with kernels centred first (the default: about as accurate,
        and better where classes have many clusters), or as the one with the best accuracy of the nearest neighbour
        (slower by the number of candidates times ``n_folds``). ``None`` takes ``kernel`` as it is.
    candidates : list of kernels or None
        ``None``: 21 Gaussians with sigma from 0.01 to 1000, or polynomials of degree 1 to 5, as ``kernel`` says.
    n_components : int, "auto" or None
        Number of largest KPCA components to learn on. ``None`` keeps all, ``auto`` all for at most 1000 samples; beyond
        those that hold 99 % of the variance in the feature space, and at most 100. Fewer are quicker, with another
        result; ``explained_`` says what they hold.
    n_landmarks : int, "auto" or None
        Samples, drawn with the classes' shares, to whose span feature vectors are projected (the Nystroem method), and
        on which the kernel is selected. ``None`` takes all samples, with arrays of n x n; ``auto`` all of at most 5000,
        and 2000 of more. ``explained_`` says what is lost.
    n_folds : int
        Folds of the cross validation.
    random_state : int, RandomState or None
        Shuffles samples before they are dealt to folds, and draws landmarks, the same for every fit with ``None``.

    Attributes
    ----------
    kernel_ :
        The kernel used; ``None`` for a precomputed one.
    map_ : kdrbench.metric_learning.KernelMap
        KPCA and the learned map; its ``samples`` are the landmarks where there are any.
    explained_ : float
        Share of the variance of feature vectors that the components hold; 1 where all are kept. With landmarks a lower
        bound of it.
    classes_ : the labels seen.
    selection_ :
        :class:`kdrbench.metric_learning.Alignment`, or accuracies (candidates x folds); ``None`` without selection.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    References
    ----------
    Chatpatanasiri, Korsrilabutr, Tangchanachaianan, Kijsirikul, "A new kernelization framework for Mahalanobis distance
    learning algorithms", Neurocomputing 73, 2010.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from kdrbench.estimators import KPCATrick
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = make_pipeline(KPCATrick("lmnn"), KNeighborsClassifier(1)).fit(X[:100], y[:100])
    >>> bool(model.score(X[100:], y[100:]) > 0.95)
    True
    """

    learner: str | Learner | BaseEstimator = "lmnn"
    _: KW_ONLY
    learner_params: Options = None
    kernel: str | AnyKernel = "gaussian"
    kernel_params: Options = None
    selection: Annotated[str | None, optional(OneOf(_SELECTIONS))] = "centred_alignment"
    candidates: Annotated[Sequence[AnyKernel] | None, optional(Instance((list, tuple), "a list of kernels"))] = None
    n_components: Annotated[int | str | None, COMPONENTS] = "auto"
    n_landmarks: Annotated[int | str | None, Either((OneOf(("auto",)), whole(2)), or_none=True)] = "auto"
    n_folds: Annotated[int, whole(2)] = 5
    random_state: Any = None

    _takes_matrices: ClassVar[bool] = True
    _way_out: ClassVar[str] = "learn from fewer samples, or use the learner without a kernel"

    def _needed(self, n_samples: int, n_features: int) -> float:
        if count := self._landmark_count(n_samples):
            return 8.0 * (_ALL_COMPONENTS * count**2 + n_samples * (n_features + 4.0 * min(count, 100)))
        kept = components_kept(n_samples, self.n_components)
        arrays = _ALL_COMPONENTS if kept is None else _SOME_COMPONENTS
        # Distances, or products, are shared by the kernels of a cross validation.
        return 8.0 * n_samples**2 * (arrays + (self.selection == "cross_validation"))

    def _landmark_count(self, n_samples: int) -> int | None:
        """Return how many landmarks a fit draws; ``None`` where it takes all samples."""
        if self.n_landmarks != "auto":
            return cast("int | None", self.n_landmarks)
        return _LANDMARKS if n_samples > _WITHOUT_LANDMARKS and not self._is_precomputed else None

    def _drawn(self, labels: NDArray[np.generic]) -> NDArray[np.intp] | None:
        """Return the numbers of the landmarks among the samples, if there are to be some."""
        if (count := self._landmark_count(len(labels))) is None:
            return None
        if self._is_precomputed:
            raise InputError("a precomputed kernel is between all samples: leave n_landmarks at None or 'auto'")
        seed = 0 if self.random_state is None else check_random_state(self.random_state).randint(2**31)
        return drawn_landmarks(labels, count, np.random.default_rng(seed))

    def _learn(self, features: FloatArray, labels: NDArray[np.generic]) -> None:
        learner, chosen = self._learner(), self._drawn(labels)
        self.selection_: Any = None
        if self._is_precomputed:
            if self.selection is not None or self.candidates is not None or self.kernel_params:
                raise InputError(
                    "a precomputed kernel leaves nothing to select: set selection=None, without candidates or "
                    "parameters of a kernel"
                )
            kernel: str | AnyKernel = PRECOMPUTED
        elif self.selection is None:
            kernel = self._given(features)
        else:
            seen = slice(None) if chosen is None else chosen
            kernel, self.selection_ = self._selected(learner, features[seen], labels[seen])
        self.kernel_ = None if isinstance(kernel, str) else kernel
        if chosen is None or isinstance(kernel, str):
            self.map_ = metric_learning.KPCATrick(kernel, learner, self.n_components).fit(features, labels)
        else:
            self.map_ = fit_on_landmarks(kernel, learner, features, labels, features[chosen], self.n_components)
        self.explained_ = self.map_.coordinates.explained
        self._n_features_out = self.map_.projection.shape[1]

    def _mapped(self, features: FloatArray) -> FloatArray:
        return self.map_.transform(features)

    def _learner(self) -> Learner:
        given = self.learner_params or {}
        if isinstance(self.learner, BaseEstimator):
            if given:
                raise InputError("learner_params belong to a learner's name; an estimator has its own")
            return TransformerMap(self.learner)
        # Estimators have scikit-learn's spelling.
        options = {"n_neighbours" if name == "n_neighbors" else name: value for name, value in given.items()}
        return build_learner(self.learner, options)

    def _given(self, features: FloatArray) -> AnyKernel:
        if self.candidates is not None:
            raise InputError("candidates are for a selection; selection is None")
        definition = kernel_definition(self)
        if not isinstance(definition, Mapping):
            return cast("AnyKernel", definition)
        family = definition["family"]
        if family == "gaussian" and not isinstance(definition.get("sigma", 1.0), str):
            check_names("option of kernel 'gaussian':", definition, ("family", "sigma"))
            return scaled_gaussian(definition.get("sigma", 1.0), features.shape[1])
        return pairwise_kernel(self, {**_DEFAULTS.get(family, {}), **definition}, features)

    def _selected(self, learner: Learner, features: FloatArray, labels: NDArray[np.generic]) -> tuple[AnyKernel, Any]:
        if self.kernel_params:
            raise InputError("kernel_params are those of one kernel, and selection chooses it; set selection=None")
        pairs, candidates = SamplePairs(features, features), self._candidates(features.shape[1])
        if self.selection != "cross_validation":
            centred = self.selection == "centred_alignment"
            return aligned_kernel(candidates, pairs, labels, centred=centred)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        return cross_validated_kernel(candidates, learner, pairs, labels, rng, n_folds=self.n_folds)

    def _candidates(self, n_features: int) -> Sequence[AnyKernel]:
        if self.candidates is not None:
            return self.candidates
        family = KERNEL_ALIASES.get(self.kernel, self.kernel) if isinstance(self.kernel, str) else None
        if family == "gaussian":
            return gaussian_grid(n_features)
        if family == "polynomial":
            return polynomial_grid()
        raise InputError(
            f"selection needs candidates where the kernel is {self.kernel!r}; give a list of kernels, or selection=None"
        )
