"""`kdrbench new experiment`: a configuration with which one's own solvers, kernels and data are run at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from kdrbench.datasets import registry_of
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.datasets.tables import table_of
from kdrbench.errors import InputError, unknown_name
from kdrbench.solvers.registry import CONTROLS, NAMED, SOLVERS, unknown_solver
from kdrbench.suite.commands.options import CHECKOUT, read_configs
from kdrbench.suite.commands.run import short_name, usual_components
from kdrbench.suite.conformance.subject import find_subject, registered_names
from kdrbench.suite.experiments.config import RESERVED_EXPERIMENTS, RESERVED_NAMES
from kdrbench.suite.findings.claim_rows import FOLDS, TABLE_4
from kdrbench.suite.reports.protocol import printed_components
from kdrbench.suite.reports.tables.published_numbers import published_numbers

# Where each kind is defined, the key of its place there, and what an experiment runs beside one's own.
_SECTIONS = {"dataset": ("datasets", "loader"), "kernel": ("kernels", "family"), "solver": ("solvers", "method")}
_FOLDS = 5
# What names a paper's printed numbers.
_AXES = ("paper", "table", "setting")
_OF_PAPERS = "     # those of NeurIPS 2019, Table 4, as in the record of the papers"
_BESIDE = {"datasets": ["wine"], "kernels": ["gaussian"], "solvers": ["ism_converged", "random"]}


def new_experiment(
    name: str,
    parts: Sequence[str],
    out: Path,
    options: Mapping[str, Any] = MappingProxyType({}),
    published: str = "",
) -> dict[str, str]:
    """Return by name the file to write, and its text: an overlay that runs the files ``parts`` under the name of each.

    A part may be the name of a registered data set, solver or control, which needs no definition. ``options`` are those
    of the user's own data. ``published`` names the printed numbers to compare with, as paper:table:setting.

    Raises ``InputError`` for a name that is none or taken, for a part that is no solver, kernel, data set or table, and
    for numbers that no paper prints.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise InputError(f"an experiment is named by letters, digits, '-' and '_'; got {name!r}")
    refuse_taken("experiment", name)
    sections: dict[str, dict[str, Any]] = {}
    named: dict[str, list[str]] = {section: [] for section in _BESIDE}
    registered = {name.casefold(): name for name in load_registry()}
    for part in dict.fromkeys(parts):
        if part.casefold() in registered:
            section, short = "datasets", registered[part.casefold()]
        elif part in NAMED:
            section, short = "solvers", part
        else:
            section, short, definition = defined(part, options)
            refuse_taken(section.removesuffix("s"), short)
            if short in sections.setdefault(section, {}):
                raise InputError(f"two {section} would be called {short!r}; rename one of the files")
            sections[section][short] = definition
        named[section].append(short)
    if options and not sections.get("datasets"):
        raise InputError("--data-option is for tables of data, and none is among the parts; leave it out")
    named["datasets"] = named["datasets"] or _BESIDE["datasets"]
    named["kernels"] += _BESIDE["kernels"]
    # Columns of like settings are side by side.
    first = _BESIDE["solvers"][0]
    named["solvers"] = sorted(dict.fromkeys([*named["solvers"], *_BESIDE["solvers"]]), key=lambda name: name != first)
    file, registry = f"config.{name}.yaml", registry_of({"datasets": sections.get("datasets", {})})
    # q of the papers' data sets, by which the record of the papers has rows of the same problems.
    printed = printed_components(TABLE_4.paper, TABLE_4.setting)
    of_papers = set(named["datasets"]) <= set(printed)
    text = files("kdrbench.suite").joinpath("templates", "experiment.txt").read_text(encoding="utf-8")
    filled = text.format(
        name=name,
        title=f"{name}: {', '.join(sections.get('solvers', {}) or named['solvers'])}",
        command=command_of(out / file),
        sections="".join(f"\n{_dumped({section: own}, None)}" for section, own in sections.items()),
        components=_flow({one: printed.get(one) or usual_components(registry[one]) for one in named["datasets"]}),
        folds=FOLDS if of_papers else _folds(registry[one] for one in named["datasets"]),
        why=_OF_PAPERS if of_papers else "",
        published=f"\n    published: {_flow(_printed(published))}" if published else "",
        **{section: json.dumps(names) for section, names in named.items()},
    )
    return {file: filled}


def refuse_taken(kind: str, name: str) -> None:
    """Raise ``InputError`` for a name that kdrbench has, or the config.yaml that configurations are laid over."""
    there = [path for path in (Path("config.yaml"), CHECKOUT / "config.yaml") if path.is_file()]
    taken = {*read_configs(tuple(there[:1])).get(f"{kind}s", ())}
    taken |= RESERVED_EXPERIMENTS | RESERVED_NAMES if kind == "experiment" else {*registered_names(kind)}
    if name in taken or (kind == "solver" and name in NAMED):
        raise InputError(
            f"the name {name!r} is taken: kdrbench or config.yaml has it; choose another, such as my_{name}"
        )


def _folds(entries: Iterable[DatasetEntry]) -> int:
    """Return a number of folds that the largest class of each data set has members for."""
    return max(2, min([_FOLDS, *(max(entry.class_counts, default=_FOLDS) for entry in entries)]))


def command_of(path: Path) -> str:
    """Return what is typed to run a configuration, in a checkout or elsewhere."""
    elsewhere = not Path("Snakefile").is_file() and (CHECKOUT / "Snakefile").is_file()
    snakefile = f"--snakefile {CHECKOUT}/Snakefile " if elsewhere else ""
    return f"snakemake {snakefile}--cores 2 --configfile {path.as_posix()}"


def _printed(published: str) -> dict[str, str]:
    """Return the key ``published`` of an experiment; ``InputError`` where no paper prints such numbers."""
    printed = dict(zip(_AXES, published.split(":", len(_AXES) - 1), strict=False))
    if not published_numbers(**printed):
        tables = list(dict.fromkeys(":".join(number[axis] for axis in _AXES) for number in published_numbers()))
        raise InputError(f"--published: {unknown_name('printed numbers', published, tables)}")
    return printed


def defined(part: str, options: Mapping[str, Any] = MappingProxyType({})) -> tuple[str, str, dict[str, Any]]:
    """Return the section of a file, a name for it, and its definition; ``InputError`` where no section is for it."""
    if table := table_of(part):
        short, definition = table
        return "datasets", short, {**definition, **options}
    if part in {**SOLVERS, **CONTROLS}:
        raise InputError(unknown_solver(part, NAMED))
    if (kind := find_subject(part).kind) not in _SECTIONS:
        raise InputError(f"{part} is a {kind}; an experiment like this runs solvers, kernels and data sets")
    section, key = _SECTIONS[kind]
    return section, short_name(part), {key: part}


def _flow(value: object) -> str:
    return _dumped(value, True).strip()


def _dumped(value: object, flow: bool | None) -> str:
    return yaml.safe_dump(value, default_flow_style=flow, width=10_000, sort_keys=False)
