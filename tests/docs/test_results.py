"""Numbers of results on the pages: those of experiments of the record are generated, others name their command.

Pages below docs/record are made by `kdrbench summary`, and test_record_pages.py compares them with the record.
"""

import re
from pathlib import Path

import pytest

from kdrbench.commands.options import read_configs
from kdrbench.stages.config import load_grid

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXPERIMENTS = read_configs((ROOT / "config.yaml", ROOT / "config.papers.yaml"))["run"]
# By what a section says that its numbers are of the papers' experiments; some of their names are words, too.
_OF_PAPERS = re.compile(rf"\bprinted\b|\bas published\b|`(?:{'|'.join(EXPERIMENTS)})`")
_DECIMAL = re.compile(r"(?<![\w.])\(?[-+<>]?\s*\d*\.\d+")
# What makes the numbers beside which it is named.
_COMMAND = re.compile(r"`[^`]*\b(?:benchmarks/\w+\.py|make \w+)[^`]*`")


def sections(text):
    """Return the parts of a page below each of its headings."""
    return re.split(r"^(?=#+ )", text, flags=re.M)


def tables(text):
    """Return the tables of a text, each with its lines."""
    return [found[0].splitlines() for found in re.finditer(r"(?:^\|.*\n?)+", text, re.M)]


def is_of_results(table):
    """Return whether a row of a table has a cell that begins with a decimal number."""
    rows = [line.strip("|").split("|") for line in table[2:]]
    return any(_DECIMAL.match(cell.strip()) for row in rows for cell in row)


def unnamed(text):
    """Return the tables of results in sections that name an experiment of the papers, or print, and no command."""
    return [
        table[0]
        for section in sections(text)
        if not _COMMAND.search(section)
        for table in tables(section)
        if is_of_results(table) and _OF_PAPERS.search(section)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_table_of_results_of_the_papers_is_generated_or_names_its_command(page):
    found = unnamed(page.read_text())
    assert not found, (
        f"{page.name}: generate these tables as docs/record is, or name the benchmarks/*.py beside them: {found}"
    )


def test_a_typed_table_of_an_experiment_is_noticed():
    typed = "## What came out\n\n| data | cost |\n|---|---|\n| `table4_supervised`, Wine | -1.5 |\n"
    assert unnamed(typed) == ["| data | cost |"]
    assert not unnamed(typed.replace("What came out\n", "What came out\n\n`python benchmarks/rivals.py` prints it.\n"))
    assert not unnamed(typed.replace("-1.5", "760"))
    assert unnamed(typed.replace("`table4_supervised`, ", "").replace("| cost |", "| as printed |"))
    assert not unnamed(typed.replace("table4_supervised", "mine"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_runs_of_the_demo_are_those_that_are_planned(page):
    demo = load_grid(read_configs((ROOT / "config.yaml", ROOT / "config.demo.yaml")))
    n_runs = sum(len(batch.runs) for batch in demo.batches())
    of_demo = [part for part in re.split(r"\n\s*\n", page.read_text()) if re.search(r"\bdemo\b", part)]
    assert {number for part in of_demo for number in re.findall(r"([\d,]+) runs\b", part)} <= {str(n_runs)}
