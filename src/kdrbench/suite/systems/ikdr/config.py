"""One experiment of the configuration: the checks that a schema cannot make, and what it leaves to defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import numpy as np

from kdrbench.baselines import BaselineTask, build_baseline
from kdrbench.datasets.own import registry_of
from kdrbench.datasets.registry import DatasetEntry
from kdrbench.errors import ConfigError, DataError, InputError
from kdrbench.evaluation import STREAMED_FAMILIES, Evaluation
from kdrbench.kernels import check_definition
from kdrbench.paradigms import build_task
from kdrbench.solvers.registry import build_solver, method_of, unknown_solver
from kdrbench.suite.engine.system import Config
from kdrbench.suite.systems.ikdr.definition import (
    ALTERNATIVE,
    CLUSTERS,
    EIGENGAP,
    INTEGERS,
    LABELS,
    NO_KERNEL,
    SEMI_SUPERVISED,
    SUPERVISED,
    UNSUPERVISED,
)
from kdrbench.suite.systems.ikdr.folds import CLASSES, Sampling, Scaling, Split
from kdrbench.suite.systems.schemas import check_names

# Suffix of the methods of a reference that is shown beside one's own runs.
REFERENCE = "_reference"
# What says how a partition is drawn.
_OF_FOLDS = ("partitions", "stratified", "scaling")
# What a baseline must be for to be compared with a paradigm's solvers.
_TASKS = {
    SUPERVISED: (BaselineTask.CLASSIFICATION,),
    UNSUPERVISED: (BaselineTask.CLUSTERING,),
    SEMI_SUPERVISED: (BaselineTask.CLUSTERING, BaselineTask.COMPLETION),
    ALTERNATIVE: (),
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
    if experiment["paradigm"] == SUPERVISED:
        return parameters
    if experiment["paradigm"] == ALTERNATIVE:
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


def check_sections(config: Config) -> None:
    """Raise ``ConfigError`` for the first kernel, solver or baseline that cannot be built, or whose name is taken."""
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
                raise ConfigError(f"config: {section}.{name}: {error}") from error
    for section in ("solvers", "baselines"):
        for name in config.get(section, {}):
            if name.endswith(REFERENCE):
                raise ConfigError(
                    f"config: {section}.{name}: names that end in {REFERENCE} are those of a record beside one's own "
                    f"runs; choose another, such as {name.removesuffix(REFERENCE) or 'mine'}_own"
                )
    # Results lie under names: a baseline's must not be a solver's, nor a kernel's the word for none.
    if NO_KERNEL in config.get("kernels", {}):
        raise ConfigError(f"config: kernels.{NO_KERNEL}: the name means that there is no kernel; choose another")
    if shared := sorted(set(config.get("solvers", {})) & set(config.get("baselines", {}))):
        raise ConfigError(f"config: baselines.{shared[0]}: a solver has this name too; give one of them another")


def check_experiment(place: str, experiment: Config, config: Config) -> None:
    """Raise ``ConfigError`` for the first fault of the experiment at ``place``."""
    registry = registry_of(config)
    for key, kind, allowed in (
        ("datasets", "data set", registry),
        ("kernels", "kernel", config.get("kernels", {})),
        ("baselines", "baseline", config.get("baselines", {})),
        ("components", "data set", registry),
        ("rows", "data set", registry),
    ):
        check_names(f"{place}.{key}", kind, experiment.get(key, ()), allowed)
    for name in experiment["solvers"]:
        if name not in (solvers := config.get("solvers", {})):
            raise ConfigError(f"config: {place}.solvers: {unknown_solver(name, solvers)}")
    _check_kernels(place, experiment, config)
    _check_baselines(place, experiment, config)
    _check_scheduler(place, experiment, config)
    _check_starts(place, experiment, config)
    _check_shown(place, experiment)
    _check_split(place, experiment)
    for dataset in experiment["datasets"]:
        lacks = registry[dataset].lacks
        if experiment["paradigm"] == ALTERNATIVE and lacks != "features":
            _check_labellings(place, experiment, registry[dataset])
        elif lacks:
            raise ConfigError(f"config: {place}.datasets: data set {dataset!r} has no {lacks}; experiments need them")
        _check_components(place, experiment, registry[dataset])
        _check_samples(place, experiment, registry[dataset])
        _check_parameters(place, experiment, registry[dataset])


def _check_kernels(place: str, experiment: Config, config: Config) -> None:
    aligned = [name for name in experiment["kernels"] if config["kernels"][name].get("weights") == "alignment"]
    if aligned and experiment["paradigm"] != SUPERVISED:
        raise ConfigError(
            f"config: {place}.kernels: the weights of {aligned[0]!r} are aligned with labels, which an "
            f"{experiment['paradigm']} experiment has not; name a kernel with given weights"
        )


def _check_scheduler(place: str, experiment: Config, config: Config) -> None:
    if (scheduler := experiment.get("evaluation", {}).get("scheduler")) is None:
        return
    try:
        Evaluation(scheduler=scheduler)
    except InputError as error:
        raise ConfigError(f"config: {place}.evaluation.scheduler: {error}") from error
    for name in experiment["kernels"]:
        if (family := config["kernels"][name]["family"]) not in STREAMED_FAMILIES:
            raise ConfigError(
                f"config: {place}.evaluation.scheduler: the kernel {name!r} is of the family {family!r}, which needs "
                f"all pairs of samples; a scheduler computes those of the families {', '.join(STREAMED_FAMILIES)}: "
                "choose among them, or leave the scheduler out"
            )


def _check_starts(place: str, experiment: Config, config: Config) -> None:
    for name in experiment["solvers"]:
        definition = config["solvers"][name]
        if "starts" not in definition:
            continue
        if experiment["paradigm"] != SUPERVISED:
            raise ConfigError(
                f"config: {place}.solvers: {name!r} has {definition['starts']} starts, which is for supervised "
                f"experiments; this one is {experiment['paradigm']}, and a start is that of an alternation: leave "
                "starts out"
            )
        start = definition.get("start", experiment["start"])
        if start != "random":
            raise ConfigError(
                f"config: {place}.solvers: {name!r} has {definition['starts']} starts that are all the same, since its "
                f"start is {start!r}; write start: random in solvers.{name}, or leave starts out"
            )


def _check_baselines(place: str, experiment: Config, config: Config) -> None:
    wanted = _TASKS[experiment["paradigm"]]
    if not wanted and experiment.get("baselines"):
        raise ConfigError(
            f"config: {place}.baselines: {experiment['baselines'][0]!r} does not fit an experiment that is "
            f"{experiment['paradigm']}: no baseline differs from a given labelling; leave them out"
        )
    tasks = {name: build_baseline(definition).task for name, definition in config.get("baselines", {}).items()}
    for name in experiment.get("baselines", []):
        if tasks[name] not in wanted:
            fitting = ", ".join(sorted(other for other, task in tasks.items() if task in wanted))
            raise ConfigError(
                f"config: {place}.baselines: {name!r} is a baseline of {tasks[name]}; this experiment is "
                f"{experiment['paradigm']}, where these fit: {fitting or 'none that is defined'}"
            )


def _check_labellings(place: str, experiment: Config, entry: DatasetEntry) -> None:
    asked, known = experiment.get("labellings", {}).get(entry.name), _labellings_of(entry)
    if asked is None:
        raise ConfigError(f"config: {place}.labellings names no given labelling for data set {entry.name!r}")
    for key, allowed in (("given", [*known, CLUSTERS]), ("sought", list(known))):
        check_names(
            f"{place}.labellings.{entry.name}.{key}", "labelling", [asked[key]] if key in asked else (), allowed
        )
    if "sought" not in asked and "n_clusters" not in asked:
        raise ConfigError(
            f"config: {place}.labellings.{entry.name} names no labelling that is sought; its n_clusters must be given"
        )


def _check_shown(place: str, experiment: Config) -> None:
    if (experiment["paradigm"] == SEMI_SUPERVISED) != ("shown" in experiment):
        raise ConfigError(
            f"config: {place}.shown: a semi-supervised experiment says how many labels of each class are shown, a "
            f"number or a share below 1; this one is {experiment['paradigm']} and "
            f"{'says' if 'shown' in experiment else 'does not say'} so"
        )


def _check_components(place: str, experiment: Config, entry: DatasetEntry) -> None:
    components, dataset = experiment["components"].get(entry.name), entry.name
    if components is None:
        raise ConfigError(f"config: {place}.components names no number of components for data set {dataset!r}")
    if components == EIGENGAP and experiment.get("baselines"):
        raise ConfigError(
            f"config: {place}.components.{dataset} is {EIGENGAP!r}, a rule for the solvers' problems, which "
            f"{experiment['baselines'][0]!r} of {place}.baselines has not; name a number, or leave baselines out"
        )
    if components != EIGENGAP and components > entry.n_features:
        raise ConfigError(
            f"config: {place}.components.{dataset} is {components}; data set {dataset!r} has {entry.n_features} "
            f"features, so it must be between 1 and {entry.n_features}"
        )
    judged = experiment["paradigm"] != ALTERNATIVE and "published" not in experiment
    if judged and components == entry.n_features > 1:
        raise ConfigError(
            f"config: {place}.components.{dataset} is {components}, as many as data set {dataset!r} has features: then "
            f"W only rotates the samples, no kernel sees that, and all solvers tie; give at most {components - 1}"
        )


def _check_parameters(place: str, experiment: Config, entry: DatasetEntry) -> None:
    if experiment["paradigm"] == SUPERVISED:
        if (named := experiment.get("paradigm_params", {})) not in ({}, {LABELS: INTEGERS}):
            raise ConfigError(
                f"config: {place}.paradigm_params is {named}; supervised experiments have no parameters but "
                f"{LABELS}: {INTEGERS}, an error of published runs"
            )
        return
    try:
        # Two labels are a labelling; a task is only checked for whether it can be built.
        given = None if experiment["paradigm"] == UNSUPERVISED else np.arange(2)
        build_task(experiment["paradigm"], parameters_of(experiment, entry), np.zeros((2, 1)), given)
    except InputError as error:
        raise ConfigError(f"config: {place}.paradigm_params: {error}") from error


def _check_split(place: str, experiment: Config) -> None:
    split, folds = split_of(experiment), experiment.get("folds")
    if split is Split.FOLDS and experiment["paradigm"] != SUPERVISED:
        raise ConfigError(
            f"config: {place}.split is 'folds'; clusters of training rows say nothing of test rows, so "
            f"{experiment['paradigm']} experiments need split: none (all rows, once) or subsets"
        )
    if split is Split.NONE and folds not in (None, 1) and experiment["paradigm"] != SEMI_SUPERVISED:
        raise ConfigError(f"config: {place}.folds is {folds}; with split: none all rows are used once, so leave it out")
    if split is not Split.NONE and folds is None:
        raise ConfigError(f"config: the key 'folds' is missing in {place}; split: {split} needs it")
    if split is Split.FOLDS and folds is not None and folds < 2:
        raise ConfigError(f"config: {place}.folds is {folds}; it must be at least 2")
    if split is not Split.SUBSETS and "rows" in experiment:
        raise ConfigError(f"config: {place}.rows is set with split: {split}; only split: subsets draws rows")
    for key in _OF_FOLDS:
        if split is not Split.FOLDS and key in experiment:
            raise ConfigError(f"config: {place}.{key} is set with split: {split}; only split: folds makes partitions")


def _check_samples(place: str, experiment: Config, entry: DatasetEntry) -> None:
    dataset, split = entry.name, split_of(experiment)
    if experiment.get("shown", 0) >= max(entry.class_counts, default=0) > 0:
        raise ConfigError(
            f"config: {place}.shown is {experiment['shown']}; the largest class of data set {dataset!r} has "
            f"{max(entry.class_counts)} samples, so no label would be hidden: it must be below that, or a share below 1"
        )
    if split is Split.FOLDS and experiment["folds"] > max(entry.class_counts):
        raise ConfigError(
            f"config: {place}.folds is {experiment['folds']}; the largest class of data set {dataset!r} has "
            f"{max(entry.class_counts)} samples, so it must be at most that"
        )
    if split is Split.SUBSETS:
        rows = experiment.get("rows", {}).get(dataset)
        if rows is None:
            raise ConfigError(f"config: {place}.rows names no number of rows for data set {dataset!r}")
        if rows > entry.n_samples:
            raise ConfigError(
                f"config: {place}.rows.{dataset} is {rows}; data set {dataset!r} has {entry.n_samples} samples, so it "
                f"must be between 2 and {entry.n_samples}"
            )
