"""From a cell of a table to its runs: the words by which lists name them, and the command that makes them again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from kdrbench.reports.outputs import result_folder, tables_of
from kdrbench.reports.records import ATLAS, IKDR, KPCA_TRICK, NO_KERNEL, Config, system_of
from kdrbench.reports.tables.labels import dataset_label, kernel_label, low_rank_label, method_label

# Paradigms of which kdrbench run makes a cell alone.
_ALONE = ("supervised", "unsupervised")


@dataclass(frozen=True)
class CellLink:
    """Where a cell's runs are: experiment, the labels that its runs have in lists, empty for all, and a command."""

    experiment: str
    dataset: str
    kernel: str
    method: str
    command: str


def link_of(table: str, axes: tuple[str, ...], config: Config) -> CellLink:
    """Return the link of a cell of a table; ``axes`` are metric, data set, kernel and method, empty for all."""
    reports = tables_of(config)
    name = reports[table].experiments[0] if table in reports else table
    system = system_of(config["experiments"].get(name, {}))
    return CellLink(name, *run_labels(system, *axes[1:]), command_of(name, axes, config))


def links_of(config: Config) -> partial[CellLink]:
    """Return :func:`link_of` for one configuration, which templates call with a table and axes."""
    return partial(link_of, config=config)


def run_labels(system: str, dataset: str, kernel: str, method: str) -> tuple[str, str, str]:
    """Return data set, kernel and method of runs as tables print them; not all systems have a kernel as an axis."""
    of_data = dataset and dataset_label(dataset)
    if system in (IKDR, ATLAS):
        return of_data, kernel and kernel_label(kernel), method and method_label(method)
    return of_data, "", method.upper() if system == KPCA_TRICK else low_rank_label(method)


def command_of(name: str, axes: tuple[str, ...], config: Config) -> str:
    """Return the command that makes the runs of a cell again: it alone, or its experiment where it has no own one.

    ``axes`` are metric, data set, kernel and method.
    """
    experiment, (_, dataset, kernel, method) = config["experiments"].get(name, {}), axes
    components = experiment.get("components", {})
    if kernel == NO_KERNEL or not _is_alone(experiment) or not isinstance(components.get(dataset), int):
        return experiment_command(name, config)
    words = ["kdrbench", "run", dataset, kernel, method, "--config", f"{result_folder(config)}/config.json"]
    words += ["--components", str(components[dataset])]
    words += ["--folds", str(experiment["folds"])] if experiment.get("split", "folds") == "folds" else []
    return shlex.join(words + (["--unsupervised"] if experiment["paradigm"] == "unsupervised" else []))


def experiment_command(name: str, config: Config) -> str:
    """Return the command that makes a target: an experiment, or the file of a job's rows."""
    # Several files may follow --configfile; two dashes end them.
    overlay = ["--configfile", f"{result_folder(config)}/config.json", "--"] if config.get("name") else []
    return shlex.join(["snakemake", "--cores", "all", *overlay, name])


def _is_alone(experiment: Mapping[str, object]) -> bool:
    return experiment.get("paradigm") in _ALONE and not {"evaluation", "partitions", "rows"} & set(experiment)
