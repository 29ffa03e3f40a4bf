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
# By their places in the configuration of a cell: the words of `kdrbench run`.
_WORDS = {rf"experiments\.{EXPERIMENT}\.{key}": f"--{key}" for key in ("folds", "components", "start")}
_WORDS |= {r"limits\.time_s": "--time-limit", r"limits\.memory_mib": "--memory-limit"}
_WORDS |= {r"kernels\.[\w-]+(?=: (unknown|kernel) option)": "--kernel-option"}
_WORDS |= {r"solvers\.[\w-]+(?=: (unknown|solver) option)": "--option"}
_WORDS |= {rf"({kind}s\.[\w-]+|experiments\.{EXPERIMENT}\.{kind}s)": kind.upper() for kind in ("kernel", "solver")}
_WORDS |= {rf"(datasets\.[\w-]+|experiments\.{EXPERIMENT}\.datasets)": "DATASET"}


def cell_config(dataset: str, kernel: str, solver: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of an experiment with one cell."""
    if settings["unsupervised"] and settings["folds"]:
        raise InputError(
            "--folds and --unsupervised exclude each other: clusters say nothing of test rows; leave one out"
        )
    from kdrbench.solvers.registry import definition_of

    defined = definition_of(solver, {}) | settings["options"]
    if settings["start"]:
        defined["start"] = settings["start"]
    data_name, definitions = _data(dataset, settings.get("data_options", {}))
    experiment: dict[str, Any] = {
        "title": "one cell",
        "paradigm": "unsupervised" if settings["unsupervised"] else "supervised",
        "start": "surrogate",
        "datasets": [data_name],
        "kernels": [_short(kernel)],
        "solvers": [_short(solver)],
        "components": {data_name: settings["components"] or _usual(data_name, definitions)},
        "split": "folds" if settings["folds"] else "none",
    }
    if settings["folds"]:
        experiment |= {"folds": settings["folds"], "runs_per_job": settings["folds"]}
    return {
        "seed": settings["seed"],
        "run": [EXPERIMENT],
        "data": {"mirror": ""},
        "limits": {"time_s": settings["time_limit"], "memory_mib": settings["memory_limit"]},
        "timing": {"repeat_for_s": REPEAT_FOR_S, "threads": 1},
        "datasets": definitions,
        "kernels": {_short(kernel): {"family": kernel, **settings["kernel_options"]}},
        "solvers": {_short(solver): defined},
        "experiments": {EXPERIMENT: experiment},
    }


def _data(name: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the short name of a data set, and its definition with ``options`` if it is the user's own."""
    from kdrbench.datasets.tables import table_of
    from kdrbench.methods import is_own

    if table := table_of(name):
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


def by_options(fault: ConfigError) -> ConfigError:
    """Return a fault of the configuration of a cell in the words of the command that asked for it."""
    text = str(fault)
    for place, word in _WORDS.items():
        text = re.sub(rf"^config: {place}(\.[\w-]+)?(?=[ :])", word, text)
    return ConfigError(text)
