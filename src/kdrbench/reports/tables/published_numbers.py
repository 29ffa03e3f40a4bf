"""The published numbers and how they are to be read."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from kdrbench.errors import InputError

# Names that differ between the configuration and the published numbers.
_NAMES = {
    "dataset": {"cancer-137": "cancer"},
    "kernel": {"gaussian_polynomial": "gaussian+polynomial", "none": ""},
    "method": {
        "ism_2018": "ism2018",
        # Baselines are named by what is done before the classifier or the clustering.
        "svm": "none",
        "pca_svm": "pca",
        "spectral_clustering": "none",
        "pca_spectral_clustering": "pca",
    },
}
# The paper that uses a part of Cancer and prints the name of the whole.
_OWN_ROWS_OF = "ismplus"
# As pages print them.
_PAPERS = {
    "neurips2019": "NeurIPS 2019",
    "ismplus": "ISM+",
    "kpca_trick": "KPCA trick 2010",
    "lowrank2006": "Low-rank kernels 2006",
}
# The tables of the papers, and what the text of one says.
_FILES = ("published.csv", "published_lowrank.csv")
_AXES = ("paper", "table", "setting", "dataset", "kernel", "method", "metric")


@dataclass(frozen=True)
class PublishedNumber:
    """One printed number: its text, and value and standard deviation in the unit of our numbers.

    ``status`` is ``ok``, ``time_limit`` (printed as "> 3d") or ``not_available``; ``why`` holds what is known of
    differences from a fresh run.
    """

    text: str
    status: str
    value: float | None
    std: float | None
    why: str

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


def find_published(**axes: str) -> PublishedNumber | None:
    """Return the number printed at paper, table, setting, dataset, kernel, method and metric, if there is one."""
    row = _rows().get(tuple(axes[name] for name in _AXES))
    if row is None:
        return None
    rules = [rule for rule in _readings() if all(axes[key] == rule[key] for key in rule.keys() & set(_AXES))]
    scale = 1.0
    for rule in rules:
        scale *= rule.get("scale", 1.0)
    return PublishedNumber(
        text=row["text"],
        status=row["status"],
        value=float(row["value"]) * scale if row["value"] else None,
        std=float(row["std"]) * scale if row["std"] else None,
        why="; ".join(rule["why"] for rule in rules),
    )


def paper_label(name: str) -> str:
    """Return the paper's name as pages print it."""
    return _PAPERS.get(name, name)


def published_name(axis: str, ours: str) -> str:
    """Return the name that the published numbers have for our ``dataset``, ``kernel`` or ``method``."""
    return _NAMES[axis].get(ours, ours)


def our_name(axis: str, printed: str, paper: str) -> str:
    """Return our name of a printed ``dataset`` or ``kernel``: the Cancer data of ISM+ are not those of NeurIPS 2019."""
    if axis == "dataset" and paper != _OWN_ROWS_OF:
        return printed
    inverse = {name: ours for ours, name in _NAMES[axis].items()}
    return inverse.get(printed, printed)


def published_numbers(**table: str) -> list[dict[str, str]]:
    """Return the axes of every number printed with the named axes (paper, table, setting, ...), in print order.

    Cells in which no number is printed ("N/A", "-") are left out.
    """
    printed = [dict(zip(_AXES, axes, strict=True)) for axes, row in _rows().items() if row["status"] != "not_available"]
    return [axes for axes in printed if all(axes[name] == value for name, value in table.items())]


def printed_table(experiment: Mapping[str, Any]) -> dict[str, str] | None:
    """Return paper, table and setting of the published numbers that an experiment reproduces, if it names a table."""
    published = experiment.get("published", {})
    return {axis: published[axis] for axis in _AXES[:3]} if "table" in published else None


def check_published(**table: str) -> None:
    """Raise ``InputError`` unless some number of the named paper, table and setting is known."""
    tables = sorted({row[:3] for row in _rows()})
    if tuple(table[name] for name in _AXES[:3]) not in tables:
        listed = "; ".join(", ".join(axes) for axes in tables)
        raise InputError(f"no published numbers of {', '.join(table.values())}; known: {listed}")


@cache
def _rows() -> dict[tuple[str, ...], dict[str, str]]:
    rows = {}
    for name in _FILES:
        text = files("kdrbench.reports.tables").joinpath(name).read_text(encoding="utf-8")
        rows.update({tuple(row[axis] for axis in _AXES): row for row in csv.DictReader(text.splitlines())})
    return rows


@cache
def _readings() -> list[dict[str, Any]]:
    text = files("kdrbench.reports.tables").joinpath("readings.toml").read_text(encoding="utf-8")
    readings: list[dict[str, Any]] = tomllib.loads(text)["reading"]
    return readings
