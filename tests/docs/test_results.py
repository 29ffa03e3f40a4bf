"""Numbers of results on the pages: those of experiments of the record are generated, others name their command.

Pages below docs/record are made by `kdrbench summary`, and test_record_pages.py compares them with the record.
"""

import re
from pathlib import Path

import pytest

from kdrbench.commands.options import read_configs
from kdrbench.reduction.methods import METHODS
from kdrbench.stages.config import load_grid

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXPERIMENTS = read_configs((ROOT / "config.yaml", ROOT / "config.papers.yaml"))["run"]
# By what a section says that its numbers are of the papers' experiments; some of their names are words, too.
_OF_PAPERS = re.compile(rf"\bprinted\b|\bas published\b|`(?:{'|'.join(EXPERIMENTS)})`")
_DECIMAL = re.compile(r"(?<![\w.])\(?[-+<>]?\s*\d*\.\d+")
_OF_RECORD = re.compile(r"record of the papers|papers' (?:grid|record)")
# In a sentence: a decimal number that is no version, no name's value and no axis's end, or a percentage.
_NUMBER = re.compile(r"(?<![\w.=-])(?<!= )\d*\.\d+(?!\.?\d)|\d %")
_SIZE = re.compile(r"\d (?:rows|experiments|core-hours|MB)\b")
# Numbers that no record decides: definitions, examples, sizes of print, and what sources of rivals say.
_GIVEN = (
    *("cost at most 0.1 % above", "more than 2 % of the starts", "the goal is 95 %", "0.8 of them, and not all"),
    *('"39 of 41 runs (95 %)', "p at most 0.05", "no p below 0.05", "95 % interval of", "or the printed rounding"),
    *("is 3.5 inches wide", "have 7.5 points", "Provenance Run Crate", "longest step is 0.1", "16.7 to 17.8 minutes"),
    "0.01 where none is recorded",
)
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


def sentences(text):
    """Return the sentences of a text that are in no table and no block of code, without code and formulas."""
    text = re.sub(r"^```.*?^```|^\|[^\n]*", "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)", "", text)
    return [" ".join(one.split()) for one in re.split(r"(?<=[.:;])\s+|\n\s*\n", text)]


def typed(text):
    """Return the sentences with a result, in sections as those of :func:`unnamed`, or with a size of the record."""
    found = []
    for section in sections(text):
        said = [one for one in sentences(section) if not any(given in one for given in _GIVEN)]
        found += [one for one in said if _SIZE.search(one) and _OF_RECORD.search(one)]
        if not _COMMAND.search(section) and (_OF_PAPERS.search(section) or _OF_RECORD.search(section)):
            found += [one for one in said if _NUMBER.search(one)]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_table_of_results_of_the_papers_is_generated_or_names_its_command(page):
    found = unnamed(page.read_text())
    assert not found, (
        f"{page.name}: generate these tables as docs/record is, or name the benchmarks/*.py beside them: {found}"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_sentence_on_the_papers_types_a_result(page):
    found = typed(page.read_text())
    assert not found, f"{page.name}: link to docs/record, or name the command that makes these numbers: {found}"


def test_numbers_that_are_given_are_still_there():
    text = " ".join(one for page in PAGES for one in sentences(page.read_text()))
    assert [given for given in _GIVEN if given not in text] == []


def test_a_typed_sentence_of_an_experiment_is_noticed():
    text = "## What came out\n\n`table4_supervised` reaches an accuracy of 98.3 %. It takes 1.5 s with W = 0.1.\n"
    assert typed(text) == ["reaches an accuracy of 98.3 %.", "It takes 1.5 s with W = 0.1."]
    assert not typed(text.replace("It takes", "`make bench` prints it. It takes"))
    assert not typed(text.replace("table4_supervised", "mine"))
    assert not typed(text.replace("98.3 %", "`98.3 %`").replace("1.5 s with", ""))
    assert typed("`make bench` says: with the 20,588 rows of the papers' grid it is large.")


def test_a_typed_table_of_an_experiment_is_noticed():
    typed = "## What came out\n\n| data | cost |\n|---|---|\n| `table4_supervised`, Wine | -1.5 |\n"
    assert unnamed(typed) == ["| data | cost |"]
    assert not unnamed(typed.replace("What came out\n", "What came out\n\n`python benchmarks/rivals.py` prints it.\n"))
    assert not unnamed(typed.replace("-1.5", "760"))
    assert unnamed(typed.replace("`table4_supervised`, ", "").replace("| cost |", "| as printed |"))
    assert not unnamed(typed.replace("table4_supervised", "mine"))


def test_the_page_on_the_league_says_why_the_small_one_lacks_a_method():
    asked = read_configs((ROOT / "config.yaml",))["experiments"]["league_small"]["methods"]
    lacking = [entry.title for name, entry in METHODS.items() if name not in asked]
    said = sentences((ROOT / "docs/league.md").read_text())
    assert lacking
    assert [one for one in lacking if not any(one in sentence and "since" in sentence for sentence in said)] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_the_runs_of_the_demo_are_those_that_are_planned(page):
    demo = load_grid(read_configs((ROOT / "config.yaml", ROOT / "config.demo.yaml")))
    n_runs = sum(len(batch.runs) for batch in demo.batches())
    of_demo = [part for part in re.split(r"\n\s*\n|\n(?=- )", page.read_text()) if re.search(r"\bdemo\b", part)]
    assert {number for part in of_demo for number in re.findall(r"([\d,]+) runs\b", part)} <= {str(n_runs)}
