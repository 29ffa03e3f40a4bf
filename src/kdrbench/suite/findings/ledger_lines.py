"""The lines of the ledger: each published number beside ours, with two verdicts, reasons and the published protocol.

Tables of IKDR, of the KPCA trick and of low-rank kernels give numbers and effects; papers also say things in words,
curves or orders of growth: iterations, exponents of time, a drawn figure.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from kdrbench.status import Status
from kdrbench.suite.findings.effects import Effect, EffectFound, difference_of_cells, effect_of, our_difference
from kdrbench.suite.findings.outcome import steady_times
from kdrbench.suite.reports.protocol import comparable, departure, departures_in_words
from kdrbench.suite.reports.records import IKDR, KPCA_TRICK, Config, Metric, experiments_of, is_scaling
from kdrbench.suite.reports.tables.cells import TIMES, summarise
from kdrbench.suite.reports.tables.labels import CONVERGED
from kdrbench.suite.reports.tables.numbers import agreement, percentage
from kdrbench.suite.reports.tables.published_numbers import (
    PublishedNumber,
    find_published,
    numbers_of,
    printed_table,
    published_numbers,
)
from kdrbench.suite.reports.tables.significance import interval_of
from kdrbench.suite.reports.tables.verdicts import Compared, Verdict
from kdrbench.suite.systems.ikdr.partitions import Partitions
from kdrbench.suite.systems.ikdr.size_series import ALL_PAIRS, PowerLaw, size_series
from kdrbench.suite.systems.ikdr.tables import IkdrCell, compared_cells, published_axes
from kdrbench.suite.systems.kpca_trick.cells import (
    METRIC,
    PAPER,
    PLAIN,
    SETTING,
    TABLES,
    KpcaCell,
    kpca_cells,
    kpca_published_wdl,
)
from kdrbench.suite.systems.kpca_trick.config import VARIANTS
from kdrbench.suite.systems.low_rank import tables as low_rank

NO_EXPERIMENT = "no experiment that was run has this cell"
# What is written where a number differs, or is only close, and readings.toml gives no reason.
UNEXPLAINED = "no reason is known"
# Where folds were drawn once.
NO_SPREAD = "how this mean varies is not known: no experiment with partitions was run"
Axes = dict[str, str]
# Of which the others' difference is taken.
_REFERENCE, _GAUSSIAN, _LINEAR = "ism", "gaussian", "linear"
_KERNELS_COMPARED = ("neurips2019", "5")
TRAINING = "training accuracy"
_TRAINING_COLUMN = "train_accuracy"
_QUALITY = frozenset(map(str, Metric))
Place = tuple[str, ...]
_ALIGNED, _CENTRED = "aligned", "centred"
# Rows by experiment, data set, kernel and method.
_Groups = Mapping[tuple[Hashable, ...], pd.DataFrame]
_NOTHING, _LEARNED, _VON_NEUMANN = "none", "learned", "von_neumann"
# Of an exponent: what an interval may miss the printed one by, and what is called close.
_NEAR, _CLOSE, _WIDEST = 0.1, 0.25, 1.0
# Shares of runs within a range of iterations.
_NEARLY_ALL, _HALF = 0.9, 0.5
_AXES = {"exponent_n": "n_train", "exponent_d": "n_features", "exponent_q": "n_components"}
_UNLIKE = (Verdict.CLOSE, Verdict.DIFFERS)
_OF_CELLS = "a count of the table's cells; what is known of their differences is said of each"
# Papers, and experiments of ours whose runs decide what their text says.
_TEXT = "text"


@dataclass(frozen=True)
class Ours:
    """Our number for a published one, from the experiment or method ``label``.

    ``effect`` is the second verdict, ``converged`` that of the same methods run until they converge. ``protocol`` holds
    what comes out by the published protocol: (label, cell) of each run that follows it. A ``stand_in`` for data that
    are not to be had is shown, and judged by nothing.
    """

    label: str
    compared: Compared
    effect: EffectFound = field(default_factory=EffectFound)
    converged: EffectFound = field(default_factory=EffectFound)
    protocol: Sequence[tuple[str, Compared]] = ()
    stand_in: bool = False


@dataclass(frozen=True)
class Comparison:
    """One published number, the experiment that has its cell, and how ours compares.

    A number of which several experiments have the cell is listed once for each, in the order of the configuration;
    ``first`` marks the one that counts. ``low`` to ``high`` is the interval of :mod:`.significance` for our mean,
    ``error`` its standard error by redrawn partitions or draws. ``protocol`` is what comes out by the published
    protocol, ``fitted`` what of our settings was chosen because it meets the printed numbers.
    """

    paper: str
    table: str
    setting: str
    dataset: str
    kernel: str
    method: str
    metric: str
    published: str
    published_value: float | None
    ours: str
    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    error: float | None
    runs: int
    verdict: Verdict
    effect: Effect
    effect_words: str
    converged_effect: Effect
    converged_words: str
    protocol: str
    protocol_verdict: str
    fitted: str
    why: str
    experiment: str
    first: bool


def comparison(axes: Axes, ours: Ours | None, *, first: bool) -> Comparison:
    """Return the line of one published number; ``ours`` is ``None`` where no experiment has its cell."""
    number, compared = find_published(**axes), ours.compared if ours else None
    cell = compared.ours if compared else None
    low, high = interval_of(axes["metric"], cell) if cell else (None, None)
    effect, converged = (ours.effect, ours.converged) if ours else (EffectFound(), EffectFound())
    protocol = list(ours.protocol) if ours else []
    unit = number.scale if number else 1.0
    return Comparison(
        **axes,
        published=number.text if number else "",
        published_value=number.value if number else None,
        ours=cell.text if cell else "",
        mean=cell.mean if cell else None,
        std=cell.std if cell else None,
        low=low,
        high=high,
        error=compared.error if compared else None,
        runs=cell.runs if cell else 0,
        verdict=_verdict(axes["metric"], ours),
        effect=effect.effect,
        effect_words=effect.words,
        converged_effect=converged.effect,
        converged_words=converged.words,
        protocol="; ".join(f"{in_unit(compared_by, unit)} ({label})" for label, compared_by in protocol),
        protocol_verdict="; ".join(str(compared_by.verdict) for _, compared_by in protocol),
        fitted=number.fitted if number else "",
        why=_why(compared) if compared else NO_EXPERIMENT,
        experiment=ours.label if ours else "",
        first=first,
    )


def _verdict(metric: str, ours: Ours | None) -> Verdict:
    if ours is None:
        return Verdict.NOT_JUDGED if metric in TIMES else Verdict.NOT_RUN
    return Verdict.NOT_JUDGED if ours.stand_in else ours.compared.verdict


def in_unit(compared: Compared, unit: float) -> str:
    """Return our number, in the unit in which the paper prints it where that is not ours."""
    mean = compared.ours.mean
    return compared.ours.text if unit == 1.0 or mean is None else f"{mean / unit:.5g}, in the unit of the print"


def _why(compared: Compared) -> str:
    """Return the reason of what differs or is only close, and what is to be known of our runs."""
    ours, number = compared.ours, compared.published
    notes = [compared.departure, ours.note, ours.warning]
    if compared.departure:
        return "; ".join(filter(None, notes))
    if compared.verdict in (Verdict.DIFFERS, Verdict.CLOSE):
        notes.insert(0, number.why if number and number.why else UNEXPLAINED)
        notes.append(NO_SPREAD if compared.error is None and ours.counted > 1 else "")
    elif compared.verdict is not Verdict.REPRODUCED:
        notes.append(number.why if number else "")
    return "; ".join(filter(None, notes))


@dataclass
class _Found:
    """Our cells of a published number, and those by the published protocol."""

    cells: list[tuple[str, IkdrCell]] = field(default_factory=list)
    protocol: list[tuple[str, IkdrCell]] = field(default_factory=list)


def ikdr_lines(runs: pd.DataFrame, config: Config) -> Iterator[tuple[Axes, list[Ours]]]:
    """Yield every number of the tables that experiments name, with ours from each experiment that has its cell."""
    partitions, tables = Partitions(runs, config), []
    found: dict[Place, _Found] = {}
    for name in experiments_of(config, IKDR):
        experiment = config["experiments"][name]
        table = printed_table(experiment)
        if table is None:
            continue
        by_protocol = experiment["published"].get("protocol", False)
        if table not in tables and not by_protocol:
            tables.append(table)
        of_experiment = runs[runs["experiment"] == name]
        for cell in compared_cells(of_experiment, experiment, partitions=partitions, config=config):
            # A protocol may ask for the converged variant of a printed method.
            method = cell.method.removesuffix(f"_{CONVERGED}") if by_protocol else cell.method
            names = published_axes({"dataset": cell.dataset, "kernel": cell.kernel, "method": method})
            place = (*table.values(), *names.values(), cell.metric)
            entry = found.setdefault(place, _Found())
            if not by_protocol:
                entry.cells.append((name, cell))
            elif cell.ours.mean is not None and not cell.departure:
                entry.protocol.append((name, cell))
    groups = dict(list(runs.groupby(["experiment", "dataset", "kernel", "method"])))
    for table in tables:
        for axes in published_numbers(**table):
            entry = found.get(tuple(axes.values()), _Found())
            if (number := find_published(**axes)) and number.runs_of:
                entry.protocol += found.get(tuple({**axes, "kernel": number.runs_of}.values()), _Found()).cells
            # Of several experiments one by the paper's protocol counts.
            cells = sorted(entry.cells, key=lambda pair: bool(pair[1].departure))
            yield axes, [_ours(axes, name, cell, groups, entry, partitions, config) for name, cell in cells]


def _ours(
    axes: Axes, name: str, cell: IkdrCell, groups: _Groups, entry: _Found, partitions: Partitions, config: Config
) -> Ours:
    if cell.departure:
        return Ours(name, cell)
    protocol = [
        (_place_label(runner, other), Compared(other.ours, cell.published, other.error))
        for runner, other in entry.protocol
    ]
    if cell.published and cell.published.protocol == TRAINING and axes["metric"] == Metric.ACCURACY:
        trained = [
            (runner, other, _training(runner, other, groups, partitions, config))
            for runner, other in ((name, cell), *entry.protocol)
        ]
        protocol = [
            (f"{TRAINING}, {_place_label(runner, other)}", replace(compared, published=cell.published))
            for runner, other, compared in trained
            if compared
        ] + protocol
    effects = _effects(axes, name, cell, groups)
    return Ours(name, cell, *effects, protocol)


def _place_label(experiment: str, cell: IkdrCell) -> str:
    return f"{experiment}, {cell.kernel}, {cell.method}"


def _training(name: str, cell: IkdrCell, groups: _Groups, partitions: Partitions, config: Config) -> Compared | None:
    """Return the accuracy on the rows that were fitted to, beside the printed one."""
    runs = groups.get((name, cell.dataset, cell.kernel, cell.method))
    if runs is None or _TRAINING_COLUMN not in runs or runs[_TRAINING_COLUMN].isna().all():
        return None
    trained = summarise("quality", runs, _TRAINING_COLUMN, percentage, unit="folds")
    experiment = config["experiments"][name]
    spread = partitions.of(experiment, cell.dataset, cell.kernel, cell.method, _TRAINING_COLUMN)
    return Compared(trained, cell.published, spread.error if spread else None)


def _effects(axes: Axes, name: str, cell: IkdrCell, groups: _Groups) -> tuple[EffectFound, EffectFound]:
    """Return the difference to the reference as published, and between the converged variants of both."""
    reference = reference_of(axes)
    if reference is None:
        return EffectFound(), EffectFound()
    numbers = find_published(**axes), find_published(**reference)
    column = "quality" if axes["metric"] in _QUALITY else axes["metric"]
    effects = []
    for variant in ("", f"_{CONVERGED}"):
        # Kernels of references have the same names here and in print.
        ours = groups.get((name, cell.dataset, cell.kernel, f"{cell.method}{variant}"))
        theirs = groups.get((name, cell.dataset, reference["kernel"], f"{reference['method']}{variant}"))
        if ours is None:
            effects.append(EffectFound())
            continue
        difference = None if theirs is None else our_difference(ours, theirs, column, axes["metric"])
        effects.append(effect_of(*numbers, difference, axes["metric"]))
    return effects[0], effects[1]


def reference_of(axes: Axes) -> Axes | None:
    """Return the printed number that another is compared with: of ISM, with the same kernel if that is possible.

    Where a table has ISM alone, its kernels are compared with the linear one, but for costs, which differ in unit.
    """
    kernel = axes["kernel"] or _GAUSSIAN
    if axes["method"] == _REFERENCE:
        if (axes["paper"], axes["table"]) != _KERNELS_COMPARED or axes["metric"] == "cost":
            return None
        kernel = _LINEAR
    reference = {**axes, "kernel": kernel, "method": _REFERENCE}
    return reference if reference != axes and find_published(**reference) else None


def kpca_lines(runs: pd.DataFrame, config: Config) -> Iterator[tuple[Axes, list[Ours]]]:
    """Yield each accuracy of Tables 1 to 3 with ours; effects are gains over the learner without a kernel."""
    parts = [(name, runs[runs["experiment"] == name]) for name in experiments_of(config, KPCA_TRICK)]
    groups = [(name, rows, kpca_cells(rows, config)) for name, rows in parts]
    for learner, table in TABLES.items():
        for axes in published_numbers(paper=PAPER, table=table, setting=SETTING):
            variant = axes["kernel"] or PLAIN
            if axes["metric"] == METRIC and variant in VARIANTS:
                key = (axes["dataset"], learner, variant)
                there = [(name, rows, cells[key]) for name, rows, cells in groups if key in cells]
                there.sort(key=lambda found: bool(found[2].departure))
                others = _centred(key, groups) if variant == _ALIGNED else []
                yield axes, [Ours(name, cell, _gain(axes, cell, rows), protocol=others) for name, rows, cell in there]


def _centred(key: tuple[str, str, str], groups: Sequence[tuple[str, Any, Any]]) -> list[tuple[str, Compared]]:
    """Return accuracies with alignment of centred kernels, which the paper leaves open, beside those without."""
    there = [
        (name, cells[key], cells[*key[:2], _CENTRED]) for name, _, cells in groups if (*key[:2], _CENTRED) in cells
    ]
    return [
        (f"{name}, centred alignment", Compared(cell.ours, aligned.published, cell.error))
        for name, aligned, cell in there
        if not cell.departure
    ]


def _gain(axes: Axes, cell: KpcaCell, runs: pd.DataFrame) -> EffectFound:
    if cell.variant == PLAIN or cell.departure:
        return EffectFound()
    of_learner = runs[(runs["dataset"] == axes["dataset"]) & (runs["learner"] == cell.learner)]
    ours, plain = (of_learner[of_learner["variant"] == name] for name in (cell.variant, PLAIN))
    printed = find_published(**{**axes, "kernel": "", "method": cell.learner})
    return effect_of(find_published(**axes), printed, our_difference(ours, plain, METRIC, METRIC), METRIC)


def low_rank_lines(runs: pd.DataFrame, config: Config) -> Iterator[tuple[Axes, list[Ours]]]:
    """Yield each number of the paper's text with ours; effects are gains of learning, and factors between sweeps."""
    found = list(low_rank.published_and_sources(runs, config))
    cells = {(*axes.values(), source.experiment): source for axes, sources in found for source in sources[:1]}
    for axes, sources in found:
        number = find_published(**axes)
        lines = []
        for source in sources:
            experiment = config["experiments"][source.experiment]
            stand_in = axes["dataset"] not in experiment["datasets"]
            departs = "" if stand_in else departure(experiment, config, axes["dataset"], method=source.method)
            effect = EffectFound() if stand_in or departs else _effect(axes, source, cells)
            compared = Compared(source.cell, number, _error(source), departs)
            lines.append(Ours(source.label, compared, effect, stand_in=stand_in))
        yield axes, sorted(lines, key=lambda line: bool(line.compared.departure))


def _error(source: low_rank.Source) -> float | None:
    """Return the standard error of a mean over independent draws."""
    cell = source.cell
    return cell.std / (cell.counted - 1) ** 0.5 if cell.std is not None and cell.counted > 1 else None


def _effect(axes: Axes, source: low_rank.Source, cells: dict[tuple[str, ...], low_rank.Source]) -> EffectFound:
    base = {_LEARNED: _NOTHING}.get(axes["method"], _VON_NEUMANN)
    reference = {**axes, "method": base}
    theirs = cells.get((*reference.values(), source.experiment))
    if axes["method"] == _NOTHING or base == axes["method"] or theirs is None:
        return EffectFound()
    difference = difference_of_cells(source.cell, theirs.cell, axes["metric"])
    return effect_of(find_published(**axes), find_published(**reference), difference, axes["metric"])


def text_lines(tables: Mapping[str, pd.DataFrame], config: Config) -> Iterator[Comparison]:
    """Yield a line for each such statement of a paper of which an experiment is run."""
    if KPCA_TRICK in tables:
        yield from _counts(tables[KPCA_TRICK], config)
    if IKDR not in tables:
        return
    runs = tables[IKDR]
    by_protocol, left_out = comparable(runs, config)
    for axes in (*numbers_of("neurips2019", _TEXT), *numbers_of("ismplus", _TEXT)):
        if names := _printed_experiments(axes["paper"], config):
            yield _iterations_line(axes, runs, by_protocol, names, left_out)
    for axes in (*numbers_of("ismplus", "4"), *numbers_of("neurips2019", "complexity")):
        if any(is_scaling(name) for name in experiments_of(config, IKDR)):
            yield _line(axes, *_exponent(axes, by_protocol, config))
    for axes in numbers_of("neurips2019", "figure 1a"):
        for name in _drawn(config):
            yield _line(axes, *_drawn_clusters(axes, runs[runs["experiment"] == name], name))


def _counts(runs: pd.DataFrame, config: Config) -> Iterator[Comparison]:
    """Yield how often each version with a kernel is above, level with and below the plain learner."""
    for name in experiments_of(config, KPCA_TRICK):
        cells = kpca_cells(runs[runs["experiment"] == name], config)
        for counts in kpca_published_wdl(cells):
            axes = {"paper": PAPER, "table": TABLES[counts.learner], "setting": SETTING, "dataset": "all"}
            axes |= {"kernel": counts.variant, "method": counts.name, "metric": "win_draw_lose"}
            complete = counts.n_cells == counts.n_printed
            verdict = _of_counts(counts.printed, counts.ours) if complete else Verdict.NOT_RUN
            departs = next((cell.departure for cell in cells.values() if cell.departure), "")
            words = counts.ours if complete else f"{counts.ours} of {counts.n_cells} data sets"
            line = _line(axes, words, None, counts.n_cells, verdict, name)
            why = _OF_CELLS if verdict in _UNLIKE else line.why
            line = replace(line, published=counts.printed, why=why)
            yield replace(line, verdict=Verdict.NOT_COMPARABLE, why=departs) if departs else line


def _of_counts(printed: str, ours: str) -> Verdict:
    """Close is a data set more or less in each count."""
    most = max(abs(int(first) - int(second)) for first, second in zip(printed.split("/"), ours.split("/"), strict=True))
    return Verdict.REPRODUCED if most == 0 else Verdict.CLOSE if most == 1 else Verdict.DIFFERS


def _line(axes: Axes, words: str, mean: float | None, runs: int, verdict: Verdict, experiment: str) -> Comparison:
    empty = comparison(axes, None, first=True)
    why = "" if runs else empty.why
    if verdict in _UNLIKE:
        number = find_published(**axes)
        why = number.why if number and number.why else UNEXPLAINED
    return replace(empty, ours=words, mean=mean, runs=runs, verdict=verdict, why=why, experiment=experiment)


def _printed_experiments(paper: str, config: Config) -> list[str]:
    """Return the supervised experiments that make a printed table of a paper."""
    chosen = []
    for name in experiments_of(config, IKDR):
        experiment = config["experiments"][name]
        table = printed_table(experiment)
        if table and table["paper"] == paper and not experiment["published"].get("protocol"):
            chosen.append(name)
    return [name for name in chosen if config["experiments"][name]["paradigm"] == "supervised"]


def _iterations(axes: Axes, runs: pd.DataFrame, names: list[str]) -> tuple[str, float | None, int, Verdict, str]:
    number = find_published(**axes)
    ended = runs[runs["experiment"].isin(names) & (runs["method"] == axes["method"])]
    counts = ended.loc[ended["status"] != str(Status.FAILED), "iterations"].dropna()
    # What was stopped took at least as many, and ends nowhere within.
    own_end = ended.loc[counts.index, "status"] == str(Status.CONVERGED)
    if counts.empty or number is None:
        return "", None, 0, Verdict.NOT_RUN, ""
    inside = int((counts.between(*_ends(number)) & own_end).sum())
    share = inside / len(counts)
    verdict = Verdict.REPRODUCED if share >= _NEARLY_ALL else Verdict.CLOSE if share >= _HALF else Verdict.DIFFERS
    words = f"median {counts.median():g} ({counts.min():g} to {counts.max():g}), {inside} of {len(counts)} within"
    return words, float(counts.median()), len(counts), verdict, ", ".join(names)


def _iterations_line(
    axes: Axes, runs: pd.DataFrame, kept: pd.DataFrame, names: list[str], left_out: Sequence[tuple[str, str]]
) -> Comparison:
    line = _line(axes, *_iterations(axes, kept, names))
    if line.runs and (why := _left_out_of(axes, runs, kept, names, left_out)):
        return replace(line, verdict=Verdict.NOT_COMPARABLE, why=why)
    if not line.runs and (other := _line(axes, *_iterations(axes, runs, names))).runs:
        return replace(other, verdict=Verdict.NOT_COMPARABLE, why=departures_in_words(left_out))
    return line


def _left_out_of(
    axes: Axes, runs: pd.DataFrame, kept: pd.DataFrame, names: list[str], left_out: Sequence[tuple[str, str]]
) -> str:
    """Say why cells of the method were left out, so that the quick ones alone are there; empty where none was."""
    there, others = (rows[rows["experiment"].isin(names) & (rows["method"] == axes["method"])] for rows in (runs, kept))
    skipped = there[there["status"] == str(Status.SKIPPED)]
    if _places(there) <= _places(others) - _places(skipped):
        return ""
    reasons = [reason for reason in left_out if reason[0] in names and f"{axes['method']} on " in reason[1]]
    if len(skipped):
        reasons.append((", ".join(skipped["experiment"].unique()), "runs were not made, since the budget was used up"))
    return departures_in_words(reasons or [reason for reason in left_out if reason[0] in names])


def _places(rows: pd.DataFrame) -> set[tuple[str, str]]:
    return set(zip(rows["dataset"], rows["kernel"], strict=True))


def _ends(number: PublishedNumber) -> tuple[float, float]:
    """Return the ends of a printed range, which ``value`` and ``std`` hold."""
    return number.value or 0.0, number.std or 0.0


def _exponent(axes: Axes, runs: pd.DataFrame, config: Config) -> tuple[str, float | None, int, Verdict, str]:
    """Return the exponent of one iteration, summed over all pairs: that of an analysis of complexity."""
    series = [
        each
        for each in size_series(steady_times(runs), config)
        if (each.axis, each.evaluation, each.method) == (_AXES[axes["metric"]], ALL_PAIRS, axes["method"])
    ]
    law, number = series[0].law_of_an_iteration if series else None, find_published(**axes)
    if law is None or number is None or number.value is None:
        return "", None, 0, Verdict.NOT_RUN, "scaling"
    words = f"{law.exponent:.2f} ({law.low:.2f} to {law.high:.2f})"
    return words, law.exponent, law.n_points, _of_exponent(number.value, law), "scaling"


def _of_exponent(printed: float, law: PowerLaw) -> Verdict:
    # An interval that holds every exponent shows none.
    if law.high - law.low > _WIDEST:
        return Verdict.NOT_JUDGED
    if law.low - _NEAR <= printed <= law.high + _NEAR:
        return Verdict.REPRODUCED
    return Verdict.CLOSE if law.low - _CLOSE <= printed <= law.high + _CLOSE else Verdict.DIFFERS


def _drawn(config: Config) -> list[str]:
    """Return the experiments that draw a figure of the paper."""
    published = {name: config["experiments"][name].get("published", {}) for name in experiments_of(config, IKDR)}
    return [name for name, place in published.items() if place.get("figure") == "1a"]


def _drawn_clusters(axes: Axes, runs: pd.DataFrame, name: str) -> tuple[str, float | None, int, Verdict, str]:
    """Return how clusters agree with the labelling that is sought, where there is one; a picture has no verdict."""
    of_data = runs[(runs["dataset"] == axes["dataset"]) & (runs["status"] != str(Status.FAILED))]
    known = of_data["quality"].dropna()
    if of_data.empty:
        return "", None, 0, Verdict.NOT_RUN, name
    words = f"{Metric.NMI.upper()} {agreement(float(known.max()))} with what is sought" if len(known) else "drawn"
    return words, float(known.max()) if len(known) else None, len(of_data), Verdict.NOT_JUDGED, name
