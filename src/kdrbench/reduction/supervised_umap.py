"""Supervised UMAP, by the package umap-learn."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from kdrbench.extras import needed_for
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import NOT_NEGATIVE, Declarations, Interval, whole
from kdrbench.reduction.common import COMPONENTS, Reducer, Response


class SupervisedUMAP(Reducer):
    """Uniform manifold approximation and projection with labels: a layout of a graph of near neighbours.

    Edges between samples of different classes, or far apart in a continuous y, are weakened before the layout. It is no
    linear map, and new samples are laid out among the training samples. Needs the package umap-learn
    (``pip install 'kdrbench[umap]'``).

    Parameters
    ----------
    n_components : int or None
        Columns of the layout. ``None``: one less than the number of classes, or 1.
    n_neighbors : int
        Neighbours in the graph, >= 2; one less than the number of samples where these are fewer.
    min_dist : float
        Least distance of samples in the layout, >= 0.
    target_weight : float
        Between 0 (y plays hardly a part) and 1 (y alone).
    random_state : int, RandomState or None
        Seed of the layout.

    Attributes
    ----------
    model_ : umap.UMAP
        The fitted model.
    classes_ : ndarray
        The labels seen, unless y was continuous.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    References
    ----------
    McInnes, Healy, Melville, "UMAP: uniform manifold approximation and projection for dimension reduction", 2018
    (arXiv 1802.03426); the package's documentation for labels.
    """

    _constraints: ClassVar[Declarations] = {
        "n_components": COMPONENTS,
        "n_neighbors": whole(2),
        "min_dist": NOT_NEGATIVE,
        "target_weight": Interval(0.0, 1.0),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 15,
        min_dist: float = 0.1,
        target_weight: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.min_dist = min_dist
        self.target_weight = target_weight
        self.random_state = random_state

    def _reduce(self, features: FloatArray, centred: FloatArray, response: Response, n_components: int) -> None:
        with needed_for("SupervisedUMAP"):
            from umap import UMAP
        self.model_ = UMAP(
            n_components=n_components,
            n_neighbors=min(self.n_neighbors, len(features) - 1),
            min_dist=self.min_dist,
            target_weight=self.target_weight,
            target_metric="l2" if response.classes is None else "categorical",
            random_state=check_random_state(self.random_state).randint(2**31 - 1),
            # One thread: several would lay out the same samples differently in each run.
            n_jobs=1,
        ).fit(features, response.values)

    def _mapped(self, features: FloatArray) -> FloatArray:
        return np.asarray(self.model_.transform(features), dtype=np.float64)

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.embedding_.shape[1])
