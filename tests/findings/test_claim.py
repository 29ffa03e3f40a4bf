"""Decisions by shares, and the data sets of a paper."""

import math
from functools import cache

import pandas as pd
import pytest

from kdrbench.suite.findings.finding import (
    DECISION_RULES,
    Decision,
    decided_by_rows,
    decision_of,
    only_decision,
    share_of,
    side_of,
)
from kdrbench.suite.reports.tables.published_numbers import our_name, published_name, published_numbers

CONFIRMED, MOSTLY, INDISTINCT, CONTRADICTED, UNDECIDED = Decision


@cache
def counted(letters, unit="cell", **others):
    """What is found of cases that hold, fail, are unclear or open, by their first letters."""
    names = [f"cell {number}" for number in range(len(letters))]
    cases = pd.DataFrame({"letter": list(letters), "name": names, "number": range(len(letters))})
    declared = {"holds": "letter == 'h'", "fails": "letter == 'f'", "opened": "letter == 'o'", "number": "number"}
    return decided_by_rows(cases, unit=unit, **declared, **others)


def test_a_share_decides():
    wanted = {(20, False): CONFIRMED, (19, False): MOSTLY, (16, False): MOSTLY, (15, False): CONTRADICTED}
    wanted |= {(18, True): CONFIRMED, (17, True): MOSTLY, (15, True): CONTRADICTED}
    for (holding, normally), decision in wanted.items():
        found = counted("h" * holding + "f" * (20 - holding), normally=normally)
        assert (found.decision, found.measure) == (decision, f"{holding} of 20 cells ({5 * holding} %)")
        assert found.power == "one cell more or less is 5 %"
    assert list(DECISION_RULES) == list(Decision)
    assert "in at least 80 % but not in all" in DECISION_RULES[Decision.MOSTLY]
    assert counted("hhf", extreme="{least:g} to {most:g}").measure == "2 of 3 cells (67 %); 0 to 2"
    assert counted("hhf", extreme="{most:g}", above=2.0).measure == "2 of 3 cells (67 %)"


@pytest.mark.parametrize("normally", [False, True])
def test_open_cells_decide_nothing_unless_all_outcomes_agree(normally):
    """Each open one holds, or not, or is not among those that count, as a run that the paper's limit stops as well."""
    for n_total in (1, 2, 5, 10, 12):
        for n_holding in range(n_total + 1):
            for n_open in range(n_total - n_holding + 1):
                n_failing = n_total - n_holding - n_open
                found = counted("h" * n_holding + "f" * n_failing + "o" * n_open, normally=normally)
                possible = {
                    counted("h" * (n_holding + more) + "f" * (n_total - fewer - n_holding - more), normally=normally)
                    for more in range(n_open + 1)
                    for fewer in range(n_open + 1 - more)
                }
                assert found.decision is only_decision({one.decision for one in possible})
    # What is at least mostly so is mostly so.
    assert only_decision({CONFIRMED, MOSTLY}) is MOSTLY
    assert only_decision({MOSTLY, CONTRADICTED}) is only_decision({CONFIRMED, MOSTLY, CONTRADICTED}) is UNDECIDED


@pytest.mark.parametrize(
    ("letters", "decision"),
    [
        ("hhhhhhhhhh", CONFIRMED),
        ("hhhhhhhhhu", MOSTLY),
        ("hhhhhhhfuu", INDISTINCT),
        ("hhfffffffu", CONTRADICTED),
        # Half of what is counted could be either.
        ("fffffuuuuu", INDISTINCT),
        ("hhhhhhffoo", UNDECIDED),
    ],
)
def test_what_intervals_leave_unclear_is_neither_confirmed_nor_contradicted(letters, decision):
    found = counted(letters)
    assert found.decision is decision
    failing = [f"cell {number}" for number, letter in enumerate(letters) if letter in "fu"]
    assert all(name in found.evidence for name in failing[:3])
    # Nor is the share of a handful of runs.
    few, many = (counted("h" * n + "f" * (total - n), "run", normally=True) for n, total in ((6, 8), (75, 100)))
    assert (few.decision, few.power) == (INDISTINCT, "95 %: 35 to 97 % of runs")
    assert (many.decision, many.power) == (CONTRADICTED, "95 %: 65 to 83 % of runs")


def test_rows_are_counted_by_expressions_of_their_columns():
    rows = pd.DataFrame({"cost": [1.0, 2.0, None, 9.0], "size": [1, 2, 3, 50], "open": [False, False, False, True]})
    found = decided_by_rows(rows, holds="cost < 3", among="size < 10 or open", number="10 * cost", extreme="{most:g}")
    assert (found.decision, found.measure) == (CONTRADICTED, "2 of 4 runs (50 %), and 1 open; 90")
    assert decided_by_rows(rows, holds="cost < 3", fewest=4).evidence == "lacking: 4 runs to count; there are 3"
    few = decided_by_rows(rows[:2], holds="cost < 3", needs="size >= 9", unit="solve")
    assert few.evidence == "lacking: a solve with size >= 9"
    assert decided_by_rows(rows[:2], holds="cost < 2", needs="size >= 9").decision is not UNDECIDED


def test_an_interval_lies_inside_outside_or_across_a_region():
    assert side_of(0.1, 0.2, least=0.0) is CONFIRMED
    assert side_of(-0.2, -0.1, least=0.0) is CONTRADICTED
    assert side_of(-0.1, 0.1, least=0.0) is INDISTINCT
    assert side_of(1.0, 2.5, least=1.75, most=2.25) is INDISTINCT
    assert side_of(math.nan, math.nan, most=1.0) is CONTRADICTED


def test_only_all_are_a_hundred_per_cent():
    assert share_of(199, 200, "run") == "199 of 200 runs (99 %)"
    assert share_of(2, 6155, "run") == "2 of 6155 runs (< 1 %)"
    assert share_of(0, 6155, "run") == "0 of 6155 runs (0 %)"
    assert share_of(200, 200, "run") == "200 of 200 runs (100 %)"
    assert share_of(1, 1, "run") == "1 of 1 run (100 %)"


def test_our_names_print_as_the_papers_do():
    for axes in published_numbers():
        for axis in ("dataset", "kernel"):
            assert published_name(axis, our_name(axis, axes[axis], axes["paper"])) == axes[axis]


def test_a_number_meets_its_bound_by_a_share():
    for number, decision in ((10.0, CONFIRMED), (math.inf, CONFIRMED), (8.0, MOSTLY), (7.9, CONTRADICTED)):
        assert decision_of(number / 10.0) is decision
    assert decision_of(-3.0) is decision_of(math.nan) is CONTRADICTED


def test_of_rows_that_are_one_case_the_worst_decides():
    places = ["a", "b", "a", "b", "c"]
    rows = pd.DataFrame({"gap": [1.0, -1.0, 3.0, -2.0, 2.0], "name": list("pqrst"), "place": places})
    found = decided_by_rows(rows, holds="gap < 2", number="gap", by=["place"], extreme="{least:g} to {most:g}")
    assert (found.measure, found.evidence) == (
        "1 of 3 runs (33 %); 2 to 3",
        "holds in 1 of 3 runs (33 %); not shown in r; t",
    )
