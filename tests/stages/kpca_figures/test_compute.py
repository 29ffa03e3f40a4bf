"""What Figure 2 of the KPCA trick computes: plain learners fail on the made data, and kernels succeed."""

import pytest

from kdrbench.datasets import load_dataset
from kdrbench.stages.kpca_figures.compute import leading_of


def test_plain_learners_fail_and_kernels_succeed_on_the_made_data():
    for name in ("disc-and-ring", "cone"):
        made = load_dataset(name)
        features, labels = made.features, made.labels
        results = list(leading_of(features, labels, 200, ["nca", "lmnn", "dne"]))
        assert [(one.learner, one.degree) for one in results[:3]] == [("nca", 1), ("nca", 2), ("lmnn", 1)]
        for one in results:
            assert one.accuracy <= 0.85 if one.degree == 1 else one.accuracy >= 0.95
            assert one.coordinates.shape == (200,)
            assert one.coordinates.std() == pytest.approx(1.0)
