"""Decisions by shares, and the data sets of a paper."""

import math

import pytest

from kdrbench.suite.findings.finding import (
    DECISION_RULES,
    Decision,
    decided_by_cases,
    decided_by_share,
    only_decision,
    reached,
    share_of,
    side_of,
)
from kdrbench.suite.reports.tables.published_numbers import our_name, published_name, published_numbers


def test_a_share_decides():
    confirmed, mostly, contradicted = Decision.CONFIRMED, Decision.MOSTLY, Decision.CONTRADICTED
    wanted = {(20, False): confirmed, (19, False): mostly, (16, False): mostly, (15, False): contradicted}
    wanted |= {(18, True): confirmed, (17, True): mostly, (15, True): contradicted}
    for (holding, normally), decision in wanted.items():
        found = decided_by_share(holding, 20, "evidence", "note", normally=normally)
        assert (found.decision, found.evidence, found.note) == (decision, "evidence", "note")
        assert found.measure == f"{holding} of 20 cells ({5 * holding} %)"
        assert found.power == "one cell is 5 %"
    assert all(decision in DECISION_RULES for decision in Decision)
    worst = decided_by_share(39, 41, "evidence", unit="run", extreme="at most 5")
    assert (worst.decision, worst.measure) == (mostly, "39 of 41 runs (95 %); at most 5")


@pytest.mark.parametrize("normally", [False, True])
def test_open_cells_decide_nothing_unless_all_outcomes_agree(normally):
    """Each open one holds, or not, or is not among those that count, as a run that the paper's limit stops as well."""
    for n_total in (1, 2, 5, 10, 12):
        for n_holding in range(n_total + 1):
            for n_open in range(n_total - n_holding + 1):
                found = decided_by_share(n_holding, n_total, "", normally=normally, n_open=n_open)
                possible = {
                    decided_by_share(n_holding + more, n_total - fewer, "", normally=normally).decision
                    for more in range(n_open + 1)
                    for fewer in range(n_open + 1 - more)
                }
                assert found.decision is only_decision(possible)


def test_what_is_at_least_mostly_so_is_mostly_so():
    confirmed, mostly, contradicted = Decision.CONFIRMED, Decision.MOSTLY, Decision.CONTRADICTED
    assert only_decision({confirmed, mostly}) is mostly
    assert only_decision({mostly, contradicted}) is only_decision({confirmed, mostly, contradicted})
    assert only_decision({mostly, contradicted}) is Decision.UNDECIDED


@pytest.mark.parametrize(
    ("sides", "decision"),
    [
        ("hhhhhhhhhh", Decision.CONFIRMED),
        ("hhhhhhhhhu", Decision.MOSTLY),
        ("hhhhhhhfuu", Decision.INDISTINCT),
        ("hhfffffffu", Decision.CONTRADICTED),
        # Half of what is counted could be either.
        ("fffffuuuuu", Decision.INDISTINCT),
        ("hhhhhhffoo", Decision.UNDECIDED),
    ],
)
def test_what_intervals_leave_unclear_is_neither_confirmed_nor_contradicted(sides, decision):
    named = {"h": Decision.CONFIRMED, "u": Decision.INDISTINCT, "f": Decision.CONTRADICTED, "o": Decision.UNDECIDED}
    found = decided_by_cases([(f"cell {number}", named[letter]) for number, letter in enumerate(sides)])
    assert found.decision is decision
    failing = [f"cell {number}" for number, letter in enumerate(sides) if letter in "fu"]
    assert all(name in found.evidence for name in failing[:3])


def test_an_interval_lies_inside_outside_or_across_a_region():
    assert side_of(0.1, 0.2, least=0.0) is Decision.CONFIRMED
    assert side_of(-0.2, -0.1, least=0.0) is Decision.CONTRADICTED
    assert side_of(-0.1, 0.1, least=0.0) is Decision.INDISTINCT
    assert side_of(1.0, 2.5, least=1.75, most=2.25) is Decision.INDISTINCT
    assert side_of(math.nan, math.nan, most=1.0) is Decision.CONTRADICTED


def test_a_handful_of_runs_neither_confirms_nor_contradicts_a_share():
    few, many = (decided_by_share(count, total, "", unit="run", normally=True) for count, total in ((6, 8), (75, 100)))
    assert (few.decision, few.power) == (Decision.INDISTINCT, "95 %: 35 to 97 % of runs")
    assert (many.decision, many.power) == (Decision.CONTRADICTED, "95 %: 65 to 83 % of runs")


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


def test_a_number_meets_its_bounds_by_a_share():
    for number, share in ((10.0, 1.0), (8.0, 0.8), (-3.0, 0.0), (math.inf, 1.0), (math.nan, 0.0)):
        assert reached(number, least=10.0) == pytest.approx(share)
    for number, share in ((2.0, 1.0), (2.5, 0.8), (-1.0, 1.0), (math.nan, 0.0)):
        assert reached(number, most=2.0) == pytest.approx(share)
    assert (reached(0.001, most=0.0), reached(0.0, most=0.0)) == (0.0, 1.0)
    for number in (4.0, 25.0):
        assert reached(number, least=5.0, most=20.0) == pytest.approx(0.8)
