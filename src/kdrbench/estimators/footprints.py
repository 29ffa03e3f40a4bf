"""How much memory a fit takes, estimated from the sizes of the samples before it begins.

Each estimate is a count of the arrays that are alive at once, in bytes. At 1100 samples it is within a factor of two of
the measured peak beyond the samples themselves (``tests/estimators/test_footprints.py``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kdrbench.kernels.family import FloatArray
from kdrbench.memory import check_memory
from kdrbench.metric_learning import DNE, LMNN, NCA
from kdrbench.metric_learning.neighbours import entries_of_block

_FLOAT = 8
# Blocks of rows that a pass holds at once, arrays of n x D, and numbers a sample: lists of neighbours, and pairs.
_LEARNERS: dict[type, tuple[float, float, float]] = {
    NCA: (3.0, 8.0, 4.0),
    LMNN: (6.0, 7.0, 30.0),
    DNE: (6.0, 4.0, 60.0),
}
# Blocks for each base kernel of an alignment, and one more for the target.
_ALIGNED = 3.8
# Arrays of n x n that KPCA holds at once, for some components and for all; with those that a learner then finds.
_SOME_COMPONENTS, _ALL_COMPONENTS, _WHILE_LEARNING = 4.5, 7.0, 1.0
# The same of a kernel matrix that is factored, and of evaluators that hold all pairs.
_FACTORED, _ALL_PAIRS = 8.0, 6.0
_HOLDING_ALL_PAIRS = ("dense", "autograd", "pairwise_sum")
# Arrays of n x d of a search for a projection, and what blocks of pairs take at most.
_SEARCHED, _PAIRS_BYTES = 6.0, 2**25
# Kernels whose sums over classes need no pairs; their arrays of n x d, and those of the columns of X W.
_WITHOUT_PAIRS, _SUMMED, _PROJECTED = ("linear", "squared", "polynomial"), 2.0, 7.0
# Blocks of a kernel matrix that clusterings keep.
_KEPT_BYTES = 2**29


class Samples(NamedTuple):
    """The numbers of samples and of features."""

    n_samples: int
    n_features: int


def check_footprint(estimator: object, needed: float, samples: Samples, way_out: str) -> None:
    """Raise ``InputError``, which is a ``ValueError``, where a fit needs more bytes than the machine has free."""
    check_memory(needed, f"a fit of {type(estimator).__name__} to {samples.n_samples} samples", way_out)


def of_learner(learner: object, samples: Samples) -> float:
    """Return the bytes of a metric learner of kdrbench; 0 for another's, of which nothing is known."""
    blocks, arrays, numbers = _LEARNERS.get(type(learner), (0.0, 0.0, 0.0))
    n_samples, n_features = samples
    width = n_features if isinstance(learner, NCA) else 1
    entries = blocks * entries_of_block(n_samples, width) + arrays * n_samples * n_features + numbers * n_samples
    return _FLOAT * entries


def of_alignment(n_kernels: int, samples: Samples) -> float:
    """Return the bytes of an alignment of kernels."""
    return _FLOAT * _ALIGNED * (n_kernels + 1) * entries_of_block(samples.n_samples)


def of_kpca_trick(learner: object, n_components: int | None, samples: Samples) -> float:
    """Return the bytes of KPCA and a learner on its coordinates; ``None`` keeps all of them."""
    pairs = _FLOAT * samples.n_samples**2
    count = samples.n_samples if n_components is None else min(n_components, samples.n_samples)
    coordinates = Samples(samples.n_samples, count)
    learning = _WHILE_LEARNING * pairs + 2 * _FLOAT * count * samples.n_samples + of_learner(learner, coordinates)
    return max((_ALL_COMPONENTS if n_components is None else _SOME_COMPONENTS) * pairs, learning)


def of_pairs_kept(samples: Samples) -> float:
    """Return the bytes of the distances, or products, that the kernels of a cross validation share."""
    return float(_FLOAT * samples.n_samples**2)


def check_kernel_footprint(estimator: Any, features: FloatArray) -> None:
    """Do the same for a low-rank kernel that is learned from these samples."""
    linear = isinstance(estimator.kernel, str) and estimator.kernel == "linear" and not estimator.kernel_params
    samples, way_out = Samples(*features.shape), "learn from fewer samples" + ("" if linear else ", or a linear kernel")
    check_footprint(estimator, of_low_rank_kernel(samples, linear=linear), samples, way_out)


def of_low_rank_kernel(samples: Samples, *, linear: bool) -> float:
    """Return the bytes of a learned kernel: of all pairs, unless it is linear."""
    n_samples, n_features = samples
    return _FLOAT * (6.0 * n_samples * n_features if linear else _FACTORED * n_samples**2)


def of_kernel_matrix(samples: Samples) -> float:
    """Return the bytes of a kernel matrix that is factored in place: itself, and as much again while it is made."""
    return 18.0 * samples.n_samples**2


def check_projection_footprint(
    estimator: Any, features: Any, evaluator: str, family: str | None, n_components: int
) -> None:
    """Do the same for a search for a projection of samples in memory; nothing for those that are read in passes."""
    if not isinstance(features, np.ndarray):
        return
    samples, clusters = Samples(*features.shape), estimator.paradigm != "supervised"
    way_out = "learn from fewer samples, or stream them"
    if evaluator in _HOLDING_ALL_PAIRS:
        needed = of_all_pairs(samples)
        way_out = "leave the evaluator to the cost model (evaluation=None)"
    elif family in _WITHOUT_PAIRS and not clusters:
        needed = of_class_sums(samples, n_components if family == "polynomial" else 0)
    else:
        needed = of_projection(samples, clusters=clusters)
    check_footprint(estimator, needed, samples, way_out)


def of_all_pairs(samples: Samples) -> float:
    """Return the bytes of a search that holds all pairs."""
    return _FLOAT * (_SEARCHED * samples.n_samples * samples.n_features + _ALL_PAIRS * samples.n_samples**2)


def of_class_sums(samples: Samples, n_components: int) -> float:
    """Return the bytes of a search by sums over samples; ``n_components`` is 0 where slopes are the same everywhere."""
    return _FLOAT * samples.n_samples * (_SUMMED * samples.n_features + _PROJECTED * n_components)


def of_projection(samples: Samples, *, clusters: bool) -> float:
    """Return the bytes of a search for a projection by blocks of pairs."""
    n_samples, n_features = samples
    pairs = _FLOAT * n_samples**2
    needed = _FLOAT * _SEARCHED * n_samples * n_features + min(pairs, _PAIRS_BYTES)
    return needed + (min(0.5 * pairs, _KEPT_BYTES) if clusters else 0.0)
