"""The summaries of a record: a page of Markdown a template, for the documentation to include."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from kdrbench.errors import InputError, counted
from kdrbench.files import write_text
from kdrbench.status import Status
from kdrbench.suite.findings.answers import Answer
from kdrbench.suite.findings.finding import Claim, Decision, share_of
from kdrbench.suite.findings.ledger import COUNTED, NONE_KNOWN, Trace, judged, labels_of, place_label, trace_of
from kdrbench.suite.findings.ledger_lines import UNLIKE, Comparison
from kdrbench.suite.findings.outcome import stopped
from kdrbench.suite.findings.source import Source
from kdrbench.suite.reports.dashboard.rendering import slug
from kdrbench.suite.reports.outputs import SUMMARY_PAGES, summary_pages
from kdrbench.suite.reports.records import IKDR, of_papers
from kdrbench.suite.reports.tables.cells import SADDLE
from kdrbench.suite.reports.tables.labels import NO_CELL, abbreviations_in, kernel_label, method_label
from kdrbench.suite.reports.tables.published_numbers import paper_label
from kdrbench.suite.reports.tables.table import Entry, Table
from kdrbench.suite.reports.tables.verdicts import Verdict
from kdrbench.suite.systems.ikdr.scores import CURVED

_MADE = "<!-- Made by `kdrbench summary` from a record"
# Why numbers differ: this many reasons are named, those of most numbers first, and facts of the authors' code.
_MOST_REASONS, _MOST_OF_AUTHORS = 8, 5
# How a note on lanes begins, and a reason names the runs of the authors' code.
FIRST_LANE, AUTHORS_RUNS = "By the authors' code", "authors_"
_ISM = "ism"
_NUMBER = re.compile(r"[<>]?\s*[-+(]?\.?\d")
_SPECIAL = re.compile(r"[\\|<>*_`\[\]$&]")


def write_summaries(source: Source, folder: Path) -> list[Path]:
    """Write the pages for which the record has the rows, and return them; pages of an earlier record are removed.

    Raises ``InputError`` where another file has the name of a page, before anything is written.
    """
    paths = {name: folder / f"{name}.md" for name in SUMMARY_PAGES}
    for path in paths.values():
        if path.is_file() and not path.read_text(encoding="utf-8", errors="replace").startswith(_MADE):
            raise InputError(f"{path} is no page that `kdrbench summary` has made; name another folder with --out")
    there = summary_pages(source.made)
    for name in paths.keys() - there:
        paths.pop(name).unlink(missing_ok=True)
    for name, path in paths.items():
        write_text(path, summary(name, source))
    return list(paths.values())


def summary(name: str, source: Source) -> str:
    """Return a page of the record; every number in it is read from there."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("kdrbench.suite.findings"),
        autoescape=jinja2.select_autoescape(),
        undefined=jinja2.StrictUndefined,
        finalize=as_markdown,
        keep_trailing_newline=True,
    )
    # A macro gives what is escaped already.
    environment.filters |= {"markdown": Markdown, "link": link, "slug": slug}
    shown = {"source": source, "summary": Summary(source), "pages": summary_pages(source.made), "counted": counted}
    shown |= {"markdown_table": markdown_table, "most_reasons": _MOST_REASONS, "most_authors": _MOST_OF_AUTHORS}
    page = environment.get_template(f"{name}.md.j2").render(**shown)
    return f"{_MADE}; what it says is in templates/{name}.md.j2. -->\n\n{page}"


@dataclass(frozen=True)
class Reason:
    """Why printed numbers are not met, how many, how many of them another protocol gives, and one of them."""

    why: str
    count: int
    traced: int
    example: str
    address: str


@dataclass(frozen=True, eq=False)
class Summary:
    """What a record says as a whole: its size, what reproduces, what does not and why, and what experiments gave."""

    source: Source

    @cached_property
    def runs(self) -> pd.DataFrame:
        """What all rows of all experiments have: experiment, run, seconds of its process, and where it was made."""
        names = ["experiment", "run", "wall_s", "processor", "trace_file"]
        tables = self.source.runs.values()
        return pd.concat([table.reindex(columns=names) for table in tables], ignore_index=True)

    @property
    def size(self) -> str:
        """Rows, experiments and the seconds of their processes, in words."""
        # Several rows may be of one process.
        hours = float(self.runs.drop_duplicates(["trace_file", "run", "wall_s"])["wall_s"].sum()) / 3600
        experiments = counted(self.runs["experiment"].nunique(), "experiment")
        shown = f"{hours:.2g}" if hours < 10 else f"{hours:.0f}"
        return f"{counted(len(self.runs), 'row')} of {experiments}, {shown} core-hours"

    @property
    def processors(self) -> str:
        """The processors on which rows were made."""
        return " and on ".join(sorted(set(self.runs["processor"].dropna())))

    @property
    def abbreviations(self) -> str:
        """What abbreviations of claims, answers and reasons stand for."""
        claims = [claim.words for claim, _ in self.source.claims]
        reasons = [one.why for kind in (True, False) for one in self.reasons(of_authors=kind)[:_MOST_REASONS]]
        answers = [one.text for one in self.answers(beyond=True)]
        endings = [text for _, text, _ in self.endings()]
        return abbreviations_in(*claims, *reasons, *answers, *endings)

    @property
    def _first(self) -> list[Comparison]:
        return [line for line in self.source.comparisons if line.first]

    def papers(self) -> Iterator[tuple[str, str, list[int]]]:
        """Yield each paper, its verdicts in words, and how many of its numbers are traced in each way."""
        for paper in dict.fromkeys(line.paper for line in self._first):
            lines = [line for line in judged(self._first) if line.paper == paper]
            verdicts = Counter(line.verdict for line in lines)
            traced = _traced(lines)
            words = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in COUNTED if verdicts[verdict])
            yield paper_label(paper), words or "no printed number is judged", [traced[trace] for trace in Trace]

    @property
    def in_short(self) -> str:
        """How many printed numbers are traced in which way, and how claims are decided, in two sentences."""
        traced = _traced(judged(self._first))
        ours, by_protocol, explained, n_open = (traced[trace] for trace in Trace)
        decided = Counter(finding.decision for _, finding in self.source.claims)
        text = (
            f"Of {counted(traced.total(), 'printed number')} that can be judged our runs reproduce {ours}, and runs of "
            f"another protocol {by_protocol}; a sentence alone explains {explained}, and {n_open} are open."
        )
        words = ", ".join(f"{decided[decision]} {decision}" for decision in Decision if decided[decision])
        return f"{text} Of {counted(len(self.source.claims), 'claim')}: {words}." if words else text

    @property
    def n_unjudged(self) -> int:
        """How many printed numbers are not judged, beside those that are of another protocol than our runs."""
        return sum(line.verdict is Verdict.NOT_JUDGED for line in self._first)

    def lanes(self) -> list[tuple[Claim, str]]:
        """Return the claims that were judged in several lanes, and what holds in each."""
        return [(claim, found.note) for claim, found in self.source.claims if found.note.startswith(FIRST_LANE)]

    def reasons(self, *, of_authors: bool) -> list[Reason]:
        """Return why numbers differ or are only close, that of most numbers first.

        ``of_authors`` chooses what the authors' code did otherwise, as far as their numbers show it, or the rest, where
        a reason may say that none is known.
        """
        of_reasons: dict[str, list[Comparison]] = {}
        for line in self._first:
            is_of_authors = AUTHORS_RUNS in line.why and not NONE_KNOWN.search(line.why)
            if line.verdict in UNLIKE and is_of_authors is of_authors:
                # What follows the first reason is of the runs of one cell.
                of_reasons.setdefault(line.why.split("; ")[0], []).append(line)
        return sorted((self._reason(*each) for each in of_reasons.items()), key=lambda reason: -reason.count)

    def _reason(self, why: str, lines: Sequence[Comparison]) -> Reason:
        traced = [line for line in lines if trace_of(line) is Trace.PROTOCOL]
        example = (traced or lines)[0]
        return Reason(why, len(lines), len(traced), _example(example), self.source.address_of_runs(example))

    def endings(self) -> Iterator[tuple[str, str, str]]:
        """Yield what the rows of dimension reduction say of saddles and cycles: question, answer, address."""
        if (runs := self.source.systems.get(IKDR)) is None:
            return
        ism, here = runs[runs["method"] == _ISM], self.source.address("runs", method=method_label(_ISM))
        known = ism.dropna(subset=["curvature"])
        if len(known):
            yield "How often does ISM as published leave a direction of ascent?", _ascent(known), here
        stationary = runs[runs["optimality"].isin([SADDLE, "second_order"])]
        if len(stationary):
            question = "How often does a solver that converges end on a saddle?"
            yield question, _saddles(stationary), self.source.address("runs")
        if len(ism):
            yield "How often does ISM as published cycle?", _cycles(ism), here

    def answers(self, beyond: bool) -> list[Answer]:
        """Return what experiments answer: those of the papers' tables, or those ``beyond`` them."""
        papers = set(of_papers(self.source.config)["run"])
        return [self.source.answers[name] for name in self.source.experiments if (name in papers) is not beyond]


def _traced(lines: Sequence[Comparison]) -> Counter[Trace]:
    """Return how many printed numbers are traced in which way."""
    return Counter(trace_of(line) for line in lines if line.verdict is not Verdict.NOT_RUN)


def _example(line: Comparison) -> str:
    """Return where a number is printed, and it beside ours."""
    parts = (paper_label(line.paper), place_label(line.table), *labels_of(line))
    shown = f"{', '.join(part for part in parts if part != '-')}: {line.published} printed, {line.ours} here"
    met = next((number for number, verdict in line.by_protocol if verdict == Verdict.REPRODUCED), "")
    return f"{shown}, {met.partition(' (')[0]} by another protocol" if met else shown


def _ascent(known: pd.DataFrame) -> str:
    negative = known["curvature"].astype(float) < -CURVED
    counts = [f"{kernel_label(name)} {part.sum()} of {len(part)}" for name, part in negative.groupby(known["kernel"])]
    share = share_of(int(negative.sum()), len(known), "end")
    counted_ends = f"The curvature is below {-CURVED:.0e} at {share} whose curvature is known: {', '.join(counts)}."
    return f"{counted_ends} The papers' rule ends runs before fixed points, which the claim on second order is about."


def _saddles(stationary: pd.DataFrame) -> str:
    saddles = stationary[stationary["optimality"] == SADDLE]
    counts = Counter(zip(saddles["experiment"], saddles["method"], strict=True))
    names = ", ".join(f"{method_label(method)} {n} ({experiment})" for (experiment, method), n in counts.items())
    share = share_of(len(saddles), len(stationary), "stationary end")
    return f"{share} whose curvature is known{f': {names}' if names else ''}."


def _cycles(ism: pd.DataFrame) -> str:
    counts, n_stopped = ism["status"].value_counts(), int(stopped(ism).sum())
    used_up, own_rule = (int(counts.get(str(each), 0)) for each in (Status.MAX_ITERATIONS, Status.CONVERGED))
    return (
        f"{share_of(used_up, len(ism), 'run')} used up their iterations, as a cycle does; its own rule ended "
        f"{counted(own_rule, 'run')}, a limit {counted(n_stopped, 'run')}."
    )


class Markdown(str):
    """A text that is Markdown already."""

    __slots__ = ()


def as_markdown(value: object) -> str:
    """Return what a template gives: Markdown as it is, words of a record so that none of them is markup."""
    return value if isinstance(value, Markdown) else escape(str(value))


def escape(text: str) -> str:
    """Return words as Markdown shows them, on one line."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def link(text: str, address: str) -> Markdown:
    """Return words that lead to an address; the words alone where there is none."""
    return Markdown(f"[{escape(text)}]({address})" if address else escape(text))


def markdown_table(table: Table) -> Markdown:
    """Return a table with all its columns, below the names of their groups."""
    above = [""] * table.n_labels
    for group in table.groups[-1] if table.groups else []:
        above += [group.title] * group.width
    above += [""] * (len(table.columns) - len(above))
    names = [f"{group}: {name}" if group else name for group, name in zip(above, table.columns, strict=True)]
    lines = [[escape(name) for name in names], [_rule(place, table) for place in range(len(names))]]
    lines += [[_cell(entry) for entry in row] for row in table.rows]
    return Markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


def _rule(place: int, table: Table) -> str:
    words = [row[place].text for row in table.rows if row[place].text not in ("", NO_CELL)]
    is_words = place < table.n_labels or (words and not any(map(_NUMBER.match, words)))
    return "---" if is_words else "---:"


def _cell(entry: Entry) -> str:
    text = escape(entry.text + entry.mark)
    return f"**{text}**" if entry.bold and text else text
