import lmnn as lmnn_benchmark
import numpy as np

from kdrbench.metric_learning import lmnn_objective, lmnn_optimum
from support.helpers import random_samples


def test_the_independent_lmnn_comes_near_and_not_below():
    features, labels = random_samples(n_samples=20, n_features=3)
    objective = lmnn_objective(features / 3, labels, 2)
    optimum = lmnn_optimum(objective)
    other, ours = lmnn_benchmark.independent(objective), lmnn_benchmark.ours(objective)
    assert optimum.lower_bound <= min(other.values) <= optimum.value * 1.05
    assert optimum.lower_bound <= min(ours.values) <= optimum.value * 1.01
    assert ours.until(np.inf) == ours.seconds[0]
    assert ours.until(0.0) == np.inf
