"""The pages of a site and the files beside them, which need neither a server nor a network."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, count
from pathlib import Path
from typing import Any

from kdrbench.datasets.card import facts_of
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import DamagedError, in_words
from kdrbench.files import write_bytes, write_text
from kdrbench.status import Status
from kdrbench.suite.findings.answers import Answer, leading_of
from kdrbench.suite.findings.effects import EFFECT_RULES
from kdrbench.suite.findings.finding import DECISION_RULES, Decision
from kdrbench.suite.findings.matrix import DISTURBED, MATRIX_MEANS
from kdrbench.suite.reports.dashboard.bars import bar_of, claims_of, effects_of, shares_of, touched
from kdrbench.suite.reports.dashboard.checks import checks_of
from kdrbench.suite.reports.dashboard.citation import citation_of
from kdrbench.suite.reports.dashboard.overview import counts_of
from kdrbench.suite.reports.dashboard.page import pack, tables_script, tables_style
from kdrbench.suite.reports.dashboard.rendering import environment, slug
from kdrbench.suite.reports.figures.chart import Chart
from kdrbench.suite.reports.figures.draw_matplotlib import draw, laid_out, render
from kdrbench.suite.reports.site.cells import Line, lines_of, table_of_dataset, table_of_method
from kdrbench.suite.reports.site.changes import changes
from kdrbench.suite.reports.site.record import SiteRecord
from kdrbench.suite.reports.tables.cells import CONVERGED_MEANS, endings_found
from kdrbench.suite.reports.tables.html import provenance
from kdrbench.suite.reports.tables.labels import METRIC_TITLES, TIMES_MEAN, dataset_label
from kdrbench.suite.reports.tables.published_numbers import paper_label
from kdrbench.suite.reports.tables.verdicts import VERDICT_RULES

# How the site has each figure.
_KINDS = ("svg", "pdf")
_PACKAGES = ("kdrbench.suite.reports.site", "kdrbench.suite.reports.dashboard")


@dataclass(frozen=True)
class Address:
    """A page: the words of a link to it, and its file."""

    title: str
    file: str


@dataclass(frozen=True)
class Site:
    """What all pages know: the records, and the addresses of the pages of each kind, by what they are of."""

    records: Sequence[SiteRecord]
    lines: Sequence[Line]
    papers: Mapping[str, Address] = field(default_factory=dict)
    methods: Mapping[str, Address] = field(default_factory=dict)
    datasets: Mapping[str, Address] = field(default_factory=dict)
    of_records: Mapping[str, Address] = field(default_factory=dict)
    changes: Mapping[tuple[str, str], Address] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Sequence[SiteRecord]) -> Site:
        """Return the site of some records."""
        lines = [line for record in records for line in lines_of(record, named=len(records) > 1)]
        papers = dict.fromkeys(paper for record in records for paper in record.papers.values())
        pairs = list(combinations([record.name for record in records], 2))
        return cls(
            records,
            lines,
            addresses("paper", {paper: paper_label(paper) for paper in papers}),
            addresses("method", {name: name for name in sorted({line.method for line in lines}, key=str.lower)}),
            addresses("data", {name: dataset_label(name) for name in sorted({line.dataset for line in lines})}),
            addresses("record", {record.name: record.name for record in records}),
            addresses("changes", {pair: " and ".join(pair) for pair in pairs}),
        )


def addresses(kind: str, titles: Mapping[Any, str]) -> dict[Any, Address]:
    """Return the address of each page of a kind by what it is of; no two files differ by case alone."""
    taken: set[str] = set()
    found = {}
    for key, title in titles.items():
        stem = f"{kind}-{slug(title)[:80]}"
        name = next(one for one in _numbered(stem) if one not in taken)
        taken.add(name)
        found[key] = Address(title, f"{name}.html")
    return found


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    yield from (f"{stem}-{number}" for number in count(2))


def write_site(folder: Path, records: Sequence[SiteRecord], drawn: Path | None = None) -> list[str]:
    """Write all pages, figures and scripts into a folder that holds the records; return the names of the pages.

    Figures that lie in the folder ``drawn`` are taken from there, for they take longest.
    """
    site, pages = Site.of(records), environment(*_PACKAGES)
    shared = {"site": site, "metric_titles": METRIC_TITLES, "times_mean": TIMES_MEAN}
    citation = citation_of([one for record in records for one in touched(record.comparisons)])
    shared |= {"matrix_means": MATRIX_MEANS, "disturbed": DISTURBED, "citation": citation}
    written = []
    for template, address, values in _pages(site):
        text = pages.get_template(f"{template}.html.j2").render(**shared, title=address.title, kind=template, **values)
        write_text(folder / address.file, text, durable=False)
        written.append(address.file)
    for record in records:
        _write_figures(folder / "figures" / slug(record.name), record.charts, drawn)
    # Loaded as a script: a page that is opened from disk may not read other files.
    packed = pack(tables_script())
    write_text(folder / "assets" / "tables.js", f'"use strict";\nconst PACKED_TABLES = "{packed}";\n', durable=False)
    write_text(folder / "assets" / "tables.css", tables_style(), durable=False)
    for name in ("site.css", "site.js"):
        write_text(folder / "assets" / name, pages.get_template(name).render(), durable=False)
    return written


def _pages(site: Site) -> Iterator[tuple[str, Address, dict[str, Any]]]:
    """Yield the template, the address and the values of each page."""
    rows = [_row(record) for record in site.records]
    yield "index", Address("Overview", "index.html"), {"rows": rows, **_answers(site.records)}
    yield "claims", Address("Claims", "claims.html"), {"rules": DECISION_RULES, "claims": _claims(site.records)}
    for paper, address in site.papers.items():
        yield "paper", address, {"parts": list(_paper_parts(site, paper)), "rules": _RULES}
    for record in site.records:
        yield "record", site.of_records[record.name], _of_record(record)
    for method, address in site.methods.items():
        lines = [line for line in site.lines if line.method == method]
        yield "lines", address, {"of": "method", "facts": [], "table": table_of_method(method, lines)}
    for dataset, address in site.datasets.items():
        lines = [line for line in site.lines if line.dataset == dataset]
        registry = load_registry()
        facts = facts_of(registry[dataset]) if dataset in registry else []
        yield "lines", address, {"of": "dataset", "facts": facts, "table": table_of_dataset(address.title, lines)}
    by_name = {record.name: record for record in site.records}
    for (first, second), address in site.changes.items():
        yield "changes", address, {"changes": changes(by_name[first], by_name[second])}


_RULES = f"{VERDICT_RULES} {EFFECT_RULES}"


def _row(record: SiteRecord) -> dict[str, Any]:
    """Return a record's line of the overview: where, with what and when it was made, and how its runs ended."""
    runs = record.runs
    dates = sorted({str(day)[:10] for day in runs["started_at"].dropna()} - {""})
    return {
        "record": record,
        "machines": _words(runs["processor"]),
        "versions": _words(runs["kdrbench_version"]),
        "dates": " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "unknown",
        "counts": counts_of(runs),
        "bar": _endings(record),
    }


def _answers(records: Sequence[SiteRecord], experiments: Collection[str] | None = None) -> dict[str, Any]:
    """Return answers, of all experiments or of some, by question and experiment, and whose matrix is open."""
    answers = [(record.name, one) for record in records for one in record.answers]
    found = [(name, one) for name, one in answers if experiments is None or one.experiment in experiments]
    asked: dict[str, dict[str, list[tuple[str, Answer]]]] = {}
    for name, one in found:
        asked.setdefault(one.question, {}).setdefault(one.experiment, []).append((name, one))
    return {"answers": asked, "leading": leading_of(one for _, one in found)}


def _words(values: Iterable[Any]) -> str:
    return ", ".join(sorted({str(value) for value in values} - {"", "nan"})) or "unknown"


def _endings(record: SiteRecord) -> Any:
    found = [str(one) for one in endings_found(record.runs)]
    order = [str(status) for status in Status]
    return bar_of(record.name, found, [*dict.fromkeys([order[0], *found, *order])])


def _claims(records: Sequence[SiteRecord]) -> list[dict[str, Any]]:
    """Return each claim with what every record says of it; ``decided`` counts those that decide it."""
    claims: dict[tuple[str, str], dict[str, Any]] = {}
    for record in records:
        for one in record.claims:
            key = one["claim"], one["paper"]
            row = claims.setdefault(key, {**one, "by": dict.fromkeys((each.name for each in records), None)})
            row["by"][record.name] = one
    for row in claims.values():
        verdicts = [one["verdict"] for one in row["by"].values() if one and one["verdict"] != Decision.UNDECIDED]
        row |= {"decided": len(verdicts), "differ": len(set(verdicts)) > 1}
    return list(claims.values())


def _paper_parts(site: Site, paper: str) -> Iterator[dict[str, Any]]:
    """Yield what each record has of a paper."""
    for record in site.records:
        if paper not in record.papers.values():
            continue
        comparisons = [one for one in record.comparisons if one.paper == paper]
        yield {
            "record": record,
            **_answers([record], [name for name, of in record.papers.items() if of == paper]),
            "shares": shares_of(comparisons),
            "effects": effects_of(comparisons),
            "comparisons": comparisons,
            "claims": [one for one in record.claims if paper_label(paper) in one["paper"].split(", ")],
            "tables": record.tables_of(paper),
            "figures": _figures(record, paper),
        }


def _figures(record: SiteRecord, paper: str) -> list[dict[str, Any]]:
    places = record.charts_of(paper).items()
    return [{"chart": chart, "file": f"figures/{slug(record.name)}/{slug(name)}"} for name, chart in places]


def _of_record(record: SiteRecord) -> dict[str, Any]:
    return {
        "record": record,
        **_answers([record], set(record.config["run"]) - set(record.papers)),
        "bar": _endings(record),
        "provenance": provenance(record.runs),
        "converged_means": CONVERGED_MEANS,
        "checks": [check for check in checks_of(record.runs, record.config) if check.findings],
        "claims": claims_of(record.claims),
        "tables": record.tables_of(""),
        "figures": _figures(record, ""),
        "files": sorted(path.relative_to(record.folder.parents[1]).as_posix() for path in record.folder.rglob("*.*")),
    }


def _write_figures(folder: Path, charts: Mapping[str, Chart], drawn: Path | None) -> None:
    """Write each figure as .svg, .pdf and .json; what cannot be drawn came from elsewhere, and is refused."""
    for name, chart in charts.items():
        try:
            found = [drawn / f"{name}.{kind}" for kind in _KINDS] if drawn else []
            there = bool(found) and all(path.is_file() for path in found)
            figure = None if there else laid_out(draw(chart))
            for number, kind in enumerate(_KINDS):
                content = found[number].read_bytes() if figure is None else render(figure, kind)
                write_bytes(folder / f"{slug(name)}.{kind}", content, durable=False)
            write_text(folder / f"{slug(name)}.json", chart.to_json(), durable=False)
        except Exception as error:
            # Matplotlib and Pillow raise errors of any type for what is no number, no name or no picture.
            raise DamagedError(
                f"figure {name!r} cannot be drawn ({in_words(error)}); draw it again where its runs are"
            ) from error
