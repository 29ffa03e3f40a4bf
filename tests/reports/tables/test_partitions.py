"""How the mean of a cross validation varies over redrawn partitions."""

import numpy as np
import pandas as pd
import pytest

from kdrbench.suite.systems.ikdr.partitions import FEWEST_PARTITIONS, Partitions, spread_table
from kdrbench.suite.systems.ikdr.tables import compared_cells
from support.report_rows import TABLE_4, experiment_of, runs_of

FOLDS = 10
REDRAWN = {"datasets": ["wine"], "paradigm": "supervised", "folds": FOLDS, "partitions": 6, "components": {"wine": 4}}
PRINTED = experiment_of("ism", "dg", **REDRAWN, published=TABLE_4)
CONFIG = {"run": ["again", "e"], "experiments": {"again": REDRAWN, "e": PRINTED | {"partitions": 1}}}
MEANS = [-1310.0, -1311.0, -1312.0, -1310.5, -1311.5, -1309.0]


def rows(means=MEANS, spread=100.0, **columns):
    """Ten folds a partition, whose spread is far larger than that of the means."""
    columns |= {"partition": lambda number: number // FOLDS, "experiment": "again"}
    costs = {"cost": lambda number: means[number // FOLDS] + (-1) ** number * spread}
    return runs_of("wine", "ism", range(FOLDS * len(means)), **costs, **columns)


def spread_of(rows, config=CONFIG, method="ism", number="cost"):
    return Partitions(pd.DataFrame(rows), config).of(PRINTED, "wine", "gaussian", method, number)


def test_the_standard_error_is_the_deviation_over_partitions():
    spread, of_dg = spread_of(rows()), spread_of(rows(), method="dg")
    assert (spread.error, spread.partitions) == (pytest.approx(np.std(MEANS, ddof=1)), 6)
    assert spread.error < 1.2
    # Constant qualities do not vary.
    assert spread_of(rows(), number="quality").error < 1e-15
    # A rival whose partitions were not redrawn varies as ISM.
    assert of_dg == spread


def test_the_table_of_spreads_names_the_mean_of_each_row():
    table = spread_table(Partitions(pd.DataFrame(rows()), CONFIG))
    (cost,) = [row for row in table.rows if row[3].text == "cost"]
    assert [entry.text for entry in cost] == ["Wine", "Gaussian", "ISM", "cost", "6", f"{np.std(MEANS, ddof=1):.3g}"]


def test_too_few_whole_partitions_or_failed_runs_say_nothing():
    few = rows()[: FOLDS * (FEWEST_PARTITIONS - 1)]
    # Of halves of partitions there is no mean.
    for made in (few, rows()[::2], rows(status="failed")):
        assert spread_of(made) is None
    # Other folds or components are another problem.
    for change in ({"folds": 5}, {"components": {"wine": 3}}, {"stratified": False}, {"scaling": "own"}):
        found = Partitions(pd.DataFrame(rows()), CONFIG).of(PRINTED | change, "wine", "gaussian", "ism", "cost")
        assert found is None


def test_a_table_judges_by_them():
    own = pd.DataFrame(runs_of("wine", "ism", range(FOLDS), cost=lambda fold: -1314.0 + (-1) ** fold * 26))
    experiment = PRINTED | {"partitions": 1, "split": "folds"}

    def verdict(partitions):
        cells = compared_cells(own, experiment, partitions=partitions)
        return next(row.verdict for row in cells if (row.method, row.metric) == ("ism", "cost"))

    # Printed -1311: off by three, which is 2.8 standard errors of .11, or many of 1.07.
    assert verdict(Partitions(pd.DataFrame(rows()), CONFIG)) == "reproduced"
    assert verdict(Partitions(pd.DataFrame(rows([mean / 10 - 1179 for mean in MEANS])), CONFIG)) == "close"
    assert verdict(None) == "close"


@pytest.mark.parametrize(("one_draw", "share"), [(True, (FOLDS + 1) / 2), (False, 1.0)])
def test_a_printed_draw_is_compared_with_single_draws(one_draw, share):
    table = {**TABLE_4, "setting": "unsupervised"} if one_draw else TABLE_4
    experiment = PRINTED | {"published": table, "split": "subsets", "rows": {"wine": 100}, "solvers": ["ism"]}
    drawn = pd.DataFrame([row | {"experiment": "e", "cost": row["cost"] / 50} for row in rows([-1310.0], 3.0)])
    (cost,) = [cell for cell in compared_cells(drawn, experiment) if cell.metric == "cost"]
    assert cost.error == pytest.approx(3.0 / 50 * np.sqrt(share / (FOLDS - 1)))
