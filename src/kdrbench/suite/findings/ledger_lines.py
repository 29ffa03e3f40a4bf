"""The lines of the ledger: each published number beside ours, with two verdicts, reasons and the published protocol.

Tables of IKDR, of the KPCA trick and of low-rank kernels give numbers and effects. What papers state in words gives
wins, iterations, exponents of time and a drawn figure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd

from kdrbench.status import Status
from kdrbench.suite.findings.effects import NO_EFFECT, Effect, Judged, difference_of_cells, effect_of, our_difference
from kdrbench.suite.findings.outcome import steady_times
from kdrbench.suite.reports.protocol import comparable, departure, departures_in_words, is_imitation
from kdrbench.suite.reports.records import IKDR, KPCA_TRICK, Config, experiments_of
from kdrbench.suite.reports.tables.cells import TIMES, Cell, summarise
from kdrbench.suite.reports.tables.labels import CONVERGED, kernel_label, method_label
from kdrbench.suite.reports.tables.numbers import agreement, percentage
from kdrbench.suite.reports.tables.published_numbers import find_published, printed_table, published_numbers
from kdrbench.suite.reports.tables.significance import interval_of
from kdrbench.suite.reports.tables.verdicts import Compared, Verdict
from kdrbench.suite.systems.ikdr.config import is_scaling
from kdrbench.suite.systems.ikdr.partitions import Partitions
from kdrbench.suite.systems.ikdr.scores import Metric
from kdrbench.suite.systems.ikdr.size_series import ALL_PAIRS, PowerLaw, SizeSeries, size_series
from kdrbench.suite.systems.ikdr.tables import IkdrCell, compared_cells, published_axes
from kdrbench.suite.systems.kpca_trick.cells import (
    METRIC,
    PAPER,
    PLAIN,
    SETTING,
    TABLES,
    Counts,
    KpcaCell,
    find_printed,
    kpca_cells,
    kpca_published_wdl,
)
from kdrbench.suite.systems.low_rank import tables as low_rank

NO_EXPERIMENT = "no experiment that was run has this cell"
# What is written where a number differs, or is only close, and readings.toml gives no reason.
UNEXPLAINED = "no reason is known"
UNLIKE = (Verdict.CLOSE, Verdict.DIFFERS)
_JUDGED = (*UNLIKE, Verdict.REPRODUCED)
# Where folds were drawn once.
NO_SPREAD = "how this mean varies is not known: no experiment with partitions was run"
Axes = dict[str, str]
# The table of ISM alone.
_KERNELS_COMPARED = ("neurips2019", "5")
TRAINING = "training accuracy"
_TRAINING_COLUMN = "train_accuracy"
_QUALITY = frozenset(map(str, Metric))
# Of an exponent: what an interval may miss the printed one by, and what is called close.
_NEAR, _CLOSE, _WIDEST = 0.1, 0.25, 1.0
# Shares of runs within a range of iterations.
_NEARLY_ALL, _HALF = 0.9, 0.5
_AXES = {"exponent_n": "n_train", "exponent_d": "n_features", "exponent_q": "n_components"}
_OF_CELLS = "a count of the table's cells; what is known of their differences is said of each"
# Papers, and experiments of ours whose runs decide what their text says.
_TEXT = "text"
# Data set, learner and variant.
_KpcaKey = tuple[str, str, str]
# The paper leaves open whether aligned kernels are centred; its cross-validated accuracies are nearer to an oracle's.
_READ_AS = {
    "aligned": ("centred", "centred alignment"),
    "cross_validated": ("oracle", "the best kernel on the test samples of each split"),
}
# Rows by experiment, data set, kernel and method.
_Groups = Mapping[tuple[Hashable, ...], pd.DataFrame]


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
    ours: str = ""
    mean: float | None = None
    std: float | None = None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    runs: int = 0
    verdict: Verdict = Verdict.NOT_RUN
    effect: Effect = Effect.UNKNOWN
    effect_words: str = ""
    converged_effect: Effect = Effect.UNKNOWN
    converged_words: str = ""
    protocol: str = ""
    protocol_verdict: str = ""
    fitted: str = ""
    why: str = NO_EXPERIMENT
    experiment: str = ""
    first: bool = True

    @property
    def by_protocol(self) -> list[tuple[str, str]]:
        """Each number that comes out by the published protocol, with its verdict."""
        return list(zip(self.protocol.split("; "), self.protocol_verdict.split("; "), strict=True))


def printed_line(axes: Axes, **values: Any) -> Comparison:
    """Return the line of a published number, of which no experiment has the cell but for these ``values``."""
    number, verdict = find_published(**axes), Verdict.NOT_JUDGED if axes["metric"] in TIMES else Verdict.NOT_RUN
    words = (number.text, number.value, number.fitted) if number else ("", None, "")
    printed = dict(zip(("published", "published_value", "fitted"), words, strict=True))
    return Comparison(**{**axes, **printed, "verdict": verdict, **values})


def compared_line(
    axes: Axes,
    experiment: str,
    compared: Compared,
    effects: Sequence[Judged] = (NO_EFFECT, NO_EFFECT),
    protocol: Sequence[tuple[str, Compared]] = (),
) -> Comparison:
    """Return the line of a published number beside ours, from the experiment or method that is named.

    ``effects`` are those of the methods as published, and run until they converge. ``protocol`` holds what comes out by
    the published protocol: (label, cell) of each run that follows it.
    """
    cell, number = compared.ours, find_published(**axes)
    (effect, effect_words), (converged_effect, converged_words) = effects
    low, high = interval_of(axes["metric"], cell)
    unit = number.scale if number else 1.0
    return printed_line(
        axes,
        ours=cell.text,
        mean=cell.mean,
        std=cell.std,
        low=low,
        high=high,
        error=compared.error,
        runs=cell.runs,
        verdict=compared.verdict,
        effect=effect,
        effect_words=effect_words,
        converged_effect=converged_effect,
        converged_words=converged_words,
        protocol="; ".join(f"{_in_unit(other.ours, unit)} ({label})" for label, other in protocol),
        protocol_verdict="; ".join(str(other.verdict) for _, other in protocol),
        why=_why(compared),
        experiment=experiment,
    )


def _in_unit(cell: Cell, unit: float) -> str:
    return cell.text if unit == 1.0 or cell.mean is None else f"{cell.mean / unit:.5g}, in the unit of the print"


def _why(compared: Compared) -> str:
    """Return the reason of what differs or is only close, and what is to be known of our runs."""
    ours, why = compared.ours, compared.published.why if compared.published else ""
    notes = [compared.departure, ours.note, ours.warning]
    if not compared.departure and compared.verdict in UNLIKE:
        notes = [why or UNEXPLAINED, *notes, NO_SPREAD if compared.error is None and ours.counted > 1 else ""]
    elif not compared.departure and compared.verdict is not Verdict.REPRODUCED:
        notes.append(why)
    return "; ".join(filter(None, notes))


Lines = Iterator[tuple[Axes, list[Comparison]]]
# Cells with their experiments, by the axes of a published number.
_Cells = dict[tuple[str, ...], list[tuple[str, IkdrCell]]]


def ikdr_lines(runs: pd.DataFrame, config: Config) -> Lines:
    """Yield every number of the tables that experiments name, with ours from each experiment that has its cell."""
    partitions, tables = Partitions(runs, config), []
    ours: _Cells = defaultdict(list)
    by_protocols: _Cells = defaultdict(list)
    for name in experiments_of(config, IKDR):
        experiment = config["experiments"][name]
        table = printed_table(experiment)
        if table is None:
            continue
        by_protocol = is_imitation(experiment)
        if table not in tables and not by_protocol:
            tables.append(table)
        of_experiment = runs[runs["experiment"] == name]
        for cell in compared_cells(of_experiment, experiment, partitions=partitions, config=config, with_best=False):
            # A protocol may ask for the converged variant of a printed method.
            method = cell.method.removesuffix(f"_{CONVERGED}") if by_protocol else cell.method
            names = published_axes({"dataset": cell.dataset, "kernel": cell.kernel, "method": method})
            place = (*table.values(), *names.values(), cell.metric)
            if not by_protocol:
                ours[place].append((name, cell))
            elif cell.ours.mean is not None and not cell.departure:
                by_protocols[place].append((name, cell))
    groups = dict(list(runs.groupby(["experiment", "dataset", "kernel", "method"])))
    training = partial(_training, groups=groups, partitions=partitions, config=config)
    for axes in (axes for table in tables for axes in published_numbers(**table)):
        others, number = by_protocols[tuple(axes.values())], find_published(**axes)
        if number and number.runs_of:
            others = others + ours[tuple({**axes, **number.runs_of}.values())]
        lines = []
        for name, cell in ours[tuple(axes.values())]:
            protocol = [] if cell.departure else _by_protocol(axes, name, cell, others, training)
            lines.append(compared_line(axes, name, cell, _effects(axes, name, cell, groups), protocol))
        yield axes, lines


def _by_protocol(
    axes: Axes,
    name: str,
    cell: IkdrCell,
    others: Sequence[tuple[str, IkdrCell]],
    training: Callable[[str, IkdrCell], Compared | None],
) -> list[tuple[str, Compared]]:
    """Return what comes out by the published protocol; first, where print has it, accuracy on the fitted rows."""
    runs = [(f"{runner}, {_axes_in_words(other)}", runner, other) for runner, other in others]
    protocol = [(label, Compared(other.ours, cell.published, other.error)) for label, _, other in runs]
    if not (cell.published and cell.published.protocol == TRAINING and axes["metric"] == Metric.ACCURACY):
        return protocol
    runs = [(f"{name}, {_axes_in_words(cell)}", name, cell), *runs]
    trained = [(f"{TRAINING}, {label}", training(runner, other)) for label, runner, other in runs]
    return [(label, replace(compared, published=cell.published)) for label, compared in trained if compared] + protocol


def _axes_in_words(cell: IkdrCell) -> str:
    return f"{kernel_label(cell.kernel)}, {method_label(cell.method)}"


def _training(name: str, cell: IkdrCell, *, groups: _Groups, partitions: Partitions, config: Config) -> Compared | None:
    """Return the accuracy on the rows that were fitted to."""
    runs = groups.get((name, cell.dataset, cell.kernel, cell.method))
    if runs is None or _TRAINING_COLUMN not in runs or runs[_TRAINING_COLUMN].isna().all():
        return None
    trained = summarise("quality", runs, _TRAINING_COLUMN, percentage, unit="folds")
    experiment = config["experiments"][name]
    spread = partitions.of(experiment, cell.dataset, cell.kernel, cell.method, _TRAINING_COLUMN)
    return Compared(trained, cell.published, spread.error if spread else None)


def _effects(axes: Axes, name: str, cell: IkdrCell, groups: _Groups) -> list[Judged]:
    """Return the difference to the reference as published, and between the converged variants of both."""
    reference = None if cell.departure else reference_of(axes)
    if reference is None:
        return [NO_EFFECT, NO_EFFECT]
    numbers = find_published(**axes), find_published(**reference)
    column = "quality" if axes["metric"] in _QUALITY else axes["metric"]
    effects = []
    for variant in ("", f"_{CONVERGED}"):
        # Kernels of references have the same names here and in print.
        ours = groups.get((name, cell.dataset, cell.kernel, f"{cell.method}{variant}"))
        theirs = groups.get((name, cell.dataset, reference["kernel"], f"{reference['method']}{variant}"))
        if ours is None:
            effects.append(NO_EFFECT)
            continue
        difference = None if theirs is None else our_difference(ours, theirs, column, axes["metric"])
        effects.append(effect_of(*numbers, difference, axes["metric"]))
    return effects


def reference_of(axes: Axes) -> Axes | None:
    """Return the printed number that another is compared with: of ISM, with the same kernel if that is possible.

    Where a table has ISM alone, its kernels are compared with the linear one, but for costs, which differ in unit.
    """
    kernel = axes["kernel"] or "gaussian"
    if axes["method"] == "ism":
        if (axes["paper"], axes["table"]) != _KERNELS_COMPARED or axes["metric"] == "cost":
            return None
        kernel = "linear"
    reference = {**axes, "kernel": kernel, "method": "ism"}
    return reference if reference != axes and find_published(**reference) else None


def kpca_lines(runs: pd.DataFrame, config: Config) -> Lines:
    """Yield each accuracy of Tables 1 to 3 with ours; effects are gains over the learner without a kernel."""
    parts = {name: runs[runs["experiment"] == name] for name in experiments_of(config, KPCA_TRICK)}
    experiments = {name: kpca_cells(rows, config) for name, rows in parts.items()}
    learners = {table: learner for learner, table in TABLES.items()}
    for axes in published_numbers(paper=PAPER, setting=SETTING):
        learner, variant = learners[axes["table"]], axes["kernel"] or PLAIN
        key = axes["dataset"], learner, variant
        readings = [reading for name, cells in experiments.items() for reading in _readings(name, cells, key, config)]
        yield (
            axes,
            [
                compared_line(axes, name, cells[key], (_gain(axes, cells[key], parts[name]), NO_EFFECT), readings)
                for name, cells in experiments.items()
                if key in cells and not is_imitation(config["experiments"][name])
            ],
        )


def _readings(
    name: str, cells: Mapping[_KpcaKey, KpcaCell], key: _KpcaKey, config: Config
) -> Iterator[tuple[str, KpcaCell]]:
    """Yield the cells of an experiment that read otherwise what the paper leaves open of one of its numbers."""
    dataset, learner, variant = key
    if key in cells and is_imitation(config["experiments"][name]) and not cells[key].departure:
        yield name, cells[key]
    other, words = _READ_AS.get(variant, ("", ""))
    if (other_cell := cells.get((dataset, learner, other))) and not other_cell.departure:
        yield f"{name}, {words}", replace(other_cell, published=find_printed(*key))


def _gain(axes: Axes, cell: KpcaCell, runs: pd.DataFrame) -> Judged:
    if cell.variant == PLAIN or cell.departure:
        return NO_EFFECT
    of_learner = runs[(runs["dataset"] == axes["dataset"]) & (runs["learner"] == cell.learner)]
    ours, plain = (of_learner[of_learner["variant"] == name] for name in (cell.variant, PLAIN))
    printed = find_published(**{**axes, "kernel": "", "method": cell.learner})
    return effect_of(cell.published, printed, our_difference(ours, plain, METRIC, METRIC), METRIC)


def low_rank_lines(runs: pd.DataFrame, config: Config) -> Lines:
    """Yield each number of the paper's text with ours; effects are gains of learning, and factors between sweeps."""
    numbers = list(low_rank.published_and_sources(runs, config))
    cells = {(*axes.values(), source.experiment): source.cell for axes, sources in numbers for source in sources[:1]}
    for axes, sources in numbers:
        readings = [source for source in sources if is_imitation(config["experiments"][source.experiment])]
        # Where each run draws its samples, print shows one of these draws.
        drawn = [(one.label, Compared(one.cell, find_published(**axes), one.cell.std)) for one in readings]
        lines = []
        for source in (one for one in sources if one not in readings):
            experiment, cell, effect = config["experiments"][source.experiment], source.cell, NO_EFFECT
            # Numbers of a substitute for data that are not public are shown, and judged by nothing.
            stand_in = axes["dataset"] not in experiment["datasets"]
            departs = "" if stand_in else departure(experiment, config, axes["dataset"], method=source.method)
            reference = {**axes, "method": {"learned": "none"}.get(axes["method"], "von_neumann")}
            theirs = cells.get((*reference.values(), source.experiment))
            if not (stand_in or departs or axes["method"] == "none" or reference == axes) and theirs:
                difference = difference_of_cells(cell, theirs, axes["metric"])
                effect = effect_of(find_published(**axes), find_published(**reference), difference, axes["metric"])
            compared = Compared(cell, find_published(**axes), cell.error, departs)
            line = compared_line(axes, source.label, compared, (effect, NO_EFFECT), drawn)
            lines.append(replace(line, verdict=Verdict.NOT_JUDGED) if stand_in else line)
        yield axes, lines


def text_lines(tables: Mapping[str, pd.DataFrame], config: Config) -> Iterator[Comparison]:
    """Yield a line for each such statement of a paper of which an experiment is run."""
    if KPCA_TRICK in tables:
        yield from _counts(tables[KPCA_TRICK], config)
    if IKDR not in tables:
        return
    runs = tables[IKDR]
    by_protocol, left_out = comparable(runs, config)
    for axes in published_numbers(table=_TEXT):
        if names := _printed_experiments(axes["paper"], config):
            yield _iterations_line(axes, runs, by_protocol, names, left_out)
    if any(is_scaling(name) for name in experiments_of(config, IKDR)):
        series = size_series(steady_times(by_protocol), config)
        for axes in (*published_numbers(paper="ismplus", table="4"), *published_numbers(table="complexity")):
            yield _exponent_line(axes, series)
    for axes in published_numbers(table="figure 1a"):
        for name in experiments_of(config, IKDR):
            if config["experiments"][name].get("published", {}).get("figure") == "1a":
                yield _drawn_line(axes, runs[runs["experiment"] == name], name)


def _counts(runs: pd.DataFrame, config: Config) -> Iterator[Comparison]:
    """Yield how often each version with a kernel is above, level with and below the plain learner."""
    lines: dict[bool, list[Comparison]] = {True: [], False: []}
    for name in experiments_of(config, KPCA_TRICK):
        cells = kpca_cells(runs[runs["experiment"] == name], config)
        is_reading = is_imitation(config["experiments"][name])
        departs = next((cell.departure for cell in cells.values() if cell.departure), "")
        if is_reading:
            read_as = {other: variant for variant, (other, _) in _READ_AS.items()}
            cells = {
                (dataset, learner, read_as.get(variant, variant)): cell
                for (dataset, learner, variant), cell in cells.items()
            }
        lines[is_reading] += [_count_line(counts, name, departs) for counts in kpca_published_wdl(cells)]
    for line in lines[False]:
        others = [other for other in lines[True] if other.method == line.method and other.verdict in _JUDGED]
        protocol = "; ".join(f"{other.ours} ({other.experiment})" for other in others)
        verdicts = "; ".join(str(other.verdict) for other in others)
        yield replace(line, protocol=protocol, protocol_verdict=verdicts)


def _count_line(counts: Counts, name: str, departs: str) -> Comparison:
    axes = {"paper": PAPER, "table": TABLES[counts.learner], "setting": SETTING, "dataset": "all"}
    axes |= {"kernel": counts.variant, "method": counts.name, "metric": "win_draw_lose"}
    words, verdict = f"{counts.ours} of {counts.n_cells} data sets", Verdict.NOT_RUN
    if counts.n_cells == counts.n_printed:
        pairs = zip(counts.printed.split("/"), counts.ours.split("/"), strict=True)
        apart = max(abs(int(printed) - int(ours)) for printed, ours in pairs)
        # Close is a data set more or less in each count.
        close = Verdict.CLOSE if apart == 1 else Verdict.DIFFERS
        words, verdict = counts.ours, Verdict.REPRODUCED if apart == 0 else close
    verdict = Verdict.NOT_COMPARABLE if departs else verdict
    why = departs or (_OF_CELLS if verdict in UNLIKE else "")
    line = _line(axes, words, None, counts.n_cells, verdict, name)
    return replace(line, published=counts.printed, why=why or line.why)


def _line(axes: Axes, words: str, mean: float | None, runs: int, verdict: Verdict, experiment: str) -> Comparison:
    """Return the line of a statement beside what comes out of ``runs`` runs, or points of a law."""
    if not runs:
        return printed_line(axes, verdict=verdict, experiment=experiment)
    number, why = find_published(**axes), ""
    if verdict in UNLIKE:
        why = number.why if number and number.why else UNEXPLAINED
    return printed_line(axes, verdict=verdict, experiment=experiment, ours=words, mean=mean, runs=runs, why=why)


def _printed_experiments(paper: str, config: Config) -> list[str]:
    """Return the supervised experiments that make a printed table of a paper."""
    experiments = {name: config["experiments"][name] for name in experiments_of(config, IKDR)}
    published = {name: one["published"] for name, one in experiments.items() if one["paradigm"] == "supervised"}
    of_paper = {name: place for name, place in published.items() if "table" in place and place["paper"] == paper}
    return [name for name, place in of_paper.items() if not place.get("protocol")]


def _iterations_line(
    axes: Axes, runs: pd.DataFrame, by_protocol: pd.DataFrame, names: list[str], left_out: Sequence[tuple[str, str]]
) -> Comparison:
    """Return how many runs ended within the printed range; by runs of another protocol where there are no others."""
    of_method, kept = (
        rows[rows["experiment"].isin(names) & (rows["method"] == axes["method"])] for rows in (runs, by_protocol)
    )
    line = _within(axes, kept, names)
    left_out = [reason for reason in left_out if reason[0] in names]
    reasons = [reason for reason in left_out if reason[1].startswith(f"{axes['method']} on ")]
    if not line.runs:
        line, reasons = _within(axes, of_method, names), left_out
    skipped = of_method[of_method["status"] == str(Status.SKIPPED)]
    # Without the cells of slow runs, those of the quick ones are compared with nothing.
    cells, of_kept, of_skipped = (
        set(zip(rows["dataset"], rows["kernel"], strict=True)) for rows in (of_method, kept, skipped)
    )
    if not line.runs or cells <= of_kept - of_skipped:
        return line
    if len(skipped):
        reasons.append((", ".join(skipped["experiment"].unique()), "runs were not made, since the budget was used up"))
    return replace(line, verdict=Verdict.NOT_COMPARABLE, why=departures_in_words(reasons or left_out))


def _within(axes: Axes, rows: pd.DataFrame, names: list[str]) -> Comparison:
    """Return how many runs ended within the printed range, which ``value`` and ``std`` of the number hold."""
    number = find_published(**axes)
    counts = rows.loc[rows["status"] != str(Status.FAILED), "iterations"].dropna()
    if counts.empty or number is None:
        return printed_line(axes)
    # What was stopped took at least as many, and ends nowhere within.
    own_end = rows.loc[counts.index, "status"] == str(Status.CONVERGED)
    inside = int((counts.between(number.value or 0.0, number.std or 0.0) & own_end).sum())
    share = inside / len(counts)
    verdict = Verdict.REPRODUCED if share >= _NEARLY_ALL else Verdict.CLOSE if share >= _HALF else Verdict.DIFFERS
    words = f"median {counts.median():g} ({counts.min():g} to {counts.max():g}), {inside} of {len(counts)} within"
    return _line(axes, words, float(counts.median()), len(counts), verdict, ", ".join(names))


def _exponent_line(axes: Axes, series: Sequence[SizeSeries]) -> Comparison:
    """Return the exponent of one iteration, summed over all pairs: that of an analysis of complexity."""
    wanted, number = (_AXES[axes["metric"]], ALL_PAIRS, axes["method"]), find_published(**axes)
    own = [each for each in series if (each.axis, each.evaluation, each.method) == wanted]
    law = own[0].law_of_an_iteration if own else None
    if law is None or number is None or number.value is None:
        return printed_line(axes, experiment="scaling")
    words = f"{law.exponent:.2f} ({law.low:.2f} to {law.high:.2f})"
    return _line(axes, words, law.exponent, law.n_points, _of_exponent(number.value, law), "scaling")


def _of_exponent(printed: float, law: PowerLaw) -> Verdict:
    # An interval that holds every exponent shows none.
    if law.high - law.low > _WIDEST:
        return Verdict.NOT_JUDGED
    if law.low - _NEAR <= printed <= law.high + _NEAR:
        return Verdict.REPRODUCED
    return Verdict.CLOSE if law.low - _CLOSE <= printed <= law.high + _CLOSE else Verdict.DIFFERS


def _drawn_line(axes: Axes, runs: pd.DataFrame, name: str) -> Comparison:
    """Return how clusters agree with the labelling that is sought, where there is one; a picture has no verdict."""
    of_data = runs[(runs["dataset"] == axes["dataset"]) & (runs["status"] != str(Status.FAILED))]
    if of_data.empty:
        return printed_line(axes, experiment=name)
    highest = of_data["quality"].max()
    known = None if pd.isna(highest) else float(highest)
    words = "drawn" if known is None else f"{Metric.NMI.upper()} {agreement(known)} with what is sought"
    return _line(axes, words, known, len(of_data), Verdict.NOT_JUDGED, name)
