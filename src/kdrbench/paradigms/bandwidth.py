"""A Gaussian's bandwidth for a clustering, chosen without labels, and when a clustering is doubtful.

Candidates are fractions of the median distance, from a half downwards. At each one the alternation starts from Phi_0
and from what each of five starts led to at the candidate before, and all are judged by the relative eigengap

    (lambda_k - lambda_{k+1}) / (1 - lambda_k),   lambda the eigenvalues of D^-1/2 K_XW D^-1/2,

which is large where the k clusters hang together better than their parts do. The objective cannot be compared between
bandwidths. A narrow kernel can also set apart a few outliers, or a mixture of both labellings: see the numbers.

Source: the ratio (1 - lambda_{k+1}) / (1 - lambda_k) of Peng, Sun, Zanetti, "Partitioning well-clustered graphs", 2015.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation
from kdrbench.evaluation.gram import gram_operator
from kdrbench.kernels import Combination, Gaussian, Kernel, median_distance
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.alternation import ClusteringTask, Learned
from kdrbench.paradigms.embedding import cluster_rows, degree_scaling, spectral_embedding
from kdrbench.paradigms.reduced import ReducedObjective
from kdrbench.paradigms.task import Task
from kdrbench.solvers import Monitor, Solver, make_start

# Narrower ones set outliers apart; wider steps lose what is followed from one to the next.
FRACTIONS = (0.5, 0.35, 0.25, 0.177, 0.125, 0.105, 0.0884, 0.0743, 0.0625, 0.0526)
_RANDOM = 4
# What is narrower: an eighth of the bandwidth.
_NARROWER = 0.125
# Below this agreement two clusterings differ; objectives of starts that agree are within a hundredth.
_AGREED, _EQUAL = 0.95, 0.01
# 1 - lambda of clusters that are not connected is rounding.
_LEAST = 1e-12


class Bandwidth(NamedTuple):
    """A bandwidth's kernel, the W found with it, and its relative eigengap."""

    kernel: Kernel | Combination
    projection: FloatArray
    eigengap: float


def relative_eigengap(task: ClusteringTask, kernel: Gaussian, projection: FloatArray) -> float:
    """Return the relative eigengap at W, or -1 where a sample has no neighbour, so that D^-1/2 does not exist."""
    asked = task.evaluation or Evaluation()
    gram = gram_operator(kernel, task.features @ projection, asked)
    scaling = degree_scaling(gram)
    if scaling is None:
        return -1.0
    values, _ = spectral_embedding(gram, task.n_classes + 1, scaling=scaling, centred=False, tolerance=asked.tolerance)
    return float((values[-2] - values[-1]) / max(1.0 - values[-2], _LEAST))


def searched_bandwidth(
    task: Task, solver: Solver, n_components: int, monitor: Callable[[], Monitor], rng: np.random.Generator
) -> Bandwidth:
    """Return the candidate of the largest relative eigengap; random starts are drawn from ``rng``.

    Raises ``InputError`` where there are labels to choose by, where there are no more samples than clusters, or where
    all candidates are too narrow.
    """
    if not isinstance(task, ClusteringTask):
        raise InputError("sigma 'search' is for clusters; supervised learning has labels to choose by")
    if len(task.features) <= task.n_classes:
        raise InputError(f"sigma 'search' needs more samples than clusters, got {len(task.features)}")
    median = median_distance(task.features, threads=(task.evaluation or Evaluation()).threads)
    widest = task.first_problem(Gaussian(FRACTIONS[0] * median))
    followed = [make_start("random", widest, n_components, rng) for _ in range(_RANDOM)]
    followed.append(make_start("surrogate", widest, n_components, rng))
    best: Bandwidth | None = None
    for fraction in FRACTIONS:
        kernel = Gaussian(fraction * median)
        start = make_start("surrogate", task.first_problem(kernel), n_components, rng)
        found = [task.learn(kernel, solver, point, monitor).projection for point in (*followed, start)]
        followed = found[:-1]
        for point in found:
            eigengap = relative_eigengap(task, kernel, point)
            if eigengap >= 0.0 and (best is None or eigengap > best.eigengap):
                best = Bandwidth(kernel, point, eigengap)
    if best is None:
        raise InputError("sigma 'search' found no bandwidth with which every sample has a neighbour; give a number")
    return best


def narrower_embedding(task: ClusteringTask, kernel: Gaussian, projection: FloatArray) -> FloatArray | None:
    """Return the embedding at W with an eighth of the bandwidth; ``None`` where its degrees do not exist."""
    narrow = Gaussian(_NARROWER * kernel.sigma)
    reduced = ReducedObjective(task.alternation, task.features, narrow, task.guidance, evaluation=task.evaluation)
    return reduced.embedding(projection) if reduced.is_comparable(projection) else None


def doubts(
    task: Task, kernel: Kernel | Combination, best: Learned, compared: Sequence[Learned], *, searched: bool = False
) -> Iterator[str]:
    """Yield a sentence for each reason to doubt the best of the outcomes that were ``compared``, by falling objective.

    Starts disagree where a clustering that is at most a hundredth worse differs (NMI below .95), or where one is worse
    by more. A bandwidth that was not ``searched`` is doubtful if the same projection has other clusters with an eighth
    of it.
    """
    if best.clustering is None or not isinstance(task, ClusteringTask):
        return
    objectives = [outcome.objective for outcome in compared]
    first, *others = (outcome.clustering for outcome in compared if outcome.clustering)
    overlaps = [_agreement(first.labels, other.labels) for other in others]
    spread = (objectives[0] - objectives[-1]) / max(abs(objectives[0]), abs(objectives[-1]))
    if overlaps and (spread > _EQUAL or min(overlaps) < _AGREED):
        yield (
            f"the {len(compared)} starts disagree: objectives from {objectives[-1]:.4g} to {objectives[0]:.4g} "
            f"(the best is kept), NMI of their clusters with the best from {min(overlaps):.2f} to "
            f"{max(overlaps):.2f}; try more (start='multistart', n_init) or another bandwidth"
        )
    if isinstance(kernel, Gaussian) and not searched:
        narrow = narrower_embedding(task, kernel, best.projection)
        overlap = 1.0 if narrow is None else _agreement(best.clustering.labels, cluster_rows(narrow))
        if overlap < _AGREED:
            yield (
                f"the clusters depend on the bandwidth: with an eighth of sigma = {kernel.sigma:.3g} the same "
                f"projection has others (NMI {overlap:.2f}); finer structure may be hidden, try sigma='search'"
            )


def _agreement(first: NDArray[Any], second: NDArray[Any]) -> float:
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(first, second, average_method="geometric"))
