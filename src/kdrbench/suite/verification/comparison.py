"""A run beside the same run of a record: which of its numbers should be the same, and within what.

On the same processor, with the same packages and the same commit, a run is deterministic: all results are equal, bit
for bit. Elsewhere sums are rounded in another order, and results differ by what rounding moves an optimum:

    cost      relatively by s^2 / (2 |c|), and 1e-9
    W         largest sine between the spaces of both: (s + s') sqrt(q) / |c|, and sqrt(2e-9 / |c|)
    shares    two samples whose label a tie decides
    steps     a tenth of them, and one: a bound is crossed sooner or later

where s and s' are the relative stationarities and c is the relative curvature. To first order the gradient at an angle
t from a certified optimum is at least |c| t times the largest |eigenvalue| of W'G, which is at least |G| / sqrt(q);
and a cost that is above the optimum's by a share e is within t^2 = 2 e / |c|. Without a recorded curvature, c = 0.01.

Methods by steps along gradients amplify rounding, so that s counts. Those that map W to eigenvectors of Phi(W) contract
it: after as many iterations theirs counts as 0.

Source: Absil, Mahony, Sepulchre, "Optimization Algorithms on Matrix Manifolds", 2008, section 4.5.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdrbench.status import BY_METHODS, Status
from kdrbench.suite.archive.arrays import NOT_STORED
from kdrbench.suite.engine.record import Record, flat, own_column_types
from kdrbench.suite.verification.bookkeeping import Finding

Arrays = Mapping[str, NDArray[Any]]
# By these rounding is the same.
_SAME = (
    *("processor", "blas", "blas_threads", "kdrbench_version", "git_commit", "git_dirty", "python_version"),
    *("numpy_version", "scipy_version", "scikit_learn_version", "pymanopt_version", "numba_version"),
)
_COSTS, _STEPS = ("cost", "best_cost"), ("iterations", "sweeps", "projections")
_ACCURACIES = ("quality", "train_accuracy", "accuracy", "test_accuracy", "knn_accuracy", "linear_accuracy")
_AGREEMENTS = ("nmi_given", "nmi_one_start", "nmi_ten_starts")
_COST, _CURVATURE, _SAMPLES = 1e-9, 1e-2, 2
# A run whose time comes this near its limit may end on either side of it.
_NEAR = 0.5
_AT_LIMITS = (Status.TIME_LIMIT, Status.MEMORY_LIMIT)


@dataclass(frozen=True)
class Made:
    """A row of a run with the arrays that its run has left."""

    record: Record
    arrays: Arrays

    @property
    def columns(self) -> dict[str, Any]:
        """The row's columns."""
        return flat(self.record)


def same_rounding(recorded: Record, here: Record) -> bool:
    """Return whether both were made by the same processor, packages and commit, without changes to it."""
    first, second = flat(recorded), flat(here)
    return first["git_dirty"] is False and all(first[name] == second[name] for name in _SAME)


def compared(place: str, recorded: Made, here: Made) -> Iterator[Finding]:
    """Yield what a rerun has found otherwise than the row of the record, and the arrays that this stores."""
    recorded, here = _as_stored(recorded, here)
    first, second = recorded.columns, here.columns
    if first["status"] != second["status"]:
        if not _near_a_limit(recorded, here):
            yield Finding(place, "status", first["status"], f"{second['status']}, of a rerun ({second['message']})")
        return
    if first["status"] in _AT_LIMITS:
        # Where the clock or the memory has stopped it, is the machine's.
        return
    if same_rounding(recorded.record, here.record):
        yield from _equal(place, recorded, here)
    else:
        yield from _near(place, first, second)
        yield from _near_subspace(place, recorded, here)


def _as_stored(recorded: Made, here: Made) -> tuple[Made, Made]:
    """Return both without what the record says it does not store (:data:`.NOT_STORED`), of which a rerun has all."""
    stored = {name: array for name, array in recorded.arrays.items() if name != NOT_STORED}
    left_out = {str(name) for name in recorded.arrays.get(NOT_STORED, ())} - set(stored)
    made = {name: array for name, array in here.arrays.items() if name not in left_out}
    return replace(recorded, arrays=stored), replace(here, arrays=made)


def time_ratio(recorded: Record, here: Record) -> float | None:
    """Return the rerun's time over the recorded one's, each in units of its calibration; ``None`` without both."""
    scaled = []
    for one in (recorded, here):
        kernel_s = one.provenance.calibration_before_s
        if not one.time_s or not kernel_s or kernel_s < 0 or one.time_s < 0:
            return None
        scaled.append(one.time_s / kernel_s)
    return scaled[1] / scaled[0]


def _near_a_limit(recorded: Made, here: Made) -> bool:
    """Return whether one was stopped by the clock, and the other ended after half of that time by the same measure."""
    both = (recorded.record, here.record)
    stopped = [one for one in both if one.status == Status.TIME_LIMIT]
    ended = [one for one in both if one.status in BY_METHODS]
    if len(stopped) != 1 or len(ended) != 1:
        return False
    limit_s, kernel_s = stopped[0].provenance.time_limit_s, stopped[0].provenance.calibration_before_s
    own_s, time_s = ended[0].provenance.calibration_before_s, ended[0].time_s
    speed = kernel_s / own_s if kernel_s and own_s else 1.0
    return (time_s or 0.0) * speed > _NEAR * limit_s


def _equal(place: str, recorded: Made, here: Made) -> Iterator[Finding]:
    first, second = recorded.columns, here.columns
    for name in own_column_types(type(recorded.record)):  # type: ignore[arg-type]
        # What the clock says is not a result.
        if not name.endswith("_s") and name != "repeats" and first[name] != second[name]:
            yield Finding(place, name, _word(first[name]), f"{_word(second[name])}, of a rerun on the same machine")
    for name in sorted({*recorded.arrays, *here.arrays}):
        one, other = (_in_type(made.arrays.get(name), recorded.arrays.get(name)) for made in (recorded, here))
        if one is None or other is None or digest(one) != digest(other):
            apart = f"; {_angle_in_words(recorded, here)}" if name == "projection" else ""
            found = "missing" if other is None else f"{digest(other)[:12]}, of a rerun on the same machine{apart}"
            yield Finding(place, name, "missing" if one is None else digest(one)[:12], found)


def _in_type(array: NDArray[Any] | None, recorded: NDArray[Any] | None) -> NDArray[Any] | None:
    """Return an array in the type in which the record keeps it, which may be the shorter one."""
    return array if array is None or recorded is None else array.astype(recorded.dtype)


def digest(array: NDArray[Any]) -> str:
    """Return the SHA-256 of an array's shape and values."""
    return hashlib.sha256(f"{array.shape}".encode() + np.ascontiguousarray(array).tobytes()).hexdigest()


def _near(place: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Finding]:
    for name, allowed in _allowed(first, second):
        one, other = first.get(name), second.get(name)
        if one is None and other is None:
            continue
        if one is None or other is None or not abs(one - other) <= allowed:
            yield Finding(place, name, _word(one), f"{_word(other)} within {allowed:.1e}, of a rerun")


def _allowed(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the columns that are compared, and by how much they may differ."""
    still, bent = _still(first, second), _bent(first)
    share = max(_COST, still**2 / (2.0 * bent))
    n = max(1, first.get("n_test") or first.get("n_train") or first.get("n_samples") or 1)
    for name in (*_COSTS, *_STEPS, *_ACCURACIES, *_AGREEMENTS):
        size = abs(first.get(name) or 0.0)
        if name in _COSTS:
            yield name, share * size
        elif name in _STEPS:
            yield name, 0.1 * size + 1
        elif name in _AGREEMENTS or first.get("quality_metric") == "nmi":
            # Moving a sample changes an entropy by at most 2 ln(n) / n.
            yield name, 2 * _SAMPLES * float(np.log(max(n, 3))) / n
        else:
            yield name, _SAMPLES / n + 1e-12


def _still(first: Mapping[str, Any], second: Mapping[str, Any]) -> float:
    if first.get("surrogate_calls") and first.get("iterations") == second.get("iterations"):
        return 0.0
    return max(0.0, *((one.get("stationarity") or 0.0) for one in (first, second)))


def _bent(first: Mapping[str, Any]) -> float:
    return float(max(abs(first.get("curvature") or _CURVATURE), np.finfo(float).tiny))


def _near_subspace(place: str, recorded: Made, here: Made) -> Iterator[Finding]:
    one, other = recorded.arrays.get("projection"), here.arrays.get("projection")
    if one is None and other is None:
        return
    if one is None or other is None or one.shape != other.shape:
        yield Finding(place, "projection", _shape(one), f"{_shape(other)}, of a rerun")
        return
    first, second = recorded.columns, here.columns
    bent = _bent(first)
    bound = max(2.0 * _still(first, second) * one.shape[1] ** 0.5 / bent, (2.0 * _COST / bent) ** 0.5)
    if not sine(one, other) <= bound:
        yield Finding(place, "projection", digest(one)[:12], f"{_angle_in_words(recorded, here)} within {bound:.1e}")


def sine(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return the largest sine of an angle between the spaces of two d x q matrices with orthonormal columns.

    NaN where a matrix has entries that are not finite.
    """
    first, second = first.astype(float), second.astype(float)
    rest = second - first @ (first.T @ second)
    return float(np.linalg.norm(rest, 2)) if np.isfinite(rest).all() else float("nan")


def _angle_in_words(recorded: Made, here: Made) -> str:
    one, other = recorded.arrays.get("projection"), here.arrays.get("projection")
    if one is None or other is None or one.shape != other.shape or one.ndim != 2:
        return "another shape"
    return f"sine {sine(one, other):.1e} to the space of a rerun"


def _shape(array: NDArray[Any] | None) -> str:
    return "missing" if array is None else f"of shape {array.shape}"


def _word(value: object) -> str:
    return "" if value is None else str(value)
