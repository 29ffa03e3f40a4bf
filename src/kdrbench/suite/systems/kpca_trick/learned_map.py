"""What was learned on a split, as a run leaves it, and its accuracy on test samples that the run never had."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels import Combination, Term, terms_of
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import AnyKernel
from kdrbench.metric_learning.kernel_pca import KernelPCA
from kdrbench.metric_learning.neighbours import predict_by_neighbours, squared_distances
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.referee import Referee, Seconds
from kdrbench.suite.engine.run_files import RunFiles, take_array
from kdrbench.suite.systems.kpca_trick.split import SampleSplit


@dataclass(frozen=True, eq=False)
class LearnedMap:
    """What was learned on n training samples, by which others are mapped.

    ``weights`` (m) are those of the candidate kernels; with none of them, samples are taken as they are. ``vectors``
    (n x D) are :attr:`.KernelPCA.scaled_vectors` of that kernel, ``projection`` (D x d) is the learner's map.
    """

    weights: FloatArray
    vectors: FloatArray
    projection: FloatArray

    def save(self, referee: Referee, name: str) -> None:
        """Leave the arrays among the files of the run."""
        for part in ("weights", "vectors", "projection"):
            referee.save(f"{name}_{part}", getattr(self, part))

    @classmethod
    def take(cls, files: RunFiles, name: str) -> LearnedMap:
        """Read what :meth:`save` left and remove it; ``InputError`` where it is not there."""
        arrays = {}
        for part in ("weights", "vectors", "projection"):
            if (array := take_array(files.array(f"{name}_{part}"))) is None:
                raise InputError(f"the run left no {part}")
            arrays[part] = array
        return cls(**arrays)

    def check(self, n_train: int, n_features: int, n_candidates: int) -> None:
        """Raise ``InputError`` unless these are finite arrays whose shapes belong together."""
        n_directions = max(1, self.projection.shape[-1]) if self.projection.ndim == 2 else 1
        expected: dict[str, tuple[int, ...]] = {"weights": (0,), "vectors": (0, 0)}
        if self.weights.size:
            n_features = self.vectors.shape[1] if self.vectors.ndim == 2 else 0
            expected = {"weights": (n_candidates,), "vectors": (n_train, n_features)}
        expected["projection"] = (n_features, n_directions)
        for name, shape in expected.items():
            array = getattr(self, name)
            if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
                raise InputError(f"{name} must be finite numbers of shape {shape}; got {array.dtype} of {array.shape}")


def name_of(batch: Batch, key: tuple[Any, ...], number: int) -> str:
    """Return under which name a run leaves the map of a row: that of its kernel is 0, those of candidates follow."""
    return f"{batch.rows.index(key)}_{number}"


def weights_of(kernel: AnyKernel, candidates: Sequence[AnyKernel]) -> FloatArray:
    """Return the weights of the candidates in a combination of them, or of the one of them that it is."""
    shares = {term.kernel: term.weight for term in terms_of(kernel)}  # type: ignore[arg-type]
    return np.array([shares.get(one, 0.0) for one in candidates])  # type: ignore[arg-type]


def accuracy_of(learned: LearnedMap, split: SampleSplit, candidates: Sequence[AnyKernel]) -> tuple[float, Seconds]:
    """Return the share of test samples that 1-NN classifies rightly, and the seconds of mapping and classifying them.

    Raises ``InputError`` for arrays that no run of ours leaves.
    """
    learned.check(len(split.train), split.train.shape[1], len(candidates))
    if learned.weights.size:
        weighted = zip(learned.weights.tolist(), candidates, strict=True)
        kernel = Combination(tuple(Term(weight, one) for weight, one in weighted if weight != 0))  # type: ignore[arg-type]
        gram = split.pairs.gram(kernel, up_to_constant=True)
        # What transforms samples; the eigenvalues are not needed for it.
        coordinates = KernelPCA(np.empty(0), learned.vectors, gram.mean(axis=0))
        train = coordinates.transform(gram)
    else:
        coordinates, train = None, split.train
    mapped = train @ learned.projection
    cpu, wall = time.process_time(), time.perf_counter()
    test = split.test
    if coordinates is not None:
        test = coordinates.transform(split.test_pairs.gram(kernel, up_to_constant=True))
    predicted = predict_by_neighbours(squared_distances(test @ learned.projection, mapped), split.train_codes)
    spent = Seconds(time.perf_counter() - wall, time.process_time() - cpu)
    return float(np.mean(predicted == split.test_codes)), spent
