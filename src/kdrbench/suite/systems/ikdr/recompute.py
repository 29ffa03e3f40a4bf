"""The runs of IKDR and of its atlas computed again, from raw data and what they left.

Samples are drawn and standardised once more as docs/experiments.md says. Numbers are compared to within
:data:`TOLERANCES`: those of projections in double precision, and of packed ones, which are rounded to float32. Rounding
to 24 binary digits changes W by at most u |W|, u = 6e-8: cost and stationarity by that times the relative slope and
curvature of F, some tens at most. In the record of the papers costs differ by 8e-8 and stationarities by 4e-7.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kdrbench.datasets import Dataset
from kdrbench.errors import InputError
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.recomputed import NOT_STORED, Arrays, Number, Recomputed, Row
from kdrbench.suite.systems.ikdr.objectives import (
    Array,
    Clustering,
    Member,
    Pairs,
    members_of,
    one_hot,
    second_order,
    stationarity,
)

Rows = NDArray[np.intp]
# By column: of projections in double precision, and of those in float32, relative to numbers above 1. Costs are
# compared relative to their size alone, qualities by samples.
TOLERANCES = {
    "cost": (1e-9, 1e-6),
    "feasibility": (1e-12, 1e-6),
    "stationarity": (1e-9, 1e-5),
    "curvature": (1e-6, 1e-6),
    "eigengap": (1e-6, 1e-6),
    "eigengap_needed": (1e-6, 1e-6),
}
_SHARE = 1e-12
# Measured seconds of a pair of samples: of one member of a kernel with its derivatives, of a feature of a distance.
_PAIR_S, _FEATURE_S = 2.5e-8, 1e-10
# Samples near a boundary between classes that another rounding of a projection moves across it.
_SAMPLES = 2
# Folds that are kept for the runs of other methods on them: samples only of data sets of at most these bytes.
_KEPT, _KEPT_BYTES = 16, 2**23
# Further from orthonormal columns nothing is computed: norms and kernels may overflow.
_ORTHONORMAL = 0.1
# The referee's bound of what is stationary, the curvature that rounding makes of none, and the angle between optima.
_STATIONARY, _CURVATURE, _ANGLE = 1e-6, -1e-6, np.sin(np.radians(1.0))


@dataclass(frozen=True)
class RunSamples:
    """Standardised training and test rows, which rows of the data set they are, and which labels are judged."""

    train: Array
    test: Array
    train_rows: Rows
    test_rows: Rows
    judged: NDArray[np.bool_]
    n_constant_features: int = 0


def samples_of(definition: Mapping[str, Any], data: Dataset, run: int, seed: int) -> RunSamples:
    """Return the rows of run ``run`` of a cell's definition."""
    train, test = _rows(definition, data, run, seed)
    samples = standardised(data, train, test, own=definition["scaling"] == "own")
    if definition.get("shown") is None:
        return samples
    return replace(samples, judged=~_shown(float(definition["shown"]), data, run, seed))


def standardised(data: Dataset, train: Rows, test: Rows, *, own: bool = False) -> RunSamples:
    """Return rows of a data set, standardised by those to learn from; with ``own`` those to test by themselves."""
    made = _standardised if data.features.nbytes <= _KEPT_BYTES else _standardised.__wrapped__
    return made(data, train.tobytes(), test.tobytes(), own)


@lru_cache(_KEPT)
def _standardised(data: Dataset, train_rows: bytes, test_rows: bytes, own: bool) -> RunSamples:
    train, test = np.frombuffer(train_rows, np.intp), np.frombuffer(test_rows, np.intp)
    features, tested = data.features[train], data.features[test]
    scaler = standardiser_of(features)
    if len(test):
        tested = (standardiser_of(tested) if own else scaler)(tested)
    features, judged = scaler(features), np.ones(len(train), dtype=bool)
    return RunSamples(features, tested, train, test, judged, int((~features.any(axis=0)).sum()))


def _rows(definition: Mapping[str, Any], data: Dataset, run: int, seed: int) -> tuple[Rows, Rows]:
    every = np.arange(len(data.features))
    if definition["split"] == "folds":
        partition, place = divmod(run, int(definition["n_folds"]))
        axes = ("split", data.name, seed, *([partition] if partition else []))
        make = StratifiedKFold if definition["stratified"] else KFold
        return fold_of(make, data.labels, int(definition["n_folds"]), place, seed_from(*axes))
    if definition["n_rows"] is not None:
        drawn = np.random.default_rng(seed_from("subset", data.name, run, seed)).permutation(len(every))
        return np.sort(drawn[: int(definition["n_rows"])]), every[:0]
    return every, every[:0]


def fold_of(make: Any, codes: NDArray[np.int64], n_folds: int, place: int, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to learn from and to test of a fold; ``make`` is the class of the partition."""
    return _folds_of(make, codes.tobytes(), n_folds, seed)[place]


@lru_cache(_KEPT)
def _folds_of(make: Any, content: bytes, n_folds: int, seed: int) -> list[tuple[Rows, Rows]]:
    folds, codes = make(n_folds, shuffle=True, random_state=seed % 2**32), np.frombuffer(content, np.int64)
    with warnings.catch_warnings():
        # Of classes that are smaller than the number of folds.
        warnings.simplefilter("ignore", UserWarning)
        return list(folds.split(codes, codes))


def seed_from(*axes: object) -> int:
    """Return the first 64 bits of the SHA-256 of what decides a draw."""
    return int(hashlib.sha256(repr(axes).encode()).hexdigest()[:16], 16)


def standardiser_of(features: Array) -> Any:
    """Return what centres and divides by the population's standard deviation; constant features become zero."""
    scaler, varied = StandardScaler().fit(features), features.std(axis=0) > 1e-12 * np.abs(features).max(axis=0)
    return lambda rows: scaler.transform(rows) * varied


def _shown(shown: float, data: Dataset, run: int, seed: int) -> NDArray[np.bool_]:
    rng = np.random.default_rng(seed_from("shown", data.name, run, seed))
    result = np.zeros(len(data.labels), dtype=bool)
    for code in np.unique(data.labels):
        members = np.flatnonzero(data.labels == code)
        count = int(shown) if shown >= 1 else max(1, round(shown * len(members)))
        result[rng.permutation(members)[:count]] = True
    return result


def _obstacle(definition: Mapping[str, Any]) -> str:
    """Return why cost and stationarity of many samples are not computed again; empty where they are."""
    if definition["kind"] == "baseline":
        return "baselines"
    if definition["paradigm"] != "supervised":
        return "clusterings, whose embeddings take n x n eigenproblems,"
    kernels = definition["kernel"].get("members", [definition["kernel"]])
    if definition["kernel"].get("weights") == "alignment" or any(one["family"] == "rbf_relative" for one in kernels):
        return "runs with kernels that take n x n arrays"
    return ""


def recompute_s(batch: Batch, row: Row, most: int) -> float:
    """Return about how many seconds cost and stationarity of more than ``most`` samples take; 0 of fewer."""
    definition, n_samples = batch.definition, int(row["n_train"])
    if n_samples <= most or _obstacle(definition):
        return 0.0
    kernels = definition["kernel"].get("members", [definition["kernel"]])
    medians = sum(str(one.get("sigma", "median")).endswith("median") for one in kernels if one["family"] == "gaussian")
    of_medians = medians * (_PAIR_S / 3 + _FEATURE_S * int(row["n_features"]))
    return n_samples**2 * (_PAIR_S * len(kernels) + of_medians)


def recompute(batch: Batch, row: Row, arrays: Arrays, data: Dataset, most: int) -> Recomputed:
    """Return the numbers of a run of IKDR; of more than ``most`` samples cost and stationarity, without n x n arrays.

    Raises ``InputError`` for an array of another shape or type.
    """
    if int(row["n_train"]) > most and (obstacle := _obstacle(batch.definition)):
        return Recomputed({}, (), (f"{obstacle} of more than {most} samples",))
    samples = samples_of(batch.definition, data, int(row["run"]), batch.seed)
    many, hidden = len(samples.train) > most, NOT_STORED in arrays and "projection" not in arrays
    numbers = RunToVerify(batch.definition, samples, data, arrays, row["uses_degrees"] != "False", many).numbers()
    if not row["curvature"] and "curvature" not in numbers:
        # The referee knows neither, such as of a kernel that lacks a second derivative.
        numbers.pop("eigengap", None)
    left_out = {
        f"accuracies and curvatures of runs of more than {most} samples": many,
        "projections that the record does not store": hidden,
        "curvatures in tangent spaces of many dimensions": bool(row["curvature"])
        and not (many or hidden or "curvature" in numbers),
    }
    needed = () if hidden else ("cost",) if many else ("cost", "quality")
    return Recomputed(numbers, needed, tuple(reason for reason, is_so in left_out.items() if is_so))


def recompute_atlas(batch: Batch, row: Row, arrays: Arrays, data: Dataset, most: int) -> Recomputed:
    """Return the counts and the best optimum of a row of an atlas, and with the first solver's all optima of its run.

    Raises ``InputError`` for arrays that are none of an atlas.
    """
    solvers, method = list(batch.definition["solvers"]), row["method"]
    optima, known = arrays.get("optima"), arrays.get("optima_numbers")
    if optima is None and known is None:
        optima, known = np.empty((0, 0, 0)), np.empty((0, 2 + len(solvers)))
    if optima is None or known is None or optima.ndim != 3 or known.shape != (len(optima), 2 + len(solvers)):
        raise InputError("the optima and their numbers are no arrays of k x d x q and k x (2 + solvers)")
    numbers, n_ended = {}, int(row["n_ended"] or 0)
    if row["n_known"]:
        counts = np.round(known[:, 2 + solvers.index(method)] * max(1, n_ended))
        found = {"n_known": len(known), "n_optima": (counts > 0).sum(), "n_certified": counts.sum()}
        if len(known):
            found["best_cost"] = known[0, 0]
            found |= {} if np.isnan(known[0, 1]) else {"best_quality": known[0, 1]}
        numbers = {column: Number(float(value)) for column, value in found.items()}
    n_problems, many = int(batch.definition["n_problems"]), int(row["n_train"]) > most
    if method == solvers[0] and not many:
        definition = batch.definition["solvers"][method]
        samples = samples_of(definition, data, int(row["run"]) % n_problems, batch.seed)
        for number, (projection, (cost, quality)) in enumerate(zip(optima, known[:, :2], strict=True)):
            found = _of_optimum(definition, samples, data, projection, float(cost), float(quality))
            numbers |= {f"{column} of optimum {number}": one for column, one in found.items()}
        for second in range(1, len(optima)):
            # The largest sine of an angle between two spaces.
            gaps = [optima[second] - one @ (one.T @ optima[second]) for one in optima[:second]]
            angle = min(float(np.linalg.norm(gap, 2)) for gap in gaps)
            numbers[f"distance of optimum {second}"] = Number(angle, 0.0, max(angle, _ANGLE))
    left_out = (f"runs of more than {most} samples",) if method == solvers[0] and many else ()
    return Recomputed(numbers, ("n_known", "best_cost"), left_out)


def _of_optimum(
    definition: Mapping[str, Any], samples: RunSamples, data: Dataset, projection: Array, cost: float, quality: float
) -> dict[str, Number]:
    """Return the numbers of an optimum; of a clustering in the form, with degrees or without, whose cost is nearer."""
    forms = [
        RunToVerify(definition, samples, data, {"projection": projection}, uses_degrees).numbers()
        for uses_degrees in ([True] if definition["paradigm"] == "supervised" else [True, False])
    ]
    found = min(forms, key=lambda form: abs(form["cost"].value - cost))
    still = found["stationarity"]
    numbers = {
        "cost": replace(found["cost"], recorded=cost),
        "stationarity": replace(still, recorded=min(still.value, _STATIONARY)),
    }
    if bent := found.get("curvature"):
        numbers["curvature"] = replace(bent, recorded=max(bent.value, _CURVATURE))
    if "quality" in found and not np.isnan(quality):
        numbers["quality"] = replace(found["quality"], recorded=quality)
    return numbers


@dataclass(frozen=True)
class RunToVerify:
    """A run's definition, its samples, its data set, and the arrays that it left.

    ``first_order`` asks for cost and stationarity alone.
    """

    definition: Mapping[str, Any]
    samples: RunSamples
    data: Dataset
    arrays: Arrays
    uses_degrees: bool = True
    first_order: bool = False

    def numbers(self) -> dict[str, Number]:
        """Return the columns of the run's row that can be computed again, only sizes where it left no result.

        Raises ``InputError`` for an array of another shape or type.
        """
        if self.definition["kind"] == "baseline":
            return self._sizes() | self._of_labels()
        if "projection" not in self.arrays:
            return self._sizes() | (self._of_clusters() if NOT_STORED in self.arrays else {})
        projection = self._projection()
        gap = projection.T @ projection - np.eye(projection.shape[1])
        found = self._sizes() | {"n_components": Number(projection.shape[1])}
        found |= self._within({"feasibility": float(np.linalg.norm(gap))})
        members = members_of(self.definition["kernel"], self.samples.train, projection.shape[1], self._classes)
        if self.definition["paradigm"] == "supervised":
            return found | self._supervised(projection, members)
        return found | self._clustering(projection, members)

    @property
    def _classes(self) -> NDArray[np.int64]:
        """The classes of the training samples; -1 for all of a data set without labels."""
        rows = self.samples.train_rows
        return self.data.labels[rows] if self.data.labels.size else np.full(len(rows), -1)

    @property
    def _is_rounded(self) -> bool:
        return "projection" in self.arrays and self.arrays["projection"].dtype == np.float32

    def _within(self, values: Mapping[str, float]) -> dict[str, Number]:
        """Return values by column with what rounding may change."""
        sizes = {name: abs(value) if name == "cost" else max(1.0, abs(value)) for name, value in values.items()}
        return {name: Number(value, TOLERANCES[name][self._is_rounded] * sizes[name]) for name, value in values.items()}

    def _sizes(self) -> dict[str, Number]:
        samples, hidden = self.samples, self.definition.get("shown") is not None
        sizes = {
            "n_train": len(samples.train),
            "n_test": int(samples.judged.sum()) if hidden else len(samples.test),
            "n_features": samples.train.shape[1],
            "n_constant_features": samples.n_constant_features,
        }
        return {name: Number(size) for name, size in sizes.items()}

    def _projection(self) -> Array:
        projection, n_features = self.arrays["projection"], self.samples.train.shape[1]
        if projection.dtype.kind != "f" or projection.ndim != 2 or len(projection) != n_features:
            raise InputError(f"the projection is {projection.dtype} {projection.shape}; it needs {n_features} rows")
        with np.errstate(over="ignore", invalid="ignore"):
            gap = np.linalg.norm(projection.T @ projection - np.eye(projection.shape[1]))
        if not 0 < projection.shape[1] <= n_features or not gap <= _ORTHONORMAL:
            raise InputError(f"the projection of shape {projection.shape} has no orthonormal columns")
        return projection.astype(float)

    def _supervised(self, projection: Array, members: list[Member]) -> dict[str, Number]:
        pairs = Pairs.of_labels(self.samples.train, members, self._classes)
        found = self._first_order(*pairs.first_order(projection), projection)
        if self.first_order:
            return found
        found |= self._within(second_order(pairs, projection))
        train, labels = self.samples.train @ projection, self._classes
        classifier = SVC(gamma=1.0 / projection.shape[1], random_state=0, decision_function_shape="ovo")
        classifier.fit(train, labels)
        right = self._share(classifier.predict(train) == labels)
        if not len(self.samples.test):
            return found | {"quality": replace(right, value=1.0 - right.value)}
        predicted = classifier.predict(self.samples.test @ projection)
        tested = self._share(predicted == self.data.labels[self.samples.test_rows])
        return found | {"quality": tested, "train_accuracy": right}

    def _share(self, is_right: NDArray[np.bool_]) -> Number:
        return Number(float(np.mean(is_right)), _SHARE + (_SAMPLES / len(is_right) if self._is_rounded else 0.0))

    def _clustering(self, projection: Array, members: list[Member]) -> dict[str, Number]:
        parameters, paradigm = self.definition["parameters"], self.definition["paradigm"]
        objective = Clustering(
            self.samples.train,
            members,
            int(parameters["n_clusters"]),
            parameters.get("degrees", "embedding" if paradigm == "unsupervised" else "both"),
            bool(parameters.get("centred", True)),
            self._known(float(parameters.get("mu", 1.0))),
        )
        at = objective.first_order(projection, uses_degrees=self.uses_degrees)
        return self._first_order(*at, projection) | self._of_clusters()

    def _first_order(self, cost: float, gradient: Array, projection: Array) -> dict[str, Number]:
        return self._within({"cost": cost, "stationarity": stationarity(projection, gradient)})

    def _known(self, mu: float) -> list[tuple[float, Array, bool]]:
        paradigm = self.definition["paradigm"]
        if paradigm == "alternative":
            return [(-mu, one_hot(self._given()), True)]
        if paradigm != "semi_supervised":
            return []
        shown, classes = ~self.samples.judged, self._classes
        scores = np.asarray(classes[:, None] == np.unique(classes[shown]), dtype=float)
        return [(mu, np.where(shown[:, None], scores - scores[shown].mean(axis=0), 0.0), False)]

    def _of_clusters(self) -> dict[str, Number]:
        """Return how far the clusters that the run has left agree with what is sought, and with what is given."""
        paradigm, found = self.definition["paradigm"], dict[str, Number]()
        if paradigm == "supervised" or (clusters := self._left("labels", len(self.samples.train))) is None:
            return found
        sought = "classes" if self.data.labels.size else None
        if paradigm == "alternative":
            found["nmi_given"] = _agreement(self._given(), clusters)
            sought = self.definition["labellings"].get("sought")
        if sought is not None:
            judged = self.samples.judged
            found["quality"] = _agreement(self._labelling(sought)[judged], clusters[judged])
        return found

    def _given(self) -> NDArray[Any]:
        """Return the labelling to differ from: one of the data set's, or the clusters that the run has left."""
        name = self.definition["labellings"]["given"]
        if name != "clusters":
            return self._labelling(name)
        if (given := self._left("given", len(self.samples.train))) is None:
            raise InputError("the labelling to differ from is missing")
        return given

    def _left(self, kind: str, n_samples: int) -> NDArray[Any] | None:
        codes = self.arrays.get(kind)
        if codes is not None and (codes.shape != (n_samples,) or codes.dtype.kind not in "iu"):
            raise InputError(f"the {kind} are {codes.dtype} {codes.shape} for {n_samples} samples")
        return codes

    def _labelling(self, name: str) -> NDArray[Any]:
        labellings = {labelling.name: labelling.codes for labelling in self.data.labellings}
        return (self.data.labels if name == "classes" else labellings[name])[self.samples.train_rows]

    def _of_labels(self) -> dict[str, Number]:
        if self.definition["paradigm"] != "supervised":
            return self._of_clusters()
        tested = len(self.samples.test_rows) > 0
        rows = self.samples.test_rows if tested else self.samples.train_rows
        if (labels := self._left("labels", len(rows))) is None:
            return {}
        right = float(np.mean(labels == self.data.labels[rows]))
        return {"quality": Number(right if tested else 1.0 - right, _SHARE)}


def _agreement(labelling: NDArray[Any], clusters: NDArray[Any]) -> Number:
    return Number(float(normalized_mutual_info_score(labelling, clusters, average_method="geometric")), _SHARE)
