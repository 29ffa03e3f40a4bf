"""A kernel chosen by its alignment with labels, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from kdrbench.estimators.common import LabelledTransformer
from kdrbench.kernels import Combination, Kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.kernels.neighbours import row_blocks
from kdrbench.metric_learning import AnyKernel, SamplePairs, aligned_kernel, gaussian_grid, polynomial_grid
from kdrbench.parameters import FLAG, Either, Instance, OneOf

_CANDIDATES = Either((OneOf(("gaussian", "polynomial")), Instance((list, tuple), "a list of kernels")))


@dataclass(repr=False, eq=False)
class AlignedKernel(LabelledTransformer):
    """The combination of base kernels that is most aligned with the labels, as a kernel matrix.

    Maximises <K, T> / (|K| |T|) over K = sum_k v_k K_k, v >= 0, for trace-normalised K_k and T_ij = 1 for two samples
    of one of p classes, -1/(p - 1) otherwise; ``fit`` raises ``ValueError`` where no base kernel is positively aligned.
    ``transform`` gives the kernel between samples and the training samples, n_samples x n_training_samples, for
    instance for ``SVC(kernel="precomputed")`` or ``KPCATrick(kernel="precomputed", selection=None)``.

    Parameters
    ----------
    candidates : {"gaussian", "polynomial"} or list of kernels
        Base kernels: 21 Gaussians with sigma from 0.01 to 1000 times the square root of n_features, polynomials of
        degree 1 to 5, or single kernels of :mod:`kdrbench.kernels`.
    centred : bool
        Whether kernels and target are centred in the inner products. The paper's are not; centred ones serve better
        where classes are made of many clusters.

    Attributes
    ----------
    kernel_ : kdrbench.kernels.Combination
        The kernel, scaled so that feature vectors of training samples have the mean squared distance 2: those of the
        wide kernels that a centred alignment may choose hardly differ. An estimator's ``kernel`` may be set to it.
    alignment_ : kdrbench.metric_learning.Alignment
        Weights, what they reach, and how far they are determined.
    samples_ : ndarray of shape (n_training_samples, n_features)
        The training samples.
    classes_, n_features_in_, feature_names_in_ : the labels seen, and as in scikit-learn.

    References
    ----------
    Chatpatanasiri, Korsrilabutr, Tangchanachaianan, Kijsirikul, "A new kernelization framework for Mahalanobis distance
    learning algorithms", Neurocomputing 73, 2010 (Eqs. 9 to 12). Cortes, Mohri, Rostamizadeh, "Algorithms for learning
    kernels based on centered alignment", JMLR 13, 2012.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from kdrbench.estimators import AlignedKernel
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = make_pipeline(AlignedKernel(), SVC(kernel="precomputed")).fit(X[:100], y[:100])
    >>> bool(model.score(X[100:], y[100:]) > 0.95)
    True
    """

    candidates: Annotated[str | Sequence[Kernel], _CANDIDATES] = "gaussian"
    _: KW_ONLY
    centred: Annotated[bool, FLAG] = True

    def _learn(self, features: FloatArray, labels: NDArray[np.generic]) -> None:
        candidates: Sequence[AnyKernel] = gaussian_grid(features.shape[1])
        if self.candidates != "gaussian":
            candidates = polynomial_grid() if isinstance(self.candidates, str) else list(self.candidates)
        pairs = SamplePairs(features, features)
        kernel, self.alignment_ = aligned_kernel(candidates, pairs, labels, centred=self.centred)
        scale = 1.0 / _spread(pairs, kernel, len(features))
        self.kernel_ = Combination(tuple(replace(term, weight=scale * term.weight) for term in kernel.terms))
        self.samples_ = features
        self._n_features_out = len(features)

    def _mapped(self, features: FloatArray) -> FloatArray:
        return SamplePairs(features, self.samples_).gram(self.kernel_)


def _spread(pairs: SamplePairs, kernel: Combination, n_samples: int) -> float:
    """Return half the mean squared distance of feature vectors, each sample with each: the mean diagonal of HKH."""
    total = 0.0
    for rows in row_blocks(n_samples):
        block = pairs.block(rows, slice(0, n_samples)).gram(kernel, up_to_constant=True)
        total += float(np.diagonal(block[:, rows]).sum()) - float(block.sum()) / n_samples
    return total / n_samples
