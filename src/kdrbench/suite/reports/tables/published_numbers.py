"""The published numbers and how they are to be read."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from kdrbench.errors import InputError
from kdrbench.suite.reports.declared import declared

# The paper that uses a part of Cancer and prints the name of the whole.
_OWN_ROWS_OF = "ismplus"
# The tables of the papers, and what their texts and figures say.
_FILES = ("published.csv", "published_lowrank.csv", "published_text.csv")
AXES = ("paper", "table", "setting", "dataset", "kernel", "method", "metric")


@dataclass(frozen=True)
class PublishedNumber:
    """One printed number: its text, and value and standard deviation in the unit of our numbers.

    ``status`` is ``ok``, ``time_limit`` (printed as "> 3d"), ``range`` (printed as "30-400", or said in words),
    ``figure`` (drawn, not printed) or ``not_available``; ``why`` holds what is known of differences from a fresh run.
    ``stake`` is the range of the numbers that the table prints for the same data and metric, costs with the same
    kernel. ``fitted`` names what of our settings was chosen because it meets the printed numbers; ``protocol`` is
    "training accuracy" where that is what the paper prints. ``scale`` is the unit in which it is printed. ``runs_of``
    names the kernel or method whose runs the print repeats, where it is not that of its column.
    """

    text: str
    status: str
    value: float | None
    std: float | None
    why: str
    stake: float = 0.0
    fitted: str = ""
    protocol: str = ""
    scale: float = 1.0
    runs_of: Mapping[str, str] = field(default_factory=dict)

    @property
    def rounding(self) -> float:
        """Half a unit of the last digit printed, in the unit of ``value``; 0 where no digits are known.

        "-39.1" means a value within 0.05 of it, "16.7m" within 3 s, "0%" within half a per cent.
        """
        digits = re.search(r"-?[0-9]+(?:[.]([0-9]+))?", self.text)
        if digits is None or self.value is None:
            return 0.0
        printed = float(digits[0])
        unit = abs(self.value / printed) if printed else (0.01 if "%" in self.text else 1.0)
        return 0.5 * unit * 10.0 ** -len(digits[1] or "")


@cache
def find_published(**axes: str) -> PublishedNumber | None:
    """Return the number printed at paper, table, setting, dataset, kernel, method and metric, if there is one."""
    row = _rows().get(tuple(axes[name] for name in AXES))
    if row is None:
        return None
    rules, scale = _rules(row), _scale(row)
    value, std = (float(row[name]) * scale if row[name] else None for name in ("value", "std"))
    words: dict[str, Any] = {
        name: "; ".join(rule[name] for rule in rules if name in rule) for name in ("why", "fitted", "protocol")
    }
    runs_of = {axis: name for rule in rules for axis, name in rule.get("runs_of", {}).items()}
    more: dict[str, Any] = {"stake": _stake(row), "scale": scale, "runs_of": runs_of}
    return PublishedNumber(row["text"], row["status"], value, std, **words, **more)


def _rules(axes: Mapping[str, str]) -> list[dict[str, Any]]:
    readings = declared("tables/readings")["reading"]
    return [rule for rule in readings if all(axes[key] == rule[key] for key in rule.keys() & set(AXES))]


def _scale(axes: Mapping[str, str]) -> float:
    return float(math.prod(rule.get("scale", 1.0) for rule in _rules(axes)))


def _stake(axes: Mapping[str, str]) -> float:
    """Return the range of what is printed beside a number: costs of one kernel, shares and counts of all."""
    same = ["paper", "table", "setting", "dataset", "metric", *(["kernel"] if axes["metric"] == "cost" else [])]
    beside = [row for row in _rows().values() if all(row[name] == axes[name] for name in same)]
    values = [float(row["value"]) * _scale(row) for row in beside if row["status"] == "ok" and row["value"]]
    return max(values) - min(values) if values else 0.0


def paper_label(name: str) -> str:
    """Return the paper's name as pages print it."""
    return str(declared("names")["papers"].get(name, name))


def published_name(axis: str, ours: str) -> str:
    """Return the name that the published numbers have for our ``dataset``, ``kernel`` or ``method``."""
    names = declared("names")["published"]
    return str((names["part"] | names[axis]).get(ours, ours))


def our_name(axis: str, printed: str, paper: str) -> str:
    """Return our name of a printed ``dataset`` or ``kernel``: the Cancer data of ISM+ are not those of NeurIPS 2019."""
    if axis == "dataset" and paper != _OWN_ROWS_OF:
        return printed
    inverse = {name: ours for ours, name in declared("names")["published"][axis].items()}
    return str(inverse.get(printed, printed))


def published_numbers(**table: str) -> list[dict[str, str]]:
    """Return the axes of every number printed with the named axes (paper, table, setting, ...), in print order.

    Cells in which no number is printed ("N/A", "-") are left out.
    """
    printed = (row for row in _rows().values() if row["status"] != "not_available")
    return [{axis: row[axis] for axis in AXES} for row in printed if table.items() <= row.items()]


def printed_table(experiment: Mapping[str, Any]) -> dict[str, str] | None:
    """Return paper, table and setting of the published numbers that an experiment reproduces, if it names a table."""
    published = experiment.get("published", {})
    return {axis: published[axis] for axis in AXES[:3]} if "table" in published else None


def check_published(**table: str) -> None:
    """Raise ``InputError`` unless some number of the named paper, table and setting is known."""
    tables = sorted({row[:3] for row in _rows()})
    if tuple(table[name] for name in AXES[:3]) not in tables:
        listed = "; ".join(", ".join(axes) for axes in tables)
        raise InputError(f"no published numbers of {', '.join(table.values())}; known: {listed}")


@cache
def _rows() -> dict[tuple[str, ...], dict[str, str]]:
    rows = {}
    for name in _FILES:
        text = files("kdrbench.suite.reports.tables").joinpath(name).read_text(encoding="utf-8")
        rows.update({tuple(row[axis] for axis in AXES): row for row in csv.DictReader(text.splitlines())})
    return rows
