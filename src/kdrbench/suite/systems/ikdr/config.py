"""One experiment of the configuration: the checks that a schema cannot make, and what it leaves to defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any

import numpy as np

from kdrbench.baselines import BaselineTask, build_baseline
from kdrbench.datasets.own import registry_of
from kdrbench.datasets.registry import DatasetEntry
from kdrbench.errors import DataError, InputError
from kdrbench.evaluation import STREAMED_FAMILIES, Evaluation
from kdrbench.kernels import check_definition
from kdrbench.paradigms import build_task
from kdrbench.solvers.registry import build_solver, method_of, unknown_solver
from kdrbench.suite.engine.system import Config
from kdrbench.suite.systems.ikdr.definition import CLUSTERS, EIGENGAP, INTEGERS, LABELS, NO_KERNEL, Paradigm
from kdrbench.suite.systems.ikdr.folds import CLASSES, Sampling, Scaling, Split
from kdrbench.suite.systems.schemas import unknown_names

# Suffix of the methods of a reference that is shown beside one's own runs.
REFERENCE = "_reference"
# What says how a partition is drawn.
_OF_FOLDS = ("partitions", "stratified", "scaling")
# What a baseline must be for to be compared with a paradigm's solvers.
_TASKS = {
    Paradigm.SUPERVISED: (BaselineTask.CLASSIFICATION,),
    Paradigm.UNSUPERVISED: (BaselineTask.CLUSTERING,),
    Paradigm.SEMI_SUPERVISED: (BaselineTask.CLUSTERING, BaselineTask.COMPLETION),
    Paradigm.ALTERNATIVE: (),
}


class Settings(StrEnum):
    """Whose settings a solver has.

    Those of the first author's code, those of the method's own paper or package, those by which all converge, or
    others, as a user's own solver has.
    """

    AUTHORS = "authors"
    PUBLISHED = "published"
    CONVERGED = "converged"
    OTHER = "other"

    @property
    def has_own_rule(self) -> bool:
        """Whether "converged" is what the method's own authors call so, and not stationarity."""
        return self in (Settings.AUTHORS, Settings.PUBLISHED)


def settings_of(config: Config) -> dict[str, Settings]:
    """Return by name the settings that each solver declares; what declares none has others."""
    solvers = config.get("solvers", {})
    return {name: Settings(definition.get("settings", Settings.OTHER)) for name, definition in solvers.items()}


def split_of(experiment: Config) -> Split:
    """Return what the experiment's runs are made on."""
    return Split(experiment.get("split", Split.FOLDS))


def runs_of(experiment: Config) -> int:
    """Return how many runs a cell has: folds of its partitions, subsets, draws of shown labels, or one on all rows."""
    return int(experiment.get("folds", 1)) * int(experiment.get("partitions", 1))


def is_redrawn(experiment: Config) -> bool:
    """Return whether the folds are drawn several times: to see how far means move, not to compare methods again."""
    return int(experiment.get("partitions", 1)) > 1


def sampling_of(experiment: Config, dataset: str) -> Sampling:
    """Return how the runs of a data set get their samples."""
    split = split_of(experiment)
    return Sampling(
        split,
        n_folds=int(experiment.get("folds", 1)),
        n_rows=experiment["rows"][dataset] if split is Split.SUBSETS else None,
        partitions=int(experiment.get("partitions", 1)),
        stratified=bool(experiment.get("stratified", True)),
        scaling=Scaling(experiment.get("scaling", Scaling.TRAINING)),
    )


def is_scaling(name: str) -> bool:
    """Return whether an experiment measures time against size, as its name says: ``scaling`` is one of its words."""
    return "scaling" in name.split("_")


def parameters_of(experiment: Config, entry: DatasetEntry) -> dict[str, Any]:
    """Return the task's parameters; as many clusters as there are classes, where no other number is named."""
    parameters = dict(experiment.get("paradigm_params", {}))
    if experiment["paradigm"] == Paradigm.SUPERVISED:
        return parameters
    if experiment["paradigm"] == Paradigm.ALTERNATIVE:
        asked = experiment["labellings"][entry.name]
        sought = _labellings_of(entry).get(asked.get("sought", ""), {})
        return {"n_clusters": asked.get("n_clusters", len(sought)), **parameters}
    return {"n_clusters": len(entry.class_counts), **parameters}


def labellings_of(experiment: Config, dataset: str) -> dict[str, str]:
    """Return the names of the labelling ``given`` to alternative clustering and of the one ``sought``, if any are."""
    asked = experiment.get("labellings", {}).get(dataset, {})
    return {key: asked[key] for key in ("given", "sought") if key in asked}


def _labellings_of(entry: DatasetEntry) -> dict[str, Mapping[str, int]]:
    return {**({CLASSES: entry.classes} if entry.classes else {}), **entry.labellings}


def faults_of_sections(config: Config) -> Iterator[str]:
    """Yield kernels, solvers and baselines that cannot be built, and names that results would share.

    A baseline's must not be a solver's, nor a kernel's the word for none.
    """
    builders: dict[str, Callable[[Any], object]] = {
        "kernels": check_definition,
        "solvers": lambda definition: build_solver(method_of(definition)),
        "baselines": build_baseline,
    }
    for section, build in builders.items():
        for name, definition in config.get(section, {}).items():
            try:
                build(definition)
            except (InputError, DataError) as error:
                yield f"{section}.{name}: {error}"
    for section in ("solvers", "baselines"):
        for name in (name for name in config.get(section, {}) if name.endswith(REFERENCE)):
            own = f"{name.removesuffix(REFERENCE) or 'mine'}_own"
            yield f"{section}.{name}: names that end in {REFERENCE} are those of a record shown beside; take {own}"
    if NO_KERNEL in config.get("kernels", {}):
        yield f"kernels.{NO_KERNEL}: the name means that there is no kernel; choose another"
    for name in sorted(set(config.get("solvers", {})) & set(config.get("baselines", {}))):
        yield f"baselines.{name}: a solver has this name too; give one of them another"


def faults_of(experiment: Config, config: Config) -> Iterator[str]:
    """Yield the faults of an experiment that a schema cannot find; each begins with its key."""
    registry = registry_of(config)
    for key, kind, allowed in (
        ("datasets", "data set", registry),
        ("kernels", "kernel", config.get("kernels", {})),
        ("baselines", "baseline", config.get("baselines", {})),
        ("components", "data set", registry),
        ("rows", "data set", registry),
    ):
        yield from unknown_names(key, kind, experiment.get(key, ()), allowed)
    solvers = config.get("solvers", {})
    yield from (f"solvers: {unknown_solver(name, solvers)}" for name in experiment["solvers"] if name not in solvers)
    yield from _faults_of_kernels(experiment, config)
    yield from _faults_of_baselines(experiment, config.get("baselines", {}))
    yield from _faults_of_starts(experiment, config)
    yield from _faults_of_split(experiment)
    for entry in (registry[dataset] for dataset in experiment["datasets"]):
        if experiment["paradigm"] == Paradigm.ALTERNATIVE and entry.lacks != "features":
            yield from _faults_of_labellings(experiment, entry)
        elif entry.lacks:
            yield f"datasets: data set {entry.name!r} has no {entry.lacks}; experiments need them"
        yield from _faults_of_components(experiment, entry)
        yield from _faults_of_samples(experiment, entry)
        yield from _faults_of_parameters(experiment, entry)


def _faults_of_kernels(experiment: Config, config: Config) -> Iterator[str]:
    kernels, scheduler = config["kernels"], experiment.get("evaluation", {}).get("scheduler")
    for name in experiment["kernels"]:
        if kernels[name].get("weights") == "alignment" and experiment["paradigm"] != Paradigm.SUPERVISED:
            yield (
                f"kernels: the weights of {name!r} are aligned with labels, which an {experiment['paradigm']} "
                "experiment has not; name a kernel with given weights"
            )
    if scheduler is None:
        return
    try:
        Evaluation(scheduler=scheduler)
    except InputError as error:
        yield f"evaluation.scheduler: {error}"
    for name in experiment["kernels"]:
        if (family := kernels[name]["family"]) not in STREAMED_FAMILIES:
            yield (
                f"evaluation.scheduler: the kernel {name!r} is of the family {family!r}, which needs all pairs of "
                f"samples; choose among the families {', '.join(STREAMED_FAMILIES)}, or leave the scheduler out"
            )


def _faults_of_starts(experiment: Config, config: Config) -> Iterator[str]:
    for name in experiment["solvers"]:
        definition, paradigm = config["solvers"][name], experiment["paradigm"]
        many, start = f"solvers: {name!r} has {definition.get('starts')} starts", definition.get("start")
        if "starts" in definition and paradigm != Paradigm.SUPERVISED:
            yield f"{many}, which is for supervised experiments; this one is {paradigm}: leave starts out"
        elif "starts" in definition and (start or experiment["start"]) != "random":
            yield f"{many} that are all the same; write start: random in solvers.{name}, or leave starts out"


def _faults_of_baselines(experiment: Config, defined: Config) -> Iterator[str]:
    tasks = {name: build_baseline(definition).task for name, definition in defined.items()}
    wanted, paradigm = _TASKS[experiment["paradigm"]], experiment["paradigm"]
    fitting = ", ".join(sorted(name for name, task in tasks.items() if task in wanted))
    for name in experiment.get("baselines", []):
        if tasks[name] not in wanted:
            yield (
                f"baselines: {name!r} is a baseline of {tasks[name]}; this experiment is {paradigm}, where these fit: "
                f"{fitting or 'none'}"
            )


def _faults_of_labellings(experiment: Config, entry: DatasetEntry) -> Iterator[str]:
    asked, known = experiment.get("labellings", {}).get(entry.name), _labellings_of(entry)
    place = f"labellings.{entry.name}"
    if asked is None:
        yield f"labellings names no given labelling for data set {entry.name!r}"
        return
    for key, allowed in (("given", [*known, CLUSTERS]), ("sought", list(known))):
        yield from unknown_names(f"{place}.{key}", "labelling", [asked[key]] if key in asked else (), allowed)
    if "sought" not in asked and "n_clusters" not in asked:
        yield f"{place} names no labelling that is sought; its n_clusters must be given"


def _faults_of_components(experiment: Config, entry: DatasetEntry) -> Iterator[str]:
    components, dataset, n_features = experiment["components"].get(entry.name), entry.name, entry.n_features
    place = f"components.{dataset} is {components!r}"
    is_judged = experiment["paradigm"] != Paradigm.ALTERNATIVE and "published" not in experiment
    if components is None:
        yield f"components names no number of components for data set {dataset!r}"
    elif components == EIGENGAP:
        for name in experiment.get("baselines", ()):
            yield f"{place}, a rule for solvers, which {name!r} of baselines has not; name a number, or no baselines"
    elif components > n_features:
        yield f"{place}; data set {dataset!r} has {n_features} features, so it must be between 1 and {n_features}"
    elif is_judged and components == n_features > 1:
        yield (
            f"{place}, as many as data set {dataset!r} has features: then W only rotates the samples, no kernel sees "
            f"that, and all solvers tie; give at most {components - 1}"
        )


def _faults_of_parameters(experiment: Config, entry: DatasetEntry) -> Iterator[str]:
    if experiment["paradigm"] == Paradigm.SUPERVISED:
        if (named := experiment.get("paradigm_params", {})) not in ({}, {LABELS: INTEGERS}):
            yield (
                f"paradigm_params is {named}; supervised experiments have no parameters but {LABELS}: {INTEGERS}, an "
                "error of published runs"
            )
        return
    try:
        # Two labels are a labelling; a task is only checked for whether it can be built.
        given = None if experiment["paradigm"] == Paradigm.UNSUPERVISED else np.arange(2)
        build_task(experiment["paradigm"], parameters_of(experiment, entry), np.zeros((2, 1)), given)
    except InputError as error:
        yield f"paradigm_params: {error}"


def _faults_of_split(experiment: Config) -> Iterator[str]:
    split, folds, paradigm = split_of(experiment), experiment.get("folds"), experiment["paradigm"]
    if (paradigm == Paradigm.SEMI_SUPERVISED) != ("shown" in experiment):
        need = "needs a number of labels shown of each class, or a share below 1"
        yield f"shown: a semi-supervised experiment {need}; others have none, and this one is {paradigm}"
    if split is Split.FOLDS and paradigm != Paradigm.SUPERVISED:
        yield (
            f"split is 'folds'; clusters of training rows say nothing of test rows, so {paradigm} experiments need "
            "split: none (all rows, once) or subsets"
        )
    if split is Split.NONE and folds not in (None, 1) and paradigm != Paradigm.SEMI_SUPERVISED:
        yield f"folds is {folds}; with split: none all rows are used once, so leave it out"
    if split is not Split.NONE and folds is None:
        yield f"folds is missing; split: {split} needs it"
    if split is Split.FOLDS and folds is not None and folds < 2:
        yield f"folds is {folds}; it must be at least 2"
    if split is not Split.SUBSETS and "rows" in experiment:
        yield f"rows is set with split: {split}; only split: subsets draws rows"
    for key in (key for key in _OF_FOLDS if split is not Split.FOLDS and key in experiment):
        yield f"{key} is set with split: {split}; only split: folds makes partitions"


def _faults_of_samples(experiment: Config, entry: DatasetEntry) -> Iterator[str]:
    split, largest = split_of(experiment), max(entry.class_counts, default=0)
    of_class = f"the largest class of data set {entry.name!r} has {largest} samples"
    if experiment.get("shown", 0) >= largest > 0:
        yield f"shown is {experiment['shown']}; {of_class}, so it must be below that, or a share below 1"
    if split is Split.FOLDS and experiment["folds"] > largest:
        yield f"folds is {experiment['folds']}; {of_class}, so it must be at most that"
    rows, n = experiment.get("rows", {}).get(entry.name), entry.n_samples
    if split is Split.SUBSETS and rows is None:
        yield f"rows names no number of rows for data set {entry.name!r}"
    elif split is Split.SUBSETS and rows > n:
        yield f"rows.{entry.name} is {rows}; data set {entry.name!r} has {n} samples, so it must be between 2 and {n}"
