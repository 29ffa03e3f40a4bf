"""Label spreading: labels that are known of some samples are carried to the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kdrbench.baselines.contract import BaselineTask, check_components, check_labels
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, FRACTION, check_parameters


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
