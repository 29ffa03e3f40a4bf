"""What makes an alternative clustering doubtful: starts that disagree, and clusters that the bandwidth decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from kdrbench.kernels import Combination, Gaussian, Kernel
from kdrbench.paradigms import Learned, Task, cluster_rows
from kdrbench.paradigms.bandwidth import narrower_embedding
from kdrbench.paradigms.task import ClusteringTask

# Below this agreement two clusterings differ; objectives of starts that agree are within a hundredth.
_AGREED, _EQUAL = 0.95, 0.01


def doubts(
    task: Task, kernel: Kernel | Combination, outcomes: Sequence[Learned], *, searched: bool = False
) -> Iterator[str]:
    """Yield a sentence for each reason to doubt the first of these outcomes, which is the best.

    Starts disagree where a clustering that is at most a hundredth worse differs (NMI below .95), or where one is worse
    by more. A bandwidth that was not ``searched`` is doubtful if the same projection has other clusters with an eighth
    of it.
    """
    best = outcomes[0].clustering
    if best is None or not isinstance(task, ClusteringTask):
        return
    objectives = [outcome.objective for outcome in outcomes]
    overlaps = [_agreement(best.labels, other.clustering.labels) for other in outcomes[1:] if other.clustering]
    spread = (objectives[0] - objectives[-1]) / max(abs(objectives[0]), abs(objectives[-1]))
    if overlaps and (spread > _EQUAL or min(overlaps) < _AGREED):
        yield (
            f"the {len(outcomes)} starts disagree: objectives from {objectives[-1]:.4g} to {objectives[0]:.4g} "
            f"(the best is kept), NMI of their clusters with the best from {min(overlaps):.2f} to "
            f"{max(overlaps):.2f}; try more (start='multistart', n_init) or another bandwidth"
        )
    if isinstance(kernel, Gaussian) and not searched:
        narrow = narrower_embedding(task, kernel, outcomes[0].projection)
        overlap = 1.0 if narrow is None else _agreement(best.labels, cluster_rows(narrow))
        if overlap < _AGREED:
            yield (
                f"the clusters depend on the bandwidth: with an eighth of sigma = {kernel.sigma:.3g} the same "
                f"projection has others (NMI {overlap:.2f}); finer structure may be hidden, try "
                "kernel_params={'sigma': 'search'}"
            )


def _agreement(first: NDArray[Any], second: NDArray[Any]) -> float:
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(first, second, average_method="geometric"))
