"""Classifiers to compare a learned projection with: a support vector machine, on all features or on fewer.

All share the support vector machine that also judges the solvers' projections, so that a difference of accuracies is
one of projections.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.baselines.contract import (
    BaselineTask,
    Classifier,
    check_components,
    check_labels,
    random_state,
)
from kdrbench.kernels import median_distance
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, POSITIVE, check_parameters


def support_vector_machine(penalty: float = 1.0) -> Any:
    """Return an unfitted SVM with K(x, z) = exp(-|x - z|^2 / m), m the number of features it is fitted on.

    ``penalty`` is C. With C = 1 the papers' classifier: scikit-learn's ``SVC`` with gamma ``auto``.
    """
    from sklearn.svm import SVC

    # It draws nothing, but without a seed it would take one from numpy's global generator.
    return SVC(kernel="rbf", C=penalty, gamma="auto", random_state=0)


@dataclass(frozen=True)
class SupportVectorMachine:
    """The SVM of :func:`support_vector_machine` on all features; the base of those on reduced ones.

    ``fit`` raises ``InputError`` unless features are finite, 1 <= q <= min(n, d), and labels name two classes.
    """

    penalty: Annotated[float, POSITIVE] = 1.0
    task: ClassVar[BaselineTask] = BaselineTask.CLASSIFICATION
    imports: ClassVar[tuple[str, ...]] = ("sklearn.pipeline", "sklearn.svm")

    def __post_init__(self) -> None:
        check_parameters(self, "baseline option")

    def fit(
        self, features: FloatArray, labels: NDArray[Any], n_components: int, rng: np.random.Generator
    ) -> Classifier:
        """Fit the reduction, and the SVM on what it leaves of the same samples."""
        from sklearn.pipeline import make_pipeline

        check_components(features, n_components)
        check_labels(features, labels)
        steps = self._reduction(features, labels, n_components, rng)
        fitted: Classifier = make_pipeline(*steps, support_vector_machine(self.penalty)).fit(features, labels)
        return fitted

    def _reduction(
        self, features: FloatArray, labels: NDArray[Any], n_components: int, rng: np.random.Generator
    ) -> list[Any]:
        """Return unfitted transformers of scikit-learn's; none here."""
        return []


@dataclass(frozen=True)
class DiscriminantSVM(SupportVectorMachine):
    """The SVM on the discriminant directions of LDA.

    With k classes they span at most k - 1 dimensions, so there are min(q, k - 1, d) of them. scikit-learn scales them
    so that the within-class covariance becomes the identity.
    """

    imports: ClassVar[tuple[str, ...]] = (*SupportVectorMachine.imports, "sklearn.discriminant_analysis")

    def _reduction(
        self, features: FloatArray, labels: NDArray[Any], n_components: int, rng: np.random.Generator
    ) -> list[Any]:
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        return [LinearDiscriminantAnalysis(n_components=min(n_components, len(np.unique(labels)) - 1))]


@dataclass(frozen=True)
class PrincipalComponentsSVM(SupportVectorMachine):
    """The SVM on the q leading principal components."""

    imports: ClassVar[tuple[str, ...]] = (*SupportVectorMachine.imports, "sklearn.decomposition")

    def _reduction(
        self, features: FloatArray, labels: NDArray[Any], n_components: int, rng: np.random.Generator
    ) -> list[Any]:
        from sklearn.decomposition import PCA

        return [PCA(n_components, random_state=random_state(rng))]


@dataclass(frozen=True)
class NeighbourhoodComponentsSVM(SupportVectorMachine):
    """The SVM on q neighbourhood components: the linear map that is best for stochastic nearest neighbours.

    It starts at LDA where q < k, else at PCA, and takes at most ``max_iterations`` steps of L-BFGS (scikit-learn's
    default); scikit-learn warns where that did not suffice.

    Source: Goldberger, Roweis, Hinton, Salakhutdinov, "Neighbourhood components analysis", NIPS 2004.
    """

    max_iterations: Annotated[int, COUNT] = 50
    imports: ClassVar[tuple[str, ...]] = (*SupportVectorMachine.imports, "sklearn.neighbors")

    def _reduction(
        self, features: FloatArray, labels: NDArray[Any], n_components: int, rng: np.random.Generator
    ) -> list[Any]:
        from sklearn.neighbors import NeighborhoodComponentsAnalysis

        return [
            NeighborhoodComponentsAnalysis(n_components, max_iter=self.max_iterations, random_state=random_state(rng))
        ]


@dataclass(frozen=True)
class KernelComponentsSVM(SupportVectorMachine):
    """The SVM on q kernel principal components of a Gaussian exp(-d^2 / (2 sigma^2)).

    sigma is the median distance of the training samples, :func:`kdrbench.kernels.median_distance`, which raises
    ``InputError`` when it is zero. Takes n x n memory.

    Source: Schoelkopf, Smola, Mueller, "Nonlinear component analysis as a kernel eigenvalue problem", Neural
    Computation 10, 1998.
    """

    imports: ClassVar[tuple[str, ...]] = (*SupportVectorMachine.imports, "sklearn.decomposition")

    def _reduction(
        self, features: FloatArray, labels: NDArray[Any], n_components: int, rng: np.random.Generator
    ) -> list[Any]:
        from sklearn.decomposition import KernelPCA

        gamma = 0.5 / median_distance(features) ** 2
        return [KernelPCA(n_components, kernel="rbf", gamma=gamma, random_state=random_state(rng))]


@dataclass(frozen=True)
class LinearDiscriminant:
    """LDA as a classifier: Gaussian classes with one covariance, of which the likeliest is predicted.

    ``n_components`` plays no part. It is this, not LDA and an SVM, that gives the error of ISM+'s Table 5 on Cancer.
    """

    task: ClassVar[BaselineTask] = BaselineTask.CLASSIFICATION
    imports: ClassVar[tuple[str, ...]] = ("sklearn.discriminant_analysis",)

    def fit(
        self, features: FloatArray, labels: NDArray[Any], n_components: int, rng: np.random.Generator
    ) -> Classifier:
        """Fit means and the covariance."""
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        check_components(features, n_components)
        check_labels(features, labels)
        fitted: Classifier = LinearDiscriminantAnalysis().fit(features, labels)
        return fitted
