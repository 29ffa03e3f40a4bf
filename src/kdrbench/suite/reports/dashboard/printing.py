"""What of a page is printed: answers and claims, and those tables and figures for which twelve pages have room."""

from __future__ import annotations

from kdrbench.errors import counted
from kdrbench.suite.reports.figures.chart import Chart
from kdrbench.suite.reports.outputs import experiment_tables
from kdrbench.suite.reports.records import KPCA_TRICK, Config, of_papers, system_of
from kdrbench.suite.reports.tables.table import Table

# What twelve printed pages hold beside answers and claims.
_TABLES, _FIGURES = 40, 60
# Tables of more rows are left out; those of more columns take the whole width, others half of it.
LONG, BROAD = 40, 13
# Where not all are printed: lines of half the width for tables, and what headings and notes of each take of them.
_LINES, _LINES_AROUND = 380, 8


def not_printed(tables: list[Table], charts: list[Chart]) -> str:
    """Return how many tables and figures there are, where paper has no room for all; empty where it has."""
    if len(tables) <= _TABLES and len(charts) <= _FIGURES:
        return ""
    return f"{counted(len(tables), 'table')} and {counted(len(charts), 'figure')}"


def printed_tables(tables: list[Table], config: Config) -> set[str]:
    """Return the names of the tables that paper shows where not all have room: first those that papers print."""
    order = {name: place for place, name in enumerate(_of_papers(config))}
    room, found = _LINES, set()
    for table in sorted(tables, key=lambda one: order.get(one.name, len(order))):
        lines = (len(table.rows) + _LINES_AROUND) * (2 if len(table.columns) > BROAD else 1)
        if len(table.rows) <= LONG and lines <= room:
            room -= lines
            found.add(table.name)
    return found


def _of_papers(config: Config) -> list[str]:
    """Return the tables of the experiments that repeat a paper's table; those that follow its protocol come after."""
    of_paper = {name: config["experiments"][name] for name in of_papers(config)["run"]}
    names = [name for name, one in of_paper.items() if system_of(one) == KPCA_TRICK or "table" in one["published"]]
    names.sort(key=lambda name: bool(of_paper[name]["published"].get("protocol")))
    return [report.name for name in names for report in experiment_tables(config, name)]
