"""Which pages the summary of a record has, and their files among a configuration's reports."""

from __future__ import annotations

from kdrbench.suite.reports.outputs import LOW_RANK_TEXT, report_folder, tables_of
from kdrbench.suite.reports.records import ATLAS, KPCA_TRICK, LEAGUE, NOISE, Config, of_papers

FOLDER = "summary"
# The page that is made in print too.
PRINTED = "what_we_found"
_OF_PAPERS = (PRINTED, "experiments")
# Each other page with the table that it shows, and the system of that.
_TABLES = {
    "metric_learning": ("kpca_table1", KPCA_TRICK),
    "low_rank": (LOW_RANK_TEXT, LOW_RANK_TEXT),
    "league": ("league_small", LEAGUE),
    "atlas": ("atlas", ATLAS),
    "noise": ("noise", NOISE),
}
PAGES = (*_OF_PAPERS, *_TABLES)


def pages_of(config: Config) -> list[str]:
    """Return the pages of the experiments that are run: those on papers where one names a paper, then those of tables.

    A table counts where it is of the system whose table the page shows.
    """
    kinds = {name: report.kind for name, report in tables_of(config).items()}
    tables = [page for page, (name, kind) in _TABLES.items() if kinds.get(name) == kind]
    return [*_OF_PAPERS, *tables] if of_papers(config)["run"] else tables


def summary_files(config: Config, *, typeset: bool) -> list[str]:
    """Return the files of the summary of a configuration; ``typeset`` adds the print of what was found of papers."""
    pages, folder = pages_of(config), f"{report_folder(config)}/{FOLDER}"
    printed = [f"{folder}/{PRINTED}.pdf"] if typeset and PRINTED in pages else []
    return [f"{folder}/{page}.md" for page in pages] + printed
