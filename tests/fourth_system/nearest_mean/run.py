"""One run: class means of a random half, shrunk, and the labels that they give the other half."""

from functools import partial

import numpy as np

from kdrbench.status import Status
from kdrbench.suite.engine.run import RunResult
from kdrbench.suite.engine.seeds import rng_of


def run_half(dataset, shrinkages, number, seed, referee):
    """Yield a result for each shrinkage; only the means are on the clock."""
    order = rng_of("half", dataset.name, number, seed).permutation(len(dataset.labels))
    train, test = np.array_split(order, 2)
    for shrinkage in shrinkages:
        means, seconds = referee.timed(partial(shrunk_means, dataset, train, shrinkage))
        distances = ((dataset.features[test][:, None] - means[None]) ** 2).sum(axis=2)
        accuracy = float(np.mean(distances.argmin(axis=1) == dataset.labels[test]))
        columns = {"accuracy": accuracy, "n_train": len(train)}
        yield RunResult(Status.CONVERGED, "fitted", seconds.wall_s, seconds.cpu_s, columns, key=(shrinkage,))


def shrunk_means(dataset, train, shrinkage):
    """Return the class means, each moved by ``shrinkage`` of the way to the mean of all samples."""
    features, labels = dataset.features[train], dataset.labels[train]
    means = np.array([features[labels == code].mean(axis=0) for code in range(len(dataset.class_names))])
    return (1.0 - shrinkage) * means + shrinkage * features.mean(axis=0)
