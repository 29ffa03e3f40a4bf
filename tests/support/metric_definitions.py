"""Metric learners written out from their definitions, sample by sample."""

import numpy as np


def nearest_by_loops(features, i, candidates, k):
    order = sorted(candidates, key=lambda j: (round(float(np.sum((features[i] - features[j]) ** 2)), 12), j))
    return order[:k]


def dne_weights_by_loops(features, labels, k):
    n = len(labels)
    weights = np.zeros((n, n))
    for i in range(n):
        for j in nearest_by_loops(features, i, [j for j in range(n) if labels[j] != labels[i]], k):
            weights[i, j] = weights[j, i] = -1.0
        for j in nearest_by_loops(features, i, [j for j in range(n) if j != i and labels[j] == labels[i]], k):
            weights[i, j] = weights[j, i] = 1.0
    return weights


def nca_by_loops(projection, features, labels):
    n, total = len(labels), 0.0
    for i in range(n):
        terms = [0.0 if j == i else np.exp(-np.sum(((features[i] - features[j]) @ projection) ** 2)) for j in range(n)]
        total -= sum(term for term, label in zip(terms, labels, strict=True) if label == labels[i]) / sum(terms)
    return total
