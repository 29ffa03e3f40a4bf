"""The second opinion of `kdrbench verify`: the accuracy of a row, from the data by scikit-learn."""

import numpy as np

from kdrbench.suite.engine.seeds import rng_of


def accuracy_of(dataset, shrinkage, number, seed):
    """Return the accuracy on the other half of nearest centroids that are moved towards the mean of all samples."""
    from sklearn.neighbors import KNeighborsClassifier

    order = rng_of("half", dataset.name, number, seed).permutation(len(dataset.labels))
    train, test = np.array_split(order, 2)
    features, labels = dataset.features, dataset.labels
    centres = np.array([features[train][labels[train] == code].mean(axis=0) for code in np.unique(labels)])
    centres += shrinkage * (features[train].mean(axis=0) - centres)
    nearest = KNeighborsClassifier(1).fit(centres, np.unique(labels))
    return nearest.score(features[test], labels[test])
