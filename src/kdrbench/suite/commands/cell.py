"""The configuration of the one cell that `kdrbench run` makes, and faults of it in the words of its options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kdrbench.errors import ConfigError, InputError, unknown_name

if TYPE_CHECKING:
    from kdrbench.datasets import DatasetEntry

EXPERIMENT = "run"
# Seconds for which a short solve is repeated, so that its warm time is shown beside that of the first.
REPEAT_FOR_S = 0.1
_OPTIONS = {"time_s": "time_limit", "memory_mib": "memory_limit"}
_OF_EXPERIMENT = {"folds": "--folds", "components": "--components", "start": "--start"}
_OF_EXPERIMENT |= {"datasets": "DATASET", "kernels": "KERNEL", "solvers": "SOLVER"}
# Of a run for which neither an option nor a configuration has limits.
_UNSET = {"time_s": 60.0, "memory_mib": 4096}


def cell_config(
    resolved: Mapping[str, Any],
    dataset: str,
    kernel: str,
    solver: str,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the configuration of an experiment with one cell; names mean first what they mean in ``resolved``.

    So do limits that no option sets.
    """
    if settings["unsupervised"] and settings["folds"]:
        raise InputError(
            "--folds and --unsupervised exclude each other: clusters say nothing of test rows; leave one out"
        )
    from kdrbench.solvers.registry import definition_of

    paradigm = "unsupervised" if settings["unsupervised"] else "supervised"
    experiment: dict[str, Any] = {"title": "one cell", "paradigm": paradigm, "start": "surrogate"}
    families = resolved.get("kernels", {})
    family = dict(families.get(kernel, {"family": kernel})) | settings["kernel_options"]
    defined = definition_of(solver, resolved.get("solvers", {})) | settings["options"]
    if settings["start"]:
        defined["start"] = settings["start"]
    data_name, definitions = _data(dataset, resolved.get("datasets", {}), settings.get("data_options", {}))
    names = {"kernels": _short(kernel), "solvers": _short(solver)}
    experiment |= {"datasets": [data_name], "split": "folds" if settings["folds"] else "none"}
    experiment |= {"kernels": [names["kernels"]], "solvers": [names["solvers"]]}
    experiment["components"] = {data_name: settings["components"] or _usual(data_name, definitions)}
    if settings["folds"]:
        experiment |= {"folds": settings["folds"], "runs_per_job": settings["folds"]}
    configured = resolved.get("limits", {})
    limits = {key: settings[_OPTIONS[key]] or configured.get(key, limit) for key, limit in _UNSET.items()}
    return {
        "seed": settings["seed"],
        "run": [EXPERIMENT],
        "data": {"mirror": ""},
        "limits": limits,
        "timing": {"repeat_for_s": REPEAT_FOR_S, "threads": 1},
        "datasets": definitions,
        "kernels": {names["kernels"]: family},
        "solvers": {names["solvers"]: defined},
        "experiments": {EXPERIMENT: experiment},
    }


def _data(name: str, definitions: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the short name of a data set, and its definition with ``options`` if it is the user's own."""
    from kdrbench.datasets.tables import table_of
    from kdrbench.methods import is_own

    if name in definitions:
        short, definition = name, definitions[name]
    elif table := table_of(name):
        short, definition = table
    elif is_own("data set", name, ()):
        short, definition = _short(name), {"loader": name}
    elif options:
        raise InputError(f"--data-option is for data of your own, not for {name!r}; leave it out")
    else:
        return name, {}
    return short, {short: {**definition, **options}}


def _short(place: str) -> str:
    """Return a name for files and tables: that of the file, or of the class."""
    name = place.rpartition(":")[2] if ":" in place else Path(place).stem
    return "".join(letter if letter.isalnum() or letter in "_-" else "_" for letter in name)


def _usual(name: str, definitions: Mapping[str, Any]) -> int:
    from kdrbench.datasets import registry_of

    if name not in (registry := registry_of({"datasets": definitions})):
        raise InputError(f"{unknown_name('data set', name, sorted(registry))} One of your own is named path/to/file.py")
    return usual_components(registry[name])


def usual_components(entry: DatasetEntry) -> int:
    """Return q where it is not given: the number of classes, but less than that of features.

    With as many components as features W only rotates the samples: kernels do not see that, and all solvers tie.
    """
    return max(1, min(len(entry.class_counts), entry.n_features - 1))


def by_options(
    fault: ConfigError, resolved: Mapping[str, Any], dataset: str, kernel: str, solver: str, settings: Mapping[str, Any]
) -> ConfigError:
    """Return a fault of the configuration of a cell in the words of the command that asked for it.

    What is of the user's own configuration, ``resolved``, keeps its place there.
    """
    words = {rf"experiments\.{EXPERIMENT}\.{key}": word for key, word in _OF_EXPERIMENT.items()}
    words |= {rf"limits\.{key}": f"--{name.replace('_', '-')}" for key, name in _OPTIONS.items() if settings[name]}
    for kind, name, argument, option in (
        ("datasets", dataset, "DATASET", ""),
        ("kernels", kernel, "KERNEL", "--kernel-option"),
        ("solvers", solver, "SOLVER", "--option"),
    ):
        if option and settings["options" if kind == "solvers" else "kernel_options"]:
            words[rf"{kind}\.[\w-]+(?=: (unknown|kernel|solver) option)"] = option
        if name not in resolved.get(kind, {}):
            words[rf"{kind}\.[\w-]+"] = argument
    text = str(fault)
    for place, word in words.items():
        text = re.sub(rf"^config: {place}(\.[\w-]+)?(?=[ :])", word, text)
    return ConfigError(text)
