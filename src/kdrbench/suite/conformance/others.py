"""The contracts of kernels, metric learners, data sets and baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from kdrbench.baselines import BaselineTask, build_baseline
from kdrbench.baselines.contract import WORK
from kdrbench.datasets import Dataset, load_dataset, load_own, load_registry
from kdrbench.datasets.own import CONTRACT as OF_DATA
from kdrbench.kernels import FAMILIES, Kernel, Pairing, build_kernel, check_definition
from kdrbench.kernels.family import FloatArray, pairing_values
from kdrbench.kernels.registry import CONTRACT as OF_KERNELS
from kdrbench.methods import build_method, load_method
from kdrbench.metric_learning import build_learner
from kdrbench.metric_learning.learner import learn_map
from kdrbench.suite.conformance.common import (
    N_CLASSES,
    Arrays,
    Contract,
    Fault,
    check_options,
    features_and_labels,
    some_projection,
)

Function = Callable[[FloatArray], FloatArray]
_STEPS = 10.0 ** -np.arange(2.0, 9.0)
_EPS = float(np.finfo(float).eps)
# Central differences of a smooth f agree with f' to far less than this share at some step, those of a wrong f' at none.
_AGREEMENT = 1e-4


class KernelContract(Contract):
    """The contract of a kernel."""

    checks: ClassVar = {
        "API": "see docs/extending.md for what a kernel's class has",
        "values": "return a new float array of the shape of beta",
        "derivatives": "derive f once more, by hand or by a computer algebra",
    }

    def _build(self) -> Any:
        return build_kernel({"family": self.place, **self.options}, features_and_labels()[0], 2)

    def _inputs(self) -> Arrays:
        return features_and_labels()[:1]

    def _work(self, plugin: Kernel, arrays: Arrays) -> Arrays:
        beta = pairing_values(plugin.pairing, arrays[0] @ some_projection(arrays[0].shape[1], 2))
        return (*(function(beta) for function in _functions(plugin).values()), beta)

    def _check_api(self) -> None:
        check_definition({"family": self.place, **self.options})
        if self.place in FAMILIES:
            return
        family = load_method("kernel", self.place, {}, OF_KERNELS)
        check_options(family)
        if not isinstance(family.pairing, Pairing):
            raise Fault(
                f"pairing is {family.pairing!r}",
                "write pairing: ClassVar[Pairing] = Pairing.DIFFERENCE (beta is a squared distance) or Pairing.DOT",
            )

    def _check_values(self) -> None:
        kernel = self._build()
        for name, function in _functions(kernel).items():
            beta = _betas(kernel)
            # A value that is not finite is reported with its place.
            with np.errstate(all="ignore"):
                values = np.asarray(function(beta))
            if not np.array_equal(beta, _betas(kernel)):
                raise Fault(
                    f"{name} changes the array it is given", "work on a copy: write beta + 1 in place of beta += 1"
                )
            if values.shape != beta.shape or values.dtype.kind != "f":
                raise Fault(
                    f"{name} maps an array of shape {beta.shape} to one of shape {values.shape}, {values.dtype}",
                    "work elementwise: a constant is numpy.full_like(beta, constant)",
                )
            if not np.isfinite(values).all():
                beta_of = beta[~np.isfinite(values)][0]
                raise Fault(f"{name} is not finite at beta = {beta_of:g}", "give the function its limit there")
            if np.shares_memory(values, beta):
                raise Fault(f"{name} returns beta itself, not a new array", "write beta.copy()")

    def _check_derivatives(self) -> None:
        kernel = self._build()
        functions = _functions(kernel)
        for name, antiderivative in (("derivative", "value"), ("second_derivative", "derivative")):
            beta = _betas(kernel)
            # Off the edge of squared distances; what is restricted to samples keeps its shape.
            if kernel.pairing is Pairing.DIFFERENCE:
                beta = np.maximum(beta, 1e-3 * beta.mean())
            wrong, slope, difference = _disagreement(functions[antiderivative], functions[name], beta)
            if wrong.any():
                worst = np.unravel_index(np.argmax(wrong), wrong.shape)
                raise Fault(
                    f"{name} is not the derivative of {antiderivative}: at beta = {beta[worst]:.6g} it is "
                    f"{slope[worst]:.6g}, differences give {difference[worst]:.6g}",
                    "derive f once more, by hand or by a computer algebra",
                )


def _functions(kernel: Kernel) -> dict[str, Function]:
    return {"value": kernel.value, "derivative": kernel.derivative, "second_derivative": kernel.second_derivative}


def _betas(kernel: Kernel) -> FloatArray:
    """Return beta of all pairs of projected samples; with zeros on the diagonal for differences."""
    features, _ = features_and_labels()
    return pairing_values(kernel.pairing, features @ some_projection(features.shape[1], 2))


def _disagreement(function: Function, derivative: Function, beta: FloatArray) -> tuple[Any, FloatArray, FloatArray]:
    """Return where no step makes differences agree with the derivative, the derivative, and the nearest difference."""
    slope = derivative(beta)
    nearest, excess = np.zeros_like(beta), np.full(beta.shape, np.inf)
    scale = np.abs(beta) + (0.0 if (beta > 0).all() else np.abs(beta).mean())
    for step in _STEPS:
        ahead, behind = function(beta + step * scale), function(beta - step * scale)
        difference = (ahead - behind) / (2 * step * scale)
        rounding = 4 * _EPS * (np.abs(ahead) + np.abs(behind)) / (step * scale)
        size = np.maximum(np.abs(slope), np.abs(difference))
        now = np.abs(slope - difference) - rounding - _AGREEMENT * size
        nearest, excess = np.where(now < excess, difference, nearest), np.minimum(now, excess)
    return excess > 0, slope, nearest


class LearnerContract(Contract):
    """The contract of a metric learner."""

    checks: ClassVar = {
        "API": "see docs/extending.md for what a metric learner's class has",
        "map": "return A, a finite array with a row for each feature; labels may be numbers or words",
    }
    late = ("scipy.optimize", "sklearn.neighbors")

    def _build(self) -> Any:
        return build_learner(self.place, self.options)

    def _work(self, plugin: Any, arrays: Arrays) -> Arrays:
        return (plugin.fit(*arrays),)

    def _check_api(self) -> None:
        self._checked("fit", "features", "labels")

    def _check_map(self) -> None:
        features, labels = features_and_labels()
        learned = learn_map(self._build(), features, labels)
        names = np.array(["one", "two", "three"])[labels]
        if learn_map(self._build(), features, names).shape != learned.shape:
            raise Fault("labels that are words give a map of another shape", "code labels by numpy.unique")


class DataContract(Contract):
    """The contract of a data set; of a registered one the values are verified as they are loaded."""

    checks: ClassVar = {
        "API": "see docs/extending.md for what a data set's class has",
        "values": "return (features, labels) or (features, labels, feature_names), without NaN",
    }
    late = ("sklearn.datasets",)

    def __init__(self, place: str, options: Mapping[str, Any]) -> None:
        super().__init__(place, options)
        self.definition = {"loader": place, **options}
        self.is_registered = place in load_registry()

    def _build(self) -> Any:
        return self.place if self.is_registered else build_method("data set", self.definition, {}, OF_DATA, "loader")

    def _inputs(self) -> Arrays:
        return ()

    def _work(self, plugin: Any, arrays: Arrays) -> Arrays:
        dataset = self._load()
        return dataset.features, dataset.labels

    def _load(self) -> Dataset:
        return load_dataset(self.place) if self.is_registered else load_own("checked", self.definition)

    def _check_api(self) -> None:
        if not self.is_registered:
            self._checked("load")

    def _check_values(self) -> None:
        dataset = self._load()
        if not self.is_registered and len(dataset.labels) == 0:
            raise Fault("it has no labels", "return (features, labels) with one label a sample")
        if not self.is_registered and np.bincount(dataset.labels).min() < 2:
            raise Fault("a class has a single sample, which no cross validation can use", "leave such classes out")


class BaselineContract(Contract):
    """The contract of a baseline."""

    checks: ClassVar = {
        "API": "see docs/baselines.md for what a baseline's class has",
        "labels": "return one label a sample",
    }
    late = ("sklearn.cluster", "sklearn.decomposition", "sklearn.discriminant_analysis", "sklearn.svm")

    def _build(self) -> Any:
        return build_baseline({"method": self.place, **self.options})

    def _work(self, plugin: Any, arrays: Arrays) -> Arrays:
        features, labels = arrays
        rng = np.random.default_rng(0)
        if plugin.task == BaselineTask.CLASSIFICATION:
            return (np.asarray(plugin.fit(features, labels, 2, rng).predict(features)),)
        if plugin.task == BaselineTask.COMPLETION:
            partial = np.where(np.arange(len(labels)) % 2 == 0, labels, -1)
            return (np.asarray(plugin.complete(features, partial, 2, rng)),)
        return (np.asarray(plugin.cluster(features, N_CLASSES, 2, rng)),)

    def _check_api(self) -> None:
        work = WORK[self._build().task]
        self._checked(work, "features", "n_clusters" if work == "cluster" else "labels", "n_components", "rng")

    def _check_labels(self) -> None:
        features, codes = features_and_labels()
        (predicted,) = self._work(self._build(), (features, codes))
        if predicted.shape != codes.shape:
            raise Fault(f"it gives labels of shape {predicted.shape} to {len(codes)} samples", "one label a sample")
        if not set(predicted.tolist()) <= set(range(N_CLASSES)):
            raise Fault(
                f"it gives labels that there are not: {sorted(set(predicted.tolist()))}", "return those of training"
            )
