"""Which runs decide: those of the paper's own tables, data and protocol, and none that a budget left out."""

import copy

import pandas as pd
import pytest

from kdrbench.suite.experiments.config_file import lay_over
from kdrbench.suite.findings.claim_rows import TABLE_4, Records, decided_on, means, printed_cells, timed_cells
from kdrbench.suite.findings.claims import CLAIMS
from kdrbench.suite.findings.finding import Decision, Finding
from support.claim_rows import CONFIG, cells, claims, records
from support.configs import whole_config
from support.report_rows import kpca_run, runs_of


def covered(found, methods=("ism",), **options):
    return printed_cells(found, (TABLE_4,), "cost", methods, **options)


def test_what_lacks_is_named_and_decides_nothing():
    rows = [*cells("four", "ism"), *cells("four", "dg", only=["wine", "cancer"])]
    rows = [row for row in rows if (row["method"], row["dataset"], row["kernel"]) != ("dg", "wine", "polynomial")]
    coverage = covered(records(*rows), ("ism", "dg"))
    lacking = "Wine, Polynomial, DG; Face, Gaussian, DG; Face, Polynomial, DG"
    assert coverage.missing == (f"NeurIPS 2019, Table 4, supervised: no runs of {lacking} (ikdr.csv)",)
    found = decided_on(coverage, lambda _: Finding(Decision.CONTRADICTED, "some are higher"))
    assert found.decision is Decision.UNDECIDED
    assert found.evidence == f"lacking: {coverage.missing[0]}"


def test_other_data_splits_and_partitions_do_not_count():
    assert "no runs of Wine" in covered(records(*runs_of("wdbc", "ism", range(10), experiment="four"))).missing[0]
    for change in ({"experiment": "mine"}, {"split": "subsets"}, {"partition": 3}):
        rows = [row | change for row in cells("four", "ism")]
        assert "no runs" in covered(records(*rows)).missing[0]
    imitating = copy.deepcopy(CONFIG)
    imitating["experiments"]["four"]["published"]["protocol"] = True
    assert "no runs" in covered(records(*cells("four", "ism"), config=imitating)).missing[0]


@pytest.mark.parametrize("change", [{"status": "failed"}, {"cost": None}, None])
def test_a_missing_or_failed_run_loses_its_cell(change):
    rows = cells("four", "ism")
    rows[3:4] = [] if change is None else [rows[3] | change]
    coverage = covered(records(*rows))
    assert coverage.missing == ()
    assert means(coverage.rows, "cost")["mean"].notna().tolist() == [False] + [True] * 7


@pytest.mark.parametrize("first", [True, False])
def test_the_more_complete_experiment_of_a_table_counts(first):
    config = copy.deepcopy(CONFIG)
    config["experiments"]["other"] = config["experiments"]["four"]
    short = runs_of("wine", "ism", range(3), experiment="other", cost=-1.0)
    whole = cells("four", "ism")
    coverage = covered(records(*(short + whole if first else whole + short), config=config))
    assert means(coverage.rows, "cost")["mean"].notna().all()
    # All methods of a cell are of one experiment: DG has all its runs in both, ISM in one.
    whole += cells("four", "dg")
    other = [row | {"experiment": "other", "cost": -9e9} for row in cells("four", "dg")]
    coverage = covered(records(*(other + whole if first else whole + other), config=config), ("ism", "dg"))
    assert coverage.missing == ()
    assert set(coverage.rows["experiment"]) == {"four"}


def test_times_of_disturbed_runs_do_not_count():
    ours = cells("four", "ism", timed=lambda *at: at[2] != 1, drifted=lambda *at: at[2] == 2)
    coverage = timed_cells(records(*ours), (TABLE_4,), ("ism",))
    assert coverage.missing == ()
    assert set(coverage.rows.groupby("cell")["time_s"].count()) == {8}
    # One clean fold of ten, or none, is no time of a cell.
    alone = cells("four", "ism", drifted=lambda data, kernel, fold: data == "wine" and fold > 0)
    (missing,) = timed_cells(records(*alone), (TABLE_4,), ("ism",)).missing
    assert missing.startswith("undisturbed times of NeurIPS 2019, Table 4, supervised: Wine, Gaussian, ISM")


def test_wine_alone_decides_no_claim_of_the_papers():
    """The demo's rows: Wine and WDBC."""
    tables = [(name, method) for name in ("four", "plus_six") for method in ("ism", "dg")]
    rows = [row for table in tables for row in cells(*table, only=["wine"])]
    rows += [row | {"dataset": "wdbc"} for row in cells("four", "ism", only=["wine"])]
    of_ism = [claim for claim in CLAIMS if "2006" not in claim.paper and "2010" not in claim.paper]
    found = [claim.decide(records(*rows)) for claim in of_ism]
    assert len(found) > 15
    assert {one.decision for one in found} == {Decision.UNDECIDED}
    assert all(one.evidence.startswith("lacking: ") for one in found)


FOUR = "table4_supervised"
LIMITS = {"time_limit_s": 259200, "memory_limit_mib": 16384}


def of_table_4(*methods, skipped, **columns):
    """Table 4 with the runs skipped for which ``skipped`` returns true."""
    nothing = {"status": "skipped"} | dict.fromkeys(("cost", "iterations", "n_components", "optimality"))
    rows = [row | {"experiment": FOUR} for method in methods for row in cells("four", method, **LIMITS, **columns)]
    made = pd.DataFrame([row | nothing if skipped(row) else row for row in rows])
    return Records.of({"ikdr": made}, lay_over(whole_config(), {"run": [FOUR]}))


def on_wine(row):
    return (row["dataset"], row["kernel"]) == ("wine", "gaussian")


def test_a_cell_with_runs_that_were_not_made_is_not_lost():
    records = of_table_4("ism", skipped=lambda row: on_wine(row) and row["run"] >= 7)
    (missing,) = covered(records).missing
    words = "3 runs of ism on Wine were not made, since the budget was used up"
    assert missing == f"NeurIPS 2019, Table 4, supervised: {words}"
    with_bounds = covered(records, bounds=True)
    assert with_bounds.missing == ()
    waiting = with_bounds.rows.groupby("cell", sort=False)["open"].sum().astype(int).tolist()
    assert waiting == [3, 0, 0, 0, 0, 0, 0, 0]
    # One of which no run was made lacks.
    (missing,) = covered(of_table_4("ism", skipped=on_wine), bounds=True).missing
    assert missing.endswith("no runs of Wine, Gaussian, ISM (ikdr.csv)")


def test_iterations_of_runs_that_were_not_made_are_open():
    found = claims.rivals_iterations(of_table_4("dg", "sm", skipped=lambda row: row["run"] >= 7, iterations=310))
    words = "98 of 140 runs (70 %), and 42 open; 310 to 310"
    assert (found.decision, found.measure) == (Decision.UNDECIDED, words)


def test_splits_that_were_not_made_are_no_rows():
    made = kpca_run(experiment="kpca_tables", kernel=None, test_selected=None)
    rows = pd.DataFrame([made, made | {"run": 1, "status": "skipped"}])
    config = lay_over(whole_config(), {"run": ["kpca_tables"]})
    assert Records.of({"kpca_trick": rows}, config).kpca["run"].tolist() == [0]
