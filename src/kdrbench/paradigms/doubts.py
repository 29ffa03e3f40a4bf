"""When a clustering is doubtful: its starts disagree, or it depends on the bandwidth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kdrbench.kernels import Combination, Gaussian, Kernel
from kdrbench.paradigms.alternation import ClusteringTask
from kdrbench.paradigms.embedding import cluster_rows, mutual_information
from kdrbench.paradigms.reduced import Learned, ReducedObjective
from kdrbench.paradigms.task import Task

# What is narrower: an eighth of the bandwidth.
_NARROWER = 0.125
# Below this agreement two clusterings differ; objectives of starts that agree are within a hundredth.
_AGREED, _EQUAL = 0.95, 0.01


def doubts(task: Task, kernel: Kernel | Combination, best: Learned, compared: Sequence[Learned]) -> Iterator[str]:
    """Yield a sentence for each reason to doubt the best of the outcomes that were ``compared``, by falling objective.

    Starts disagree where a clustering that is at most a hundredth worse differs (NMI below .95), or where one is worse
    by more. A bandwidth is doubtful if the same projection has other clusters with an eighth of it.
    """
    if best.clustering is None or not isinstance(task, ClusteringTask):
        return
    objectives = [outcome.objective for outcome in compared]
    first, *others = (outcome.clustering for outcome in compared if outcome.clustering)
    overlaps = [mutual_information(first.labels, other.labels) for other in others]
    spread = (objectives[0] - objectives[-1]) / max(abs(objectives[0]), abs(objectives[-1]))
    if overlaps and (spread > _EQUAL or min(overlaps) < _AGREED):
        yield (
            f"the {len(compared)} starts disagree: objectives from {objectives[-1]:.4g} to {objectives[0]:.4g} "
            f"(the best is kept), NMI of their clusters with the best from {min(overlaps):.2f} to "
            f"{max(overlaps):.2f}; try more (start='multistart', n_init) or another bandwidth"
        )
    if isinstance(kernel, Gaussian):
        narrow = Gaussian(_NARROWER * kernel.sigma)
        reduced = ReducedObjective(task.alternation, task.features, narrow, task.guidance, evaluation=task.evaluation)
        # Without neighbours within the narrow bandwidth there are no degrees, and no embedding.
        if not reduced.is_comparable(best.projection):
            return
        overlap = mutual_information(best.clustering.labels, cluster_rows(reduced.at(best.projection).embedding))
        if overlap < _AGREED:
            yield (
                f"the clusters depend on the bandwidth: with an eighth of sigma = {kernel.sigma:.3g} the same "
                f"projection has others (NMI {overlap:.2f}); finer structure may be hidden, try a smaller sigma"
            )
