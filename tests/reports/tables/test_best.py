"""Which cells are bold: all that read as the best one does."""

import pandas as pd
import pytest

from kdrbench.reports.tables.ikdr_cells import compared_cells
from support.report_rows import run

SOLVERS = ["ism", "dg", "sm"]
EXPERIMENT = {"title": "T.", "datasets": ["wine"], "kernels": ["gaussian"], "solvers": SOLVERS}


@pytest.mark.parametrize(
    ("costs", "texts", "best"),
    [
        # To the digits that the spread leaves, the first two are one number.
        (
            ([-1297.0, -1327.0], [-1296.9, -1326.9], [-1290.0, -1320.0]),
            ["-1312 \u00b1 15", "-1312 \u00b1 15", "-1305 \u00b1 15"],
            ["ism", "dg"],
        ),
        (([-0.41540238], [-0.41540261], [-0.4151]), ["-0.4154", "-0.4154", "-0.4151"], ["ism", "dg"]),
        # The same number, printed in as many digits as each spread asks for.
        (
            ([-1297.0, -1327.0], [-1311.8, -1312.2], [-1.0, -2.0]),
            ["-1312 \u00b1 15", "-1312.00 \u00b1 0.20", "-1.50 \u00b1 0.50"],
            ["ism", "dg"],
        ),
        # The power of ten counts.
        (
            ([-1.8e8, -1.9e8], [-1.8e7, -1.9e7], [-1.0e7, -1.1e7]),
            ["(-1.850 \u00b1 0.050)e8", "(-1.850 \u00b1 0.050)e7", "(-1.050 \u00b1 0.050)e7"],
            ["ism"],
        ),
    ],
)
def test_costs_that_read_the_same_are_all_bold(costs, texts, best):
    rows = [
        run("wine", solver, fold, cost=cost)
        for solver, of_folds in zip(SOLVERS, costs, strict=True)
        for fold, cost in enumerate(of_folds)
    ]
    shape = {"split": "none"} if len(costs[0]) == 1 else {}
    frame = pd.DataFrame(rows).assign(split=shape.get("split", "folds"))
    found = [row for row in compared_cells(frame, EXPERIMENT | shape) if row.metric == "cost"]
    assert [row.ours.text for row in found] == texts
    assert [row.method for row in found if row.best] == best
