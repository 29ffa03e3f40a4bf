"""Decisions by shares, and the data sets of a paper."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kdrbench.cli import main
from kdrbench.reports.claims.claim import (
    DECISION_RULES,
    Decision,
    decided_by_share,
    decision_of,
    papers_datasets,
    reached,
    share_of,
)
from kdrbench.reports.tables.published_numbers import our_name, published_name, published_numbers


@pytest.mark.parametrize(
    ("holding", "normally", "decision"),
    [
        (20, False, Decision.CONFIRMED),
        (19, False, Decision.MOSTLY),
        (16, False, Decision.MOSTLY),
        (15, False, Decision.CONTRADICTED),
        (18, True, Decision.CONFIRMED),
        (17, True, Decision.MOSTLY),
        (15, True, Decision.CONTRADICTED),
    ],
)
def test_a_share_decides(holding, normally, decision):
    found = decided_by_share(holding, 20, "evidence", "note", "run", normally=normally)
    assert (found.decision, found.evidence, found.note) == (decision, "evidence", "note")
    assert found.measure == f"{holding} of 20 runs ({5 * holding} %)"


@pytest.mark.parametrize("normally", [False, True])
@pytest.mark.parametrize("n_total", [1, 2, 5, 10, 12])
def test_a_share_with_open_ones_is_decided_where_all_that_they_might_be_decides_alike(n_total, normally):
    """Each open one holds, or not, or is not among those that count, as a run that the paper's limit stops as well."""
    for n_holding in range(n_total + 1):
        for n_open in range(n_total - n_holding + 1):
            found = decided_by_share(n_holding, n_total, "", normally=normally, n_open=n_open)
            possible = {
                decided_by_share(n_holding + more, n_total - fewer, "", normally=normally).decision
                for more in range(n_open + 1)
                for fewer in range(n_open + 1 - more)
            }
            assert found.decision is (possible.pop() if len(possible) == 1 else Decision.UNDECIDED)


def test_nothing_to_count_decides_nothing():
    found = decided_by_share(0, 0, "evidence")
    assert (found.decision, found.measure) == (Decision.UNDECIDED, "")
    assert found.evidence == "lacking: no cell to count"


def test_only_all_are_a_hundred_per_cent():
    assert share_of(199, 200, "run") == "199 of 200 runs (99 %)"
    assert share_of(2, 6155, "run") == "2 of 6155 runs (< 1 %)"
    assert share_of(0, 6155, "run") == "0 of 6155 runs (0 %)"
    assert share_of(200, 200, "run") == "200 of 200 runs (100 %)"
    assert share_of(1, 1, "run") == "1 of 1 run (100 %)"


def test_data_sets_of_a_paper_have_our_names():
    assert papers_datasets("neurips2019", "4", "5") == {"wine", "cancer", "face", "mnist"}
    assert papers_datasets("ismplus", "5") == {"wine", "cancer-137", "car", "face"}
    assert {"balance", "m-usps"} <= papers_datasets("kpca_trick", "1", "2")
    assert papers_datasets("neurips2019") >= papers_datasets("neurips2019", "4")
    assert papers_datasets("kpca_trick", "9") == frozenset()


def test_our_names_print_as_the_papers_do():
    for axes in published_numbers():
        for axis in ("dataset", "kernel"):
            assert published_name(axis, our_name(axis, axes[axis], axes["paper"])) == axes[axis]


def test_the_worst_case_stands_in_the_measure():
    found = decided_by_share(39, 41, "evidence", unit="run", extreme="at most 5")
    assert (found.decision, found.measure) == (Decision.MOSTLY, "39 of 41 runs (95 %); at most 5")


@pytest.mark.parametrize(
    ("number", "bounds", "share"),
    [
        (10.0, {"least": 10.0}, 1.0),
        (8.0, {"least": 10.0}, 0.8),
        (-3.0, {"least": 10.0}, 0.0),
        (2.0, {"most": 2.0}, 1.0),
        (2.5, {"most": 2.0}, 0.8),
        (-1.0, {"most": 2.0}, 1.0),
        (0.001, {"most": 0.0}, 0.0),
        (0.0, {"most": 0.0}, 1.0),
        (4.0, {"least": 5.0, "most": 20.0}, 0.8),
        (25.0, {"least": 5.0, "most": 20.0}, 0.8),
        (float("inf"), {"least": 1.0}, 1.0),
        (float("nan"), {"least": 1.0}, 0.0),
        (float("nan"), {"most": 1.0}, 0.0),
    ],
)
def test_a_number_meets_its_bounds_by_a_share(number, bounds, share):
    assert reached(number, **bounds) == pytest.approx(share)


def test_one_rule_decides_shares_and_numbers_and_is_printed_and_documented():
    decisions = [decision_of(one) for one in (1.0, 0.999, 0.8, 0.799, 0.0)]
    assert decisions == [Decision.CONFIRMED, *[Decision.MOSTLY] * 2, *[Decision.CONTRADICTED] * 2]
    assert decision_of(0.9, needed=0.9) is Decision.CONFIRMED
    assert "at least 80 %" in DECISION_RULES
    assert all(decision in DECISION_RULES for decision in Decision)
    page = (Path(__file__).parents[3] / "docs" / "claims.md").read_text()
    assert all(f"| {decision} |" in page for decision in Decision)
    assert all(share in page for share in ("80 %", "90 %"))


def test_the_commands_count_the_decisions_and_say_each_measure(tmp_path):
    claims = [{"verdict": str(one)} for one in (Decision.MOSTLY, Decision.CONFIRMED, Decision.MOSTLY)]
    (tmp_path / "claims.json").write_text(json.dumps(claims))
    (tmp_path / "runs.csv").write_text("status,drifted\nconverged,False\n")
    done = CliRunner().invoke(main, ["where", str(tmp_path / "runs.csv"), "--reports", str(tmp_path)])
    assert "claims of the papers: 2 mostly confirmed, 1 confirmed" in done.output
    assert str(tmp_path / "claims.html") in done.output
    # Experiments that name no paper have no claims.
    (tmp_path / "claims.json").write_text("[]")
    done = CliRunner().invoke(main, ["where", str(tmp_path / "runs.csv"), "--reports", str(tmp_path)])
    assert (done.exit_code, "claims" in done.output.replace("claims.json", "")) == (0, False)
