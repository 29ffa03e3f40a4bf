"""The contracts of metric learners, data sets and baselines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kdrbench.baselines import BaselineTask, build_baseline
from kdrbench.baselines.contract import WORK
from kdrbench.datasets import Dataset, load_dataset, load_own, load_registry
from kdrbench.datasets.own import CONTRACT as OF_DATA
from kdrbench.methods import build_method, load_method
from kdrbench.metric_learning import build_learner
from kdrbench.metric_learning.learner import learn_map
from kdrbench.suite.conformance.common import (
    N_CLASSES,
    Arrays,
    Case,
    Check,
    Fault,
    check_options,
    check_signature,
    common_checks,
    features_and_labels,
)

_SEED = 0


def learner_checks(place: str, options: Mapping[str, Any]) -> list[Check]:
    """Return the checks of the metric learner at a place."""

    def build() -> Any:
        return build_learner(place, options)

    def api() -> None:
        learner = build()
        check_options(type(learner))
        check_signature(learner, "fit", ("features", "labels"))

    def learns() -> None:
        features, labels = features_and_labels()
        learned = learn_map(build(), features, labels)
        names = np.array(["one", "two", "three"])[labels]
        if learn_map(build(), features, names).shape != learned.shape:
            raise Fault("labels that are words give a map of another shape", "code labels by numpy.unique")

    return [
        Check("API", api, "see docs/extending.md for what a metric learner's class has"),
        Check("map", learns, "return A, a finite array with a row for each feature; labels may be numbers or words"),
        *common_checks(Case(build, features_and_labels, lambda learner, arrays: (learner.fit(*arrays),))),
    ]


def data_checks(place: str, options: Mapping[str, Any]) -> list[Check]:
    """Return the checks of the data set at a place; of a registered one the values are verified as they are loaded."""
    registered = place in load_registry()

    def load() -> Dataset:
        return load_dataset(place) if registered else load_own("checked", {"loader": place, **options})

    def build() -> Any:
        return place if registered else build_method("data set", {"loader": place, **options}, {}, OF_DATA, "loader")

    def api() -> None:
        if not registered:
            check_options(load_method("data set", place, {}, OF_DATA))
            check_signature(build(), "load", ())

    def labelled() -> None:
        dataset = load()
        if not registered and len(dataset.labels) == 0:
            raise Fault("it has no labels", "return (features, labels) with one label a sample")
        if not registered and np.bincount(dataset.labels).min() < 2:
            raise Fault("a class has a single sample, which no cross validation can use", "leave such classes out")

    def work(plugin: Any, arrays: Arrays) -> Arrays:
        dataset = load()
        return dataset.features, dataset.labels

    return [
        Check("API", api, "see docs/extending.md for what a data set's class has"),
        Check("values", labelled, "return (features, labels) or (features, labels, feature_names), without NaN"),
        *common_checks(Case(build, lambda: (), work)),
    ]


def baseline_checks(place: str, options: Mapping[str, Any]) -> list[Check]:
    """Return the checks of the baseline at a place."""

    def build() -> Any:
        return build_baseline({"method": place, **options})

    def api() -> None:
        baseline = build()
        check_options(type(baseline))
        work = WORK[baseline.task]
        second = "n_clusters" if work == "cluster" else "labels"
        check_signature(baseline, work, ("features", second, "n_components", "rng"))

    def labels() -> None:
        features, codes = features_and_labels()
        (predicted,) = _referred(build(), (features, codes))
        if predicted.shape != codes.shape:
            raise Fault(f"it gives labels of shape {predicted.shape} to {len(codes)} samples", "one label a sample")
        if not set(predicted.tolist()) <= set(range(N_CLASSES)):
            raise Fault(
                f"it gives labels that there are not: {sorted(set(predicted.tolist()))}", "return those of training"
            )

    return [
        Check("API", api, "see docs/baselines.md for what a baseline's class has"),
        Check("labels", labels, "return one label a sample"),
        *common_checks(Case(build, features_and_labels, _referred)),
    ]


def _referred(baseline: Any, arrays: Arrays) -> Arrays:
    features, labels = arrays
    rng = np.random.default_rng(_SEED)
    if baseline.task == BaselineTask.CLASSIFICATION:
        return (np.asarray(baseline.fit(features, labels, 2, rng).predict(features)),)
    if baseline.task == BaselineTask.COMPLETION:
        partial = np.where(np.arange(len(labels)) % 2 == 0, labels, -1)
        return (np.asarray(baseline.complete(features, partial, 2, rng)),)
    return (np.asarray(baseline.cluster(features, N_CLASSES, 2, rng)),)
