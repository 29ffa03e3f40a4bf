"""Baselines: support vector machines on all features or fewer, spectral clustering, and label spreading.

All classifiers share the support vector machine that also judges the solvers' projections, so that a difference of
accuracies is one of projections.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.baselines.contract import BaselineTask, check_clusters, check_components, check_labels, random_state
from kdrbench.evaluation.gram import DenseGram
from kdrbench.kernels import Gaussian, gram_matrix, median_distance
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import cluster_rows, degree_scaling, spectral_embedding
from kdrbench.parameters import COUNT, FLAG, FRACTION, POSITIVE, check_parameters

# Features (n x d) and their labels.
Labelled = tuple[FloatArray, NDArray[Any]]


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

    def fit(self, features: FloatArray, labels: NDArray[Any], n_components: int, rng: np.random.Generator) -> Any:
        """Fit the reduction, and the SVM on what it leaves of the same samples."""
        from sklearn.pipeline import make_pipeline

        check_components(features, n_components)
        check_labels(features, labels)
        steps = self._reduction((features, labels), n_components, rng)
        return make_pipeline(*steps, support_vector_machine(self.penalty)).fit(features, labels)

    def _reduction(self, samples: Labelled, n_components: int, rng: np.random.Generator) -> list[Any]:
        """Return unfitted transformers of scikit-learn's; none here."""
        return []


@dataclass(frozen=True)
class DiscriminantSVM(SupportVectorMachine):
    """The SVM on the discriminant directions of LDA.

    With k classes they span at most k - 1 dimensions, so there are min(q, k - 1, d) of them. scikit-learn scales them
    so that the within-class covariance becomes the identity.
    """

    imports: ClassVar[tuple[str, ...]] = (*SupportVectorMachine.imports, "sklearn.discriminant_analysis")

    def _reduction(self, samples: Labelled, n_components: int, rng: np.random.Generator) -> list[Any]:
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        return [LinearDiscriminantAnalysis(n_components=min(n_components, len(np.unique(samples[1])) - 1))]


@dataclass(frozen=True)
class PrincipalComponentsSVM(SupportVectorMachine):
    """The SVM on the q leading principal components."""

    imports: ClassVar[tuple[str, ...]] = (*SupportVectorMachine.imports, "sklearn.decomposition")

    def _reduction(self, samples: Labelled, n_components: int, rng: np.random.Generator) -> list[Any]:
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

    def _reduction(self, samples: Labelled, n_components: int, rng: np.random.Generator) -> list[Any]:
        from sklearn.neighbors import NeighborhoodComponentsAnalysis

        seed = random_state(rng)
        return [NeighborhoodComponentsAnalysis(n_components, max_iter=self.max_iterations, random_state=seed)]


@dataclass(frozen=True)
class KernelComponentsSVM(SupportVectorMachine):
    """The SVM on q kernel principal components of a Gaussian exp(-d^2 / (2 sigma^2)).

    sigma is the median distance of the training samples, :func:`kdrbench.kernels.median_distance`, which raises
    ``InputError`` when it is zero. Takes n x n memory.

    Source: Schoelkopf, Smola, Mueller, "Nonlinear component analysis as a kernel eigenvalue problem", Neural
    Computation 10, 1998.
    """

    imports: ClassVar[tuple[str, ...]] = (*SupportVectorMachine.imports, "sklearn.decomposition")

    def _reduction(self, samples: Labelled, n_components: int, rng: np.random.Generator) -> list[Any]:
        from sklearn.decomposition import KernelPCA

        gamma = 0.5 / median_distance(samples[0]) ** 2
        return [KernelPCA(n_components, kernel="rbf", gamma=gamma, random_state=random_state(rng))]


@dataclass(frozen=True)
class LinearDiscriminant:
    """LDA as a classifier: Gaussian classes with one covariance, of which the likeliest is predicted.

    ``n_components`` plays no part. It is this, not LDA and an SVM, that gives the error of ISM+'s Table 5 on Cancer.
    """

    task: ClassVar[BaselineTask] = BaselineTask.CLASSIFICATION
    imports: ClassVar[tuple[str, ...]] = ("sklearn.discriminant_analysis",)

    def fit(self, features: FloatArray, labels: NDArray[Any], n_components: int, rng: np.random.Generator) -> Any:
        """Fit means and the covariance."""
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        check_components(features, n_components)
        check_labels(features, labels)
        return LinearDiscriminantAnalysis().fit(features, labels)


@dataclass(frozen=True)
class SpectralClustering:
    """k-means on the rows of U, each scaled to length one: U (n x k) the top eigenvectors of H D^-1/2 K D^-1/2 H.

    K_ij = exp(-|x_i - x_j|^2 / (2 sigma^2)) with its diagonal of ones, D_ii = sum_j K_ij, H = I - 11'/n, and sigma the
    median distance of the features. Without ``centred``, H is the identity, as in the source (where the diagonal of K
    is zero). Centred, it gives the NMI that ISM+ prints in Table 6. Takes n x n memory.

    Source: Ng, Jordan, Weiss, "On spectral clustering", NIPS 2001.

    ``cluster`` raises ``InputError`` unless features are finite, 1 <= q <= min(n, d) and 2 <= k <= n, and when the
    median distance is zero.
    """

    centred: Annotated[bool, FLAG] = True
    task: ClassVar[BaselineTask] = BaselineTask.CLUSTERING
    imports: ClassVar[tuple[str, ...]] = ("sklearn.cluster",)

    def __post_init__(self) -> None:
        check_parameters(self, "baseline option")

    def cluster(
        self, features: FloatArray, n_clusters: int, n_components: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        """Return the clusters of the samples."""
        check_components(features, n_components)
        check_clusters(features, n_clusters)
        kernel = Gaussian(median_distance(features))
        gram = DenseGram(gram_matrix(kernel, self._reduced(features, n_components, rng)))
        _, embedding = spectral_embedding(gram, n_clusters, scaling=degree_scaling(gram), centred=self.centred)
        return cluster_rows(embedding, seed=random_state(rng))

    def _reduced(self, features: FloatArray, n_components: int, rng: np.random.Generator) -> FloatArray:
        """Return the features that distances are taken of."""
        return features


@dataclass(frozen=True)
class PrincipalComponentsSpectralClustering(SpectralClustering):
    """The same with the distances of the q leading principal components; sigma remains that of all features.

    With sigma of the components ISM+'s Table 6 is missed on Cancer (NMI .899 instead of .862).
    """

    imports: ClassVar[tuple[str, ...]] = (*SpectralClustering.imports, "sklearn.decomposition")

    def _reduced(self, features: FloatArray, n_components: int, rng: np.random.Generator) -> FloatArray:
        from sklearn.decomposition import PCA

        return np.asarray(PCA(n_components, random_state=random_state(rng)).fit_transform(features))


@dataclass(frozen=True)
class LabelSpreading:
    """scikit-learn's ``LabelSpreading`` on the graph of nearest neighbours of all features.

    F <- alpha S F + (1 - alpha) Y to convergence, S the normalised graph of ``n_neighbours`` and Y the known labels;
    each sample has the label of its largest entry. ``n_components`` plays no part, nor does chance. With a Gaussian
    graph of the median bandwidth, as the solvers have, it is far worse.

    Source: Zhou, Bousquet, Lal, Weston, Schoelkopf, "Learning with local and global consistency", NIPS 2003.

    ``complete`` raises ``InputError`` unless features are finite and two classes are known.
    """

    n_neighbours: Annotated[int, COUNT] = 7
    alpha: Annotated[float, FRACTION] = 0.2
    max_iterations: Annotated[int, COUNT] = 1000
    task: ClassVar[BaselineTask] = BaselineTask.COMPLETION
    imports: ClassVar[tuple[str, ...]] = ("sklearn.semi_supervised",)

    def __post_init__(self) -> None:
        check_parameters(self, "baseline option")

    def complete(
        self, features: FloatArray, labels: NDArray[np.int64], n_components: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        """Return a label for each sample; ``labels`` is -1 where it is unknown."""
        from sklearn.semi_supervised import LabelSpreading as Spreading

        check_components(features, n_components)
        check_labels(features[labels >= 0], labels[labels >= 0])
        spreading = Spreading(
            kernel="knn", n_neighbors=self.n_neighbours, alpha=self.alpha, max_iter=self.max_iterations
        )
        found: NDArray[Any] = spreading.fit(features, labels).transduction_
        return found
