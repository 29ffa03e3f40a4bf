"""Runs that a user's budget left out are no results: they neither lose a cell nor contradict a claim."""

import pandas as pd

from kdrbench.suite.experiments.config_file import lay_over
from kdrbench.suite.findings.claim_rows import TABLE_4, Records, printed_cells
from kdrbench.suite.findings.finding import Decision
from support.claim_rows import cells, claims
from support.configs import whole_config
from support.report_rows import kpca_run

FOUR = "table4_supervised"
LIMITS = {"time_limit_s": 259200, "memory_limit_mib": 16384}


def of_table_4(*methods, skipped, **columns):
    """Table 4 with the runs skipped for which ``skipped`` returns true."""

    def as_made(row):
        numbers = {"cost": None, "iterations": None, "n_components": None, "optimality": None}
        return row | ({"status": "skipped"} | numbers if skipped(row) else {})

    rows = [row | {"experiment": FOUR} for method in methods for row in cells("four", method, **LIMITS, **columns)]
    return Records.of({"ikdr": pd.DataFrame(map(as_made, rows))}, lay_over(whole_config(), {"run": [FOUR]}))


def on_wine(row):
    return (row["dataset"], row["kernel"]) == ("wine", "gaussian")


def test_a_cell_with_runs_that_were_not_made_is_not_lost():
    records = of_table_4("ism", skipped=lambda row: on_wine(row) and row["run"] >= 7)
    (missing,) = printed_cells(records, (TABLE_4,), "cost", ("ism",)).missing
    assert missing == (
        "NeurIPS 2019, Table 4, supervised: 3 runs of ism on Wine were not made, since the budget was used up"
    )
    with_bounds = printed_cells(records, (TABLE_4,), "cost", ("ism",), bounds=True)
    assert with_bounds.missing == ()
    waiting = with_bounds.rows.groupby("cell", sort=False)["open"].sum().astype(int).tolist()
    assert waiting == [3, 0, 0, 0, 0, 0, 0, 0]


def test_a_cell_of_which_no_run_was_made_lacks():
    records = of_table_4("ism", skipped=on_wine)
    (missing,) = printed_cells(records, (TABLE_4,), "cost", ("ism",), bounds=True).missing
    assert missing.endswith("no runs of Wine, Gaussian, ISM (ikdr.csv)")


def test_iterations_of_runs_that_were_not_made_are_open():
    records = of_table_4("dg", "sm", skipped=lambda row: row["run"] >= 7, iterations=310)
    found = claims.rivals_iterations(records)
    assert (found.decision, found.measure) == (
        Decision.UNDECIDED,
        "98 of 140 runs (70 %), and 42 open; 310 to 310",
    )


def test_splits_that_were_not_made_are_no_rows():
    rows = [
        kpca_run(experiment="kpca_tables", kernel=None, test_selected=None, run=split, status=status)
        for split, status in enumerate(("converged", "skipped"))
    ]
    config = lay_over(whole_config(), {"run": ["kpca_tables"]})
    assert Records.of({"kpca_trick": pd.DataFrame(rows)}, config).kpca["run"].tolist() == [0]
