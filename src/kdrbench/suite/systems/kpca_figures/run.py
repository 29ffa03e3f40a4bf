"""One run of a figure of the KPCA trick: a draw of its samples, all its settings, and the arrays that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from kdrbench.datasets import Dataset
from kdrbench.errors import error_text
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning.neighbours import IntArray
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.referee import Referee, finite
from kdrbench.suite.engine.run import RunResult
from kdrbench.suite.systems.kpca_figures.compute import (
    KPCA,
    Leading,
    Setting,
    Varied,
    all_settings_of,
    leading_of,
    planes_of,
    settings_of,
    tricks_of,
)
from kdrbench.suite.systems.kpca_figures.trick_comparison import QZ, Halves, Tricks

_Value = TypeVar("_Value")
Key = tuple[str, float, str]
# The kernel trick, solved exactly or with a ridge.
KERNEL = "kernel"
# Of Figure 2, the degrees that are compared; of Figure 3, the setting.
_DEGREES = (1.0, 2.0)
_SIGMA, _NEIGHBOURS = 1.0, 3
# Of Figures 4 and 5, the lists of what is varied.
VARIED = ("degrees", "sizes", "neighbours")


def leading_keys(learners: Sequence[str]) -> list[Key]:
    """Return the keys of the rows of Figure 2."""
    return [("degree", degree, learner) for learner in learners for degree in _DEGREES]


def plane_keys() -> list[Key]:
    """Return the keys of the rows of Figure 3."""
    return [("sigma", _SIGMA, series) for series in (KPCA, KERNEL)]


def setting_keys(settings: Sequence[Setting]) -> list[Key]:
    """Return the keys of the rows of Figures 4 and 5."""
    return [(one.varied, float(one.value), series) for one in settings for series in (KPCA, KERNEL, QZ)]


def settings_for(definition: Mapping[str, Any], n_features: int) -> list[Setting]:
    """Return the settings of Figure 4 or 5, by the definition of its cell."""
    varied = Varied(**{name: definition[name] for name in VARIED})
    return list(settings_of(varied) if definition["figure"] == 4 else all_settings_of(varied, n_features))


def run_leading(batch: Batch, dataset: Dataset, referee: Referee) -> Iterator[RunResult]:
    """Yield the rows of Figure 2. The first samples are those to learn from, the others are for testing."""
    n_train = batch.definition["n_train"]
    features, labels = dataset.features, dataset.labels
    referee.save("features", features[n_train:])
    referee.save("labels", labels[n_train:])
    for learner in batch.definition["learners"]:
        keys = leading_keys([learner])
        both = _attempt(partial(_leading, features, labels, n_train, learner), referee)
        if isinstance(both, Exception):
            yield from _failed(keys, both)
            continue
        for key, one in zip(keys, both, strict=True):
            referee.save(f"coordinates_{learner}_{one.degree}", one.coordinates)
            columns = {"method": learner, "accuracy": one.accuracy, "n_train": n_train}
            yield _converged(key, columns | {"n_test": len(labels) - n_train})


def _leading(features: FloatArray, labels: IntArray, n_train: int, learner: str) -> list[Leading]:
    return list(leading_of(features, labels, n_train, [learner]))


def run_planes(batch: Batch, dataset: Dataset, referee: Referee) -> Iterator[RunResult]:
    """Yield the rows of Figure 3."""
    planes = _attempt(lambda: planes_of(dataset, batch.definition["n_train"], batch.seed), referee)
    if isinstance(planes, Exception):
        yield from _failed(plane_keys(), planes)
        return
    halves, tricks = planes.halves, planes.tricks
    referee.save("labels", halves.test_labels)
    mapped = zip((KPCA, KERNEL), (tricks.kpca, tricks.kernel), planes.predictions, strict=True)
    for series, (train, test), predictions in mapped:
        referee.save(f"train_{series}", train)
        referee.save(f"test_{series}", test)
        referee.save(f"predictions_{series}", predictions)
    sizes = _sizes(halves, _NEIGHBOURS)
    for key, columns in zip(plane_keys(), _columns(tricks, tricks.accuracies(halves)), strict=True):
        yield _converged(key, columns | sizes)


def run_settings(batch: Batch, dataset: Dataset, number: int, referee: Referee) -> Iterator[RunResult]:
    """Yield the rows of Figure 4 or 5 for draw ``number``, setting by setting."""
    for setting in settings_for(batch.definition, dataset.features.shape[1]):
        keys = setting_keys([setting])
        solved = _attempt(partial(tricks_of, dataset, setting, number, batch.seed), referee)
        if isinstance(solved, Exception):
            yield from _failed(keys, solved)
            continue
        halves, (kernel, qz) = solved
        sizes = _sizes(halves, setting.k)
        columns = [*_columns(kernel, kernel.accuracies(halves)), _columns(qz, qz.accuracies(halves))[1]]
        for key, values in zip(keys, columns, strict=True):
            yield _converged(key, values | sizes)


def _columns(tricks: Tricks, accuracies: tuple[float, float]) -> list[dict[str, Any]]:
    """Return the columns of the KPCA trick, then those of the kernel trick."""
    condition, disagreement = finite(tricks.condition), finite(tricks.disagreement)
    return [
        {"method": KPCA, "accuracy": accuracies[0]},
        {"method": tricks.method, "accuracy": accuracies[1], "condition": condition, "disagreement": disagreement},
    ]


def _sizes(halves: Halves, k: int) -> dict[str, Any]:
    return {"k": k, "n_train": len(halves.train), "n_test": len(halves.test)}


def _attempt(work: Callable[[], _Value], referee: Referee) -> _Value | Exception:
    """Return what the work gives, done on the clock, or what it raises; a missing package is raised."""
    try:
        return referee.timed(work)[0]
    except (ImportError, MemoryError):
        raise
    except Exception as error:
        return error


def _converged(key: Key, columns: dict[str, Any]) -> RunResult:
    return RunResult(Status.CONVERGED, "", columns=columns, key=key)


def _failed(keys: Sequence[Key], error: Exception) -> Iterator[RunResult]:
    for key in keys:
        yield RunResult(Status.FAILED, error_text(error), key=key)
