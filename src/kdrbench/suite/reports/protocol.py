"""Whether runs follow the protocol of what a paper prints, by which alone they are compared with it.

The one rule for all reports: cells of tables, the list of published numbers, the claims. ``protocols.toml`` holds the
protocols: those of the papers' own experiments in ``config.yaml``. A run of two folds departs from them, and so does
one with another q, or with a kernel or solver of the same name but another definition: it is shown, and judged by
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from kdrbench.errors import InputError, unknown_name
from kdrbench.solvers.registry import NAMED
from kdrbench.status import Status
from kdrbench.suite.findings.finding import listed
from kdrbench.suite.findings.outcome import STOPPED_EARLY
from kdrbench.suite.reports.declared import declared
from kdrbench.suite.reports.records import LOW_RANK, NO_KERNEL, Config
from kdrbench.suite.reports.tables.labels import dataset_label
from kdrbench.suite.systems import system_name

if TYPE_CHECKING:
    import pandas as pd

# The columns that name a cell of a merged table, as far as a departure may depend on them.
_AXES = ("dataset", "kernel", "method")
# What says a setting of `published` that only an experiment by the paper's own protocol reproduces.
_OWN = frozenset({"table", "setting"})
_LIMITS = {
    "time_s": (Status.TIME_LIMIT, "time_limit_s", "s"),
    "memory_mib": (Status.MEMORY_LIMIT, "memory_limit_mib", "MiB"),
}
_SHOWN = 4
_WORDS = {"components": "q"}


def departure(
    experiment: Mapping[str, Any], config: Config, dataset: str = "", kernel: str = "", method: str = ""
) -> str:
    """Return why runs of a cell of an experiment cannot be compared with what its paper prints; empty where they can.

    Experiments that name no paper depart from nothing. What ``experiment`` and ``config`` leave out is not compared.
    """
    if "paper" not in experiment.get("published", {}):
        return ""
    reasons = list(chain(*(_differences(experiment, protocol, dataset) for protocol in _protocols_of(experiment))))
    if dataset in config.get("datasets", {}):
        reasons.append(f"{dataset} is a data set of your own")
    is_low_rank = system_name(experiment) == LOW_RANK
    methods = "low_rank_methods" if is_low_rank else "baselines" if kernel == NO_KERNEL else "solvers"
    reasons += [*_redefined(config, "kernels", kernel), *_redefined(config, methods, method)]
    return "; ".join(dict.fromkeys(reasons))


def comparable(runs: pd.DataFrame, config: Config) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """Return the rows that may be compared with what papers print, and experiment and reason of the others.

    A cell of which a run was stopped at a lower limit than the paper's is left out, too: given its time, the method may
    have ended elsewhere.
    """
    rows, left_out = by_protocol(runs, config)
    if rows.empty:
        return rows, left_out
    early = rows[STOPPED_EARLY] != ""
    reasons = zip(rows.loc[early, "experiment"].astype(str), rows.loc[early, STOPPED_EARLY], strict=True)
    return rows[~early], list(dict.fromkeys((*left_out, *reasons)))


def by_protocol(runs: pd.DataFrame, config: Config) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """Return the rows of experiments that depart from no paper's protocol, and experiment and reason of the others.

    Their column :data:`STOPPED_EARLY` says which cells were stopped at lower limits than the paper's. Of these the
    time is a lower bound, and where the method would have ended is open. Raises ``InputError`` for an experiment that
    the configuration does not define.
    """
    import pandas as pd

    if runs.empty:
        return runs, []
    known = sorted(config["experiments"])
    if strange := sorted({*map(str, runs["experiment"])} - {*known}):
        raise InputError(
            f"the merged table is of another configuration: {unknown_name('experiment', strange[0], known)} "
            "Name the configuration by which it was made, or another folder of results"
        )
    axes = ["experiment", *(axis for axis in _AXES if axis in runs)]
    reasons, early = pd.Series("", index=runs.index), pd.Series("", index=runs.index)
    for place, cell in runs.groupby(axes, sort=False, dropna=False):
        name, *values = map(str, place)
        names = dict(zip(axes[1:], values, strict=True))
        reasons[cell.index] = departure(config["experiments"][name], config, **names)
        early[cell.index] = "; ".join(_stopped_early(cell, config["experiments"][name], names))
    left_out = zip(runs["experiment"].astype(str), reasons, strict=True)
    rows = runs.assign(**{STOPPED_EARLY: early})[reasons == ""]
    return rows, list(dict.fromkeys((name, reason) for name, reason in left_out if reason))


def is_imitation(experiment: Mapping[str, Any]) -> bool:
    """Return whether an experiment follows another protocol or reading of a paper, to explain its numbers."""
    return bool(experiment.get("published", {}).get("protocol", False))


def printed_components(paper: str, setting: str) -> Mapping[str, int]:
    """Return by data set the number of components that a paper's tables of a setting are printed with."""
    of = {"paper": paper, "setting": setting}
    required = next(protocol for protocol in declared("protocols")["protocol"] if protocol["of"] == of)
    return dict(required["of_data"]["components"])


def departures_in_words(left_out: Sequence[tuple[str, str]]) -> str:
    """Return experiments and reasons of :func:`comparable` as one sentence, the first few of many."""
    return listed([f"{name}: {reason}" for name, reason in left_out], _SHOWN)


def _protocols_of(experiment: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    published = {"protocol": False, **experiment["published"], "system": system_name(experiment)}
    for protocol in declared("protocols")["protocol"]:
        imitation = published["protocol"] and not _OWN.isdisjoint(protocol["of"])
        # An experiment that names no table of the paper reproduces none.
        named = _OWN.isdisjoint(protocol["of"]) or "table" in published
        if named and not imitation and all(published.get(key) == value for key, value in protocol["of"].items()):
            yield protocol


def _differences(experiment: Mapping[str, Any], protocol: Mapping[str, Any], dataset: str) -> Iterator[str]:
    for key, required in protocol.get("asks", {}).items():
        ours = _value(experiment, key, required)
        if key == "folds" and experiment.get("split", "folds") != "folds":
            # Draws of rows, of which there may be any number.
            continue
        if ours != required:
            yield f"{ours} {key}, printed of {required}" if key.endswith("folds") else _unlike(key, ours, required)
    for key, by_data in protocol.get("of_data", {}).items():
        ours, required = (values.get(dataset, values.get("default")) for values in (experiment.get(key, {}), by_data))
        if None not in (ours, required) and ours != required:
            yield _unlike(f"{_WORDS.get(key, key)} of {dataset_label(dataset)}", ours, required)
    for key, least in protocol.get("at_least", {}).items():
        if experiment.get(key, least) < least:
            yield f"{experiment[key]} {key}, at least {least} are asked for"


def _value(experiment: Mapping[str, Any], key: str, required: Any) -> Any:
    """Return what an experiment says, or what holds where it says nothing."""
    usual = declared("protocols")["usual"].get(key, required)
    if not isinstance(required, Mapping):
        # What says nothing of its split and has no folds is a part of an experiment.
        return experiment.get(key, required if key == "split" and "folds" not in experiment else usual)
    return {**{name: usual[name] for name in required if name in usual}, **experiment.get(key, {})}


def _unlike(what: str, ours: Any, required: Any) -> str:
    return f"{what} is {_text(ours)}, printed with {_text(required)}"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(part)}" for key, part in value.items()) or "none"
    return f"{len(value)} values" if isinstance(value, Sequence) and not isinstance(value, str) else str(value)


def _redefined(config: Config, section: str, name: str) -> Iterator[str]:
    """Yield how a kernel or method differs from the one that the papers' name means."""
    required = (NAMED if section == "solvers" else declared("protocols")[section]).get(name)
    ours = config.get(section, {}).get(name)
    if required is None or not ours:
        return
    for key in {**required, **ours}:
        if key != "settings" and ours.get(key) != required.get(key):
            yield _unlike(f"{key} of {name}", ours.get(key, "not given"), required.get(key, "none"))


def _stopped_early(cell: pd.DataFrame, experiment: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    protocols = _protocols_of(experiment) if "published" in experiment else ()
    limits = [protocol["limits"] for protocol in protocols if "limits" in protocol]
    for key, (status, column, unit) in _LIMITS.items():
        for most in (limit[key] for limit in limits if column in cell):
            stopped = cell.loc[cell["status"] == str(status), column]
            if (stopped < most).any():
                at = f"{stopped.min():g} {unit}, at most {most:g} {unit} are allowed"
                yield f"{names.get('method')} on {dataset_label(names.get('dataset', ''))} was stopped at {at}"
