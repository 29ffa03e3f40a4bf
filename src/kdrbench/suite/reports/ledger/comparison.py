"""One published number beside ours, with all verdicts: what a line of the ledger holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kdrbench.suite.reports.ledger.effects import Effect, EffectFound
from kdrbench.suite.reports.tables.cells import TIMES
from kdrbench.suite.reports.tables.published_numbers import find_published
from kdrbench.suite.reports.tables.significance import interval_of
from kdrbench.suite.reports.tables.verdicts import Compared, Verdict

NO_EXPERIMENT = "no experiment that was run has this cell"
# What is written where a number differs, or is only close, and readings.toml gives no reason.
UNEXPLAINED = "no reason is known"
# Where folds were drawn once.
NO_SPREAD = "how this mean varies is not known: no experiment with partitions was run"
Axes = dict[str, str]


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
        protocol="; ".join(f"{in_unit(one, unit)} ({label})" for label, one in protocol),
        protocol_verdict="; ".join(str(one.verdict) for _, one in protocol),
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
