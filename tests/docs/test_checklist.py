"""Each answer on the page of checklists is one of four, and points to something that is there."""

import re
from pathlib import Path

import click
import pytest

from kdrbench.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "checklist.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if re.match(r"\| (?!item|badge|question)\S", line) and not line.startswith("|---")
]
ANSWERS = {"yes", "partly", "no", "n/a"}
# The items of the sources: NeurIPS, the reproducibility checklist, ACM, benchmarking.
N_ITEMS = 16 + 18 + 5 + 17


def test_every_item_is_answered():
    assert len(ROWS) == N_ITEMS
    assert {answer for _, answer, _ in ROWS} == ANSWERS


@pytest.mark.parametrize("row", [row for row in ROWS if row[1] in {"yes", "partly"}], ids=lambda row: row[0][:40])
def test_what_is_met_is_shown_somewhere(row):
    shown = re.findall(r"\]\([^)]+\)", row[2]) + re.findall(r"`([^`]+)`", row[2])
    assert shown or row[2] == "as above"


def test_commands_targets_and_tests_that_are_named_exist():
    makefile = (ROOT / "Makefile").read_text()
    context = click.Context(main)
    for word in re.findall(r"`([^`]+)`", PAGE):
        first, _, rest = word.partition(" ")
        if first == "kdrbench":
            assert main.get_command(context, rest.split()[0]), word
        elif first == "make":
            assert re.search(rf"^{rest}:", makefile, re.M), word
        elif "/" in word or word.endswith((".yaml", ".json")):
            assert (ROOT / word).exists(), word


def test_what_is_not_met_is_listed_as_such():
    open_items = [row for row in ROWS if row[1] == "no"]
    listed = PAGE.partition("## Not met\n")[2].strip().splitlines()
    assert len(open_items) == 3
    assert len(listed) >= len(open_items)
