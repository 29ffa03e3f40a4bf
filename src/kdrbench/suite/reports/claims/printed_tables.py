"""The tables of NeurIPS 2019 and ISM+ whose printed cells decide claims, and the solvers that they compare."""

from __future__ import annotations

from dataclasses import dataclass

from kdrbench.suite.reports.records import Split
from kdrbench.suite.reports.tables.labels import CONVERGED
from kdrbench.suite.reports.tables.published_numbers import paper_label

RIVALS = ("dg", "sm", "gm")
CONVERGED_RIVALS = tuple(f"{name}_{CONVERGED}" for name in RIVALS)
FOLDS = 10


@dataclass(frozen=True)
class PrintedTable:
    """A table of a paper, or one of its two halves."""

    paper: str
    table: str
    setting: str

    @property
    def label(self) -> str:
        """The table in words."""
        return f"{paper_label(self.paper)}, Table {self.table}, {self.setting}"

    @property
    def protocol(self) -> tuple[Split, int]:
        """The split and the number of runs: ten folds in supervised tables of NeurIPS 2019, else all rows, once."""
        folds = self.paper == "neurips2019" and self.setting == "supervised"
        return (Split.FOLDS, FOLDS) if folds else (Split.NONE, 1)


TABLE_4 = PrintedTable("neurips2019", "4", "supervised")
TABLE_4_CLUSTERS = PrintedTable("neurips2019", "4", "unsupervised")
TABLE_5 = PrintedTable("neurips2019", "5", "supervised")
TABLE_5_CLUSTERS = PrintedTable("neurips2019", "5", "unsupervised")
PLUS_5 = PrintedTable("ismplus", "5", "supervised")
PLUS_6 = PrintedTable("ismplus", "6", "unsupervised")
