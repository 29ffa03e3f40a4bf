"""What cells say on pointing at them: what the number is, of how many runs, its 95 % interval; and their runs."""

import numpy as np
import pandas as pd
from scipy import stats

from kdrbench.suite.reports.dashboard.cells import Cells
from kdrbench.suite.systems.ikdr.paired_tests import paired_table, paired_tests
from kdrbench.suite.systems.kpca_trick.tables import kpca_tables
from support.report_rows import kpca_run, run

ACCURACIES = {"plain": [0.80, 0.82, 0.84], "cross_validated": [0.90, 0.92, 0.94], "centred": [0.7, 0.7, 0.7]}


def ends(values):
    """The 95 % interval of a mean, by scipy."""
    return stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))


def test_accuracies_of_learners_and_the_tests_on_them():
    rows = [
        kpca_run(learner="nca", variant=variant, run=number, accuracy=value, test_selected=None)
        for variant, values in ACCURACIES.items()
        for number, value in enumerate(values)
    ]
    table, tests, _ = kpca_tables(pd.DataFrame(rows), "kpca_tables")
    line = dict(zip(table.columns, table.rows[0], strict=True))
    low, high = ends(ACCURACIES["cross_validated"])
    assert line["KNCA"].detail == (
        "Accuracy: share of the test samples that 1-NN labels rightly; over 3 of 3 splits; "
        f"95 % interval {low:.3f} to {high:.3f}"
    )
    assert line["AKNCA, centred"].axes == ("accuracy", "iris", "", "caknca")
    first = dict(zip(tests.columns, tests.rows[0], strict=True))
    assert first["Mean difference"].detail == (
        "difference of accuracy to the plain learner, mean; over 3 splits; 95 % interval 0.10000 to 0.10000"
    )
    assert all(entry.detail and entry.axes for entry in tests.rows[0][2:])


def test_paired_tests_lead_to_the_runs_of_their_own_experiment():
    rows = [
        run("wine", method, number, experiment=experiment, cost=cost + number, time_s=None)
        for experiment in ("one", "two")
        for method, cost in (("ism", -1300.0), ("dg", -1200.0))
        for number in range(6)
    ]
    table = paired_table([test for test in paired_tests(pd.DataFrame(rows)) if test.metric == "cost"])
    line = dict(zip(table.columns, table.rows[1], strict=True))
    experiment = {"paradigm": "supervised", "datasets": ["wine"]}
    cells = Cells({"run": ["one", "two"], "experiments": {"one": experiment, "two": experiment}, "name": ""})
    cells.add(table.name, line["Of second"], is_number=True)
    (link,) = cells.content["links"]
    assert [link[axis] for axis in ("experiment", "data", "kernel", "method")] == ["two", "Wine", "Gaussian", "DG"]
    assert all(entry.detail and entry.axes and entry.experiment == "two" for entry in table.rows[1][7:-1])
