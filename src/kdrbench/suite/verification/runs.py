"""The numbers of one run, computed again from its samples and from what it left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score
from sklearn.svm import SVC

from kdrbench.errors import InputError
from kdrbench.suite.verification import rounding
from kdrbench.suite.verification.clusters import Objective, Term, known_terms
from kdrbench.suite.verification.members import Array, Member, members_of
from kdrbench.suite.verification.number import Number
from kdrbench.suite.verification.pairs import FirstOrder, Pairs, stationarity
from kdrbench.suite.verification.samples import RunSamples
from kdrbench.suite.verification.second_order import curvature, eigengap, number_of, of_second_order

# Costs of the record are compared to this share, as its own gate does; rounding comes on top.
_COST = 1e-9
# An entry of W'W is a sum of d products of size 1 in all, and one of the gap is known no better.
_ENTRY = 8 * np.finfo(float).eps
_SHARE = 1e-12
# Further from orthonormal columns nothing is computed: norms and kernels may overflow.
_ORTHONORMAL = 0.1
# Directions of the tangent space up to which curvature is computed again.
_MOST_DIRECTIONS = 60
# Up to which the referee knows an eigengap.
_DIRECTIONS_OF_GAPS = 400


@dataclass(frozen=True)
class RunToVerify:
    """A run's definition, its samples, the classes of its data set, the labellings, and the arrays that it left.

    Of many samples ``first_order`` asks for cost and stationarity alone, which take no n x n arrays.
    """

    definition: Mapping[str, Any]
    samples: RunSamples
    labels: NDArray[np.int64]
    labellings: Mapping[str, NDArray[np.int64]]
    arrays: Mapping[str, NDArray[Any]]
    uses_degrees: bool = True
    first_order: bool = False

    def numbers(self) -> dict[str, Number]:
        """Return the columns of the run's row that can be computed again; none where it left no result.

        Raises ``InputError`` for an array of another shape or type.
        """
        if self.definition["kind"] == "baseline":
            return self._sizes() | self._of_labels()
        if "projection" not in self.arrays:
            return self._sizes() | (self._of_clusters() if self.is_left_out else {})
        projection = self._projection()
        gap = projection.T @ projection - np.eye(projection.shape[1])
        found = self._sizes() | {
            "n_components": Number(projection.shape[1], 0.0),
            "feasibility": Number(float(np.linalg.norm(gap)), _feasibility(projection, self.is_rounded)),
        }
        members = members_of(self.definition["kernel"], self.samples.train, projection.shape[1], self._classes)
        if self.definition["paradigm"] == "supervised":
            return found | self._supervised(projection, members)
        return found | self._clustering(projection, members)

    @property
    def _classes(self) -> NDArray[np.int64]:
        """The classes of the training samples; -1 for all of a data set without labels."""
        rows = self.samples.train_rows
        return self.labels[rows] if self.labels.size else np.full(len(rows), -1)

    @property
    def is_rounded(self) -> bool:
        """Whether the projection was rounded to float32, as packed records hold it."""
        return "projection" in self.arrays and self.arrays["projection"].dtype == np.float32

    @property
    def is_left_out(self) -> bool:
        """Whether the record says that it does not store the projection."""
        return "not_stored" in self.arrays and "projection" not in self.arrays

    def _sizes(self) -> dict[str, Number]:
        samples = self.samples
        hidden = self.definition.get("shown") is not None
        sizes = {
            "n_train": len(samples.train),
            "n_test": int(samples.judged.sum()) if hidden else len(samples.test),
            "n_features": samples.train.shape[1],
            "n_constant_features": samples.n_constant_features,
        }
        return {name: Number(size, 0.0) for name, size in sizes.items()}

    def _projection(self) -> Array:
        projection, n_features = self.arrays["projection"], self.samples.train.shape[1]
        if projection.dtype.kind != "f" or projection.ndim != 2 or len(projection) != n_features:
            raise InputError(f"the projection is {projection.dtype} {projection.shape}; it needs {n_features} rows")
        if not 0 < projection.shape[1] <= n_features or not _is_orthonormal(projection):
            raise InputError(f"the projection of shape {projection.shape} has no orthonormal columns")
        return projection.astype(float)

    def _supervised(self, projection: Array, members: list[Member]) -> dict[str, Number]:
        pairs = Pairs.of_labels(self.samples.train, members, self._classes)
        found = self._first_order(pairs.first_order, pairs.gradient, projection)
        if self.first_order:
            return found
        if (least := curvature(pairs, projection, _MOST_DIRECTIONS)) is not None:
            found |= of_second_order(pairs, projection, least, self.is_rounded)
        elif 0 < (len(projection) - projection.shape[1]) * projection.shape[1] <= _DIRECTIONS_OF_GAPS:
            found["eigengap"] = number_of(eigengap(pairs, projection), projection, self.is_rounded)
        train, labels = self.samples.train @ projection, self._classes
        classifier = SVC(gamma=1.0 / projection.shape[1], random_state=0, decision_function_shape="ovo")
        classifier.fit(train, labels)
        right = float(np.mean(classifier.predict(train) == labels))
        if not len(self.samples.test):
            return found | {"quality": self._share(1.0 - right, classifier, train)}
        test = self.samples.test @ projection
        tested = float(np.mean(classifier.predict(test) == self.labels[self.samples.test_rows]))
        return found | {
            "quality": self._share(tested, classifier, test),
            "train_accuracy": self._share(right, classifier, train),
        }

    def _share(self, share: float, classifier: SVC, samples: Array) -> Number:
        """Return a share of samples that the classifier labels rightly, or wrongly."""
        wider = (lambda: _SHARE + rounding.share_in_doubt(classifier, samples)) if self.is_rounded else None
        return Number(share, _SHARE, wider)

    def _clustering(self, projection: Array, members: list[Member]) -> dict[str, Number]:
        parameters, paradigm = self.definition["parameters"], self.definition["paradigm"]
        objective = Objective(
            self.samples.train,
            members,
            int(parameters["n_clusters"]),
            parameters.get("degrees", "embedding" if paradigm == "unsupervised" else "both"),
            bool(parameters.get("centred", True)),
            self._known(),
        )

        def at(projection: Array) -> FirstOrder:
            return objective.at(projection, uses_degrees=self.uses_degrees).first_order()

        return self._first_order(at, lambda one: at(one).gradient, projection) | self._of_clusters()

    def _of_clusters(self) -> dict[str, Number]:
        """Return what the labels of a clustering say, without its projection."""
        paradigm, found = self.definition["paradigm"], dict[str, Number]()
        if paradigm == "supervised":
            return found
        if (clusters := self._left("labels", len(self.samples.train))) is None:
            return found
        if paradigm == "alternative":
            found["nmi_given"] = Number(_agreement(self._given(), clusters), _SHARE)
        sought = self.definition["labellings"].get("sought") if paradigm == "alternative" else "classes"
        if sought is not None and (sought != "classes" or self.labels.size):
            found["quality"] = self._agreement_with(sought, clusters)
        return found

    def _first_order(
        self, at: Callable[[Array], FirstOrder], gradient_at: Callable[[Array], Array], projection: Array
    ) -> dict[str, Number]:
        """Return cost and stationarity; |(I - WW') G| / |G| moves by at most twice what G does, over |G|."""
        here = at(projection)
        by_sums = 2.0 * here.gradient_rounding / float(np.linalg.norm(here.gradient))
        of_cost, moved, wider = here.cost_rounding, by_sums, None
        if self.is_rounded:
            of_cost += rounding.of_cost(projection, here.gradient)

            def by_rounding(steps: int) -> float:
                bent = rounding.largest_slope(projection, here.gradient, gradient_at, steps)
                return by_sums + rounding.of_stationarity(projection, here.gradient, bent)

            moved, wider = by_rounding(1), partial(by_rounding, rounding.STEPS)
        return {
            "cost": Number(here.cost, _COST * abs(here.cost) + of_cost),
            "stationarity": Number(stationarity(projection, here.gradient), moved, wider),
        }

    def _known(self) -> tuple[Term, ...]:
        paradigm, parameters = self.definition["paradigm"], dict(self.definition["parameters"])
        if paradigm == "alternative":
            return known_terms(paradigm, parameters, self._given())
        shown = np.where(self.samples.judged, -1, self._classes)
        return known_terms(paradigm, parameters, shown)

    def _given(self) -> NDArray[Any]:
        """Return the labelling to differ from: one of the data set's, or the clusters that the run has left."""
        name = self.definition["labellings"]["given"]
        if name != "clusters":
            return self._labelling(name)
        if (given := self._left("given", len(self.samples.train))) is None:
            raise InputError("the labelling to differ from is missing")
        return given

    def _left(self, kind: str, n_samples: int) -> NDArray[Any] | None:
        """Return the codes that the run has left for each sample, if any."""
        codes = self.arrays.get(kind)
        if codes is not None and (codes.shape != (n_samples,) or codes.dtype.kind not in "iu"):
            raise InputError(f"the {kind} are {codes.dtype} {codes.shape} for {n_samples} samples")
        return codes

    def _labelling(self, name: str) -> NDArray[Any]:
        codes = self.labels if name == "classes" else self.labellings[name]
        return codes[self.samples.train_rows]

    def _agreement_with(self, labelling: str, clusters: NDArray[Any]) -> Number:
        judged = self.samples.judged
        return Number(_agreement(self._labelling(labelling)[judged], clusters[judged]), _SHARE)

    def _of_labels(self) -> dict[str, Number]:
        """Return the quality of a baseline's labels."""
        tested = self.definition["paradigm"] == "supervised" and len(self.samples.test_rows) > 0
        rows = self.samples.test_rows if tested else self.samples.train_rows
        if (labels := self._left("labels", len(rows))) is None:
            return {}
        if self.definition["paradigm"] != "supervised":
            return {"quality": self._agreement_with("classes", labels)} if self.labels.size else {}
        right = float(np.mean(labels == self.labels[rows]))
        return {"quality": Number(right if tested else 1.0 - right, _SHARE)}


def _feasibility(projection: Array, is_rounded: bool) -> float:
    """Return how far |W'W - I| may be from another's: a sum of d products in each of q^2 entries."""
    d, q = projection.shape
    return float(_ENTRY * d**0.5 * q) + (rounding.of_feasibility(projection) if is_rounded else 0.0)


def _is_orthonormal(projection: NDArray[Any]) -> bool:
    """Return whether W'W is near the identity; how near is the column ``feasibility``."""
    with np.errstate(over="ignore", invalid="ignore"):
        gap = projection.T @ projection - np.eye(projection.shape[1])
        return bool(np.linalg.norm(gap) <= _ORTHONORMAL)


def _agreement(labelling: NDArray[Any], clusters: NDArray[Any]) -> float:
    """Return NMI with the geometric mean of both entropies."""
    return float(normalized_mutual_info_score(labelling, clusters, average_method="geometric"))
