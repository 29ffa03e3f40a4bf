"""What a record says of the papers as a whole: its size, what reproduces, what does not and for which reasons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from kdrbench.errors import counted
from kdrbench.suite.findings.answers import Answer
from kdrbench.suite.findings.claim_rows import Claim
from kdrbench.suite.findings.finding import Decision, Finding
from kdrbench.suite.findings.ledger import (
    COUNTED,
    judged,
    labels_of,
    names_no_reason,
    place_label,
    unexplained,
)
from kdrbench.suite.findings.ledger_lines import Comparison
from kdrbench.suite.findings.quality_claims import RULES_OF_Q
from kdrbench.suite.reports.records import LOW_RANK, of_papers
from kdrbench.suite.reports.summary.endings import Ending, endings
from kdrbench.suite.reports.summary.markdown import Markdown, escape, link
from kdrbench.suite.reports.summary.source import Source
from kdrbench.suite.reports.tables.labels import CONVERGED, dataset_label, low_rank_label
from kdrbench.suite.reports.tables.published_numbers import paper_label
from kdrbench.suite.reports.tables.verdicts import Verdict

_ISM, _LABELLED, _LEARNT = "ism", "supervised", "classification"


@dataclass(frozen=True)
class Reason:
    """Why printed numbers are not met, how many of them, and the first one beside ours."""

    why: str
    count: int
    example: str
    address: str


@dataclass(frozen=True, eq=False)
class Story:
    """A record as the page of what was found tells it."""

    source: Source
    # Of a claim that does not hold, or not quite, the page says what a fair reader should know beside the numbers.
    explained: tuple[Decision, ...] = (Decision.MOSTLY, Decision.CONTRADICTED)
    _cells: dict[str, dict[str, str]] = field(default_factory=dict)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """What all rows of all experiments have: experiment, run, seconds of its process, and where it was made."""
        names = ["experiment", "run", "wall_s", "processor", "trace_file"]
        tables = [self.source.runs(name) for name in self.source.experiments]
        return pd.concat([table.reindex(columns=names) for table in tables], ignore_index=True)

    @property
    def size(self) -> str:
        """Rows, experiments and the seconds of their processes, in words."""
        # Several rows may be of one process.
        processes = self.runs.drop_duplicates(["trace_file", "run", "wall_s"])
        hours = processes["wall_s"].sum() / 3600
        experiments = counted(self.runs["experiment"].nunique(), "experiment")
        shown = f"{hours:.2g}" if hours < 10 else f"{hours:.0f}"
        return f"{counted(len(self.runs), 'row')} of {experiments}, {shown} core-hours"

    @property
    def processors(self) -> str:
        """The processors on which rows were made."""
        return " and ".join(sorted(set(self.runs["processor"].dropna())))

    def papers(self) -> Iterator[tuple[str, str]]:
        """Yield each paper, and how many of its printed numbers have which verdict."""
        first = [one for one in self.source.comparisons if one.first]
        for paper in dict.fromkeys(one.paper for one in first):
            yield paper_label(paper), _verdicts([one for one in first if one.paper == paper])

    def claims(self, *decisions: Decision) -> list[tuple[Claim, Finding]]:
        """Return the claims that were decided so."""
        return [(claim, found) for claim, found in self.source.claims if found.decision in decisions]

    def reasons(self) -> list[Reason]:
        """Return why numbers differ or are only close, as far as it is known, those of most numbers first."""
        unlike = (Verdict.DIFFERS, Verdict.CLOSE)
        lines = [one for one in self.source.comparisons if one.first and one.verdict in unlike]
        return self._by_reason(one for one in lines if not names_no_reason(one.why))

    def searches(self) -> list[Reason]:
        """Return what was searched for a reason without finding one, that for most numbers first."""
        return self._by_reason(unexplained(self.source.comparisons))

    def _by_reason(self, lines: Iterable[Comparison]) -> list[Reason]:
        of_reasons: dict[str, list[Comparison]] = {}
        for one in lines:
            # What follows the first reason is of the runs of one cell.
            of_reasons.setdefault(_main_reason(one), []).append(one)
        return [
            Reason(why, len(found), _example(found[0]), self.source.address_of_runs(found[0]))
            for why, found in sorted(of_reasons.items(), key=lambda item: -len(item[1]))
        ]

    def linked(self, words: str, papers: str) -> Markdown:
        """Return words of a claim of ``papers`` with the cells that they name as links to their runs."""
        if papers not in self._cells:
            self._cells[papers] = named_cells(self.source, papers)
        links = {escape(name): link(name, address) for name, address in self._cells[papers].items()}
        # Of "SM" and "SM, converged" the longer one; of "Wine KNCA" not the end of "Wine AKNCA".
        names = "|".join(map(re.escape, sorted(links, key=len, reverse=True)))
        text = escape(words)
        return Markdown(re.sub(rf"(?<!\w)(?:{names})(?!\w)", lambda found: links[found[0]], text) if names else text)

    def endings(self) -> list[Ending]:
        """Return what the record says of saddles and cycles."""
        return list(endings(self.source))

    def answers(self, beyond: bool) -> list[Answer]:
        """Return what experiments answer: those of the papers' tables, or those ``beyond`` them."""
        config = self.source.config
        papers = set(of_papers(config)["run"])
        names = [name for name in self.source.experiments if (name in papers) is not beyond]
        return [self.source.answers[name] for name in names]


def _verdicts(lines: list[Comparison]) -> str:
    verdicts = Counter(one.verdict for one in judged(lines))
    parts = ", ".join(f"{verdicts[one]} {one}" for one in COUNTED if verdicts[one])
    return f"{counted(verdicts.total(), 'printed number')}: {parts}" if parts else "no printed number is judged"


def _main_reason(one: Comparison) -> str:
    return one.why.split("; ")[0]


def _example(one: Comparison) -> str:
    """Return where a number is printed, and it beside ours."""
    where = ", ".join(part for part in (paper_label(one.paper), place_label(one.table), *labels_of(one)) if part != "-")
    return f"{where}: {one.published} printed, {one.ours} here"


def named_cells(source: Source, papers: str) -> dict[str, str]:
    """Return addresses by the names that the evidence of a claim of ``papers`` may give to cells.

    They are table, data set, kernel and method, the latter converged as well. Where a claim is on one table, it leaves
    out the table: "Cancer by Multiquadric", "Car, ISM", "Pima KLMNN", "Wine, supervised".
    """
    found: dict[str, str] = {}
    for one in source.comparisons:
        if one.first and one.experiment in source.experiments:
            for name, address in _long_names(source, one):
                found.setdefault(name, address)
            if paper_label(one.paper) in papers.split(", "):
                # Of the tables with a data set and setting the last has most kernels.
                found |= _short_names(source, one)
    if paper_label("ismplus") == papers:
        found |= _of_rules(source)
    return found | _of_low_rank(source)


def _long_names(source: Source, one: Comparison) -> Iterator[tuple[str, str]]:
    dataset, kernel, method = labels_of(one)
    place = f"{paper_label(one.paper)}, {place_label(one.table)}, {one.setting}: {dataset}, {kernel}, "
    for variant in (method, f"{method}, {CONVERGED}"):
        state = {"experiment": one.experiment, "data": dataset, "kernel": kernel, "method": variant}
        yield place + variant, source.address("runs", **state)


def _short_names(source: Source, one: Comparison) -> dict[str, str]:
    dataset, kernel, method = labels_of(one)
    alone = source.address_of_runs(one)
    if one.setting == _LEARNT:
        return {f"{dataset} {method}": alone}
    if one.method != _ISM:
        return {}
    state = {"experiment": one.experiment, "data": dataset, "method": method}
    of_setting = {f"{dataset}, {one.setting}": source.address("runs", **state)}
    cell = {f"{dataset} by {kernel}": alone, f"{dataset}, {method}": alone}
    return of_setting | (cell if one.setting == _LABELLED else {})


def _of_rules(source: Source) -> dict[str, str]:
    """Return the cells in which the largest eigengap chose q."""
    return {
        f"{label}, {setting}": source.address("runs", experiment=rule, data=label)
        for rule, setting in RULES_OF_Q.items()
        if rule in source.experiments
        for label in map(dataset_label, map(str, source.runs(rule)["dataset"].unique()))
    }


def _of_low_rank(source: Source) -> dict[str, str]:
    runs = source.rows_of(LOW_RANK)
    cells = runs[["experiment", "method"]].drop_duplicates() if len(runs) else runs
    return {
        f"{name}, {method}": source.address("runs", experiment=name, method=low_rank_label(method))
        for name, method in cells.itertuples(index=False)
    }
