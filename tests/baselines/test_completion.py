"""Label spreading, against a loop of its definition."""

import numpy as np
import pytest
from sklearn.neighbors import kneighbors_graph

from kdrbench.baselines import build_baseline
from kdrbench.datasets import synthetic
from kdrbench.errors import InputError


def test_it_is_the_fixed_point_of_its_definition():
    features, classes = synthetic.four_gaussians(80, np.random.default_rng(0), n_noise=0)
    labels = np.where(np.arange(80) % 8 == 0, classes, -1)
    baseline = build_baseline({"method": "label_spreading"})
    found = baseline.complete(features, labels, 2, np.random.default_rng(0))
    graph = kneighbors_graph(features, 7, include_self=True).toarray()
    np.fill_diagonal(graph, 0.0)
    degrees = np.maximum(graph.sum(axis=0), 1.0)
    known = (labels[:, None] == np.arange(4)).astype(float)
    spread = np.linalg.solve(np.eye(80) - 0.2 * graph / np.sqrt(degrees[:, None] * degrees), 0.8 * known)
    assert (found == spread.argmax(axis=1)).mean() > 0.97
    assert (found[labels < 0] == classes[labels < 0]).mean() > 0.9


def test_one_known_class_is_too_few():
    with pytest.raises(InputError, match="all 3 samples have the label 1; a classifier needs at least 2"):
        build_baseline({"method": "label_spreading"}).complete(
            np.eye(9), np.where(np.arange(9) < 3, 1, -1), 1, np.random.default_rng(0)
        )
