"""The part of a packed record that is read where not all of it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """What of a record is read: rows of these experiments, data sets and runs, with their traces and arrays.

    Numbers of runs are written as in a table.
    """

    experiments: frozenset[str]
    datasets: frozenset[str]
    runs: frozenset[str]

    def has(self, words: Mapping[str, str]) -> bool:
        """Return whether a row, as the words of its table, is one of them."""
        return words["dataset"] in self.datasets and words["run"] in self.runs
