"""What cells say on pointing at them: what the number is, of how many runs, its 95 % interval; and their runs."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kdrbench.reports.dashboard.cells import Cells
from kdrbench.reports.tables.kpca_tests import differences_of
from kdrbench.reports.tables.kpca_trick import kpca_tables
from kdrbench.reports.tables.low_rank import measured_table
from kdrbench.reports.tables.making import plain_table
from kdrbench.reports.tables.paired_tests import paired_table, paired_tests
from kdrbench.reports.tables.size_series import complexity_table, size_series
from support.report_rows import kpca_run, run

ACCURACIES = {"plain": [0.80, 0.82, 0.84], "cross_validated": [0.90, 0.92, 0.94], "centred": [0.7, 0.7, 0.7]}


def ends(values):
    """The 95 % interval of a mean, by scipy."""
    return stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))


@pytest.fixture
def learners():
    rows = [
        kpca_run(learner="nca", variant=variant, run=number, accuracy=value, tuning_wall_s=1.0 + number)
        for variant, values in ACCURACIES.items()
        for number, value in enumerate(values)
    ]
    return pd.DataFrame(rows).assign(test_selected=None)


def test_accuracies_of_learners_and_the_tests_on_them(learners):
    table, tests, _ = kpca_tables(learners, "kpca_tables")
    line = dict(zip(table.columns, table.rows[0], strict=True))
    low, high = ends(ACCURACIES["cross_validated"])
    assert line["KNCA"].detail == (
        "Accuracy: share of the test samples that 1-NN labels rightly; over 3 of 3 splits; "
        f"95 % interval {low:.3f} to {high:.3f}"
    )
    assert line["AKNCA, centred"].axes == ("accuracy", "iris", "", "caknca")
    assert line["AKNCA, centred"].detail.startswith("Accuracy: ")
    assert line["p, KNCA"].axes == ("accuracy", "iris", "", "knca")
    assert line["p, KNCA"].detail.endswith("by Holm corrected for the table; over 3 splits")
    first = dict(zip(tests.columns, tests.rows[0], strict=True))
    found = differences_of(learners, "nca")["iris", "cross_validated"]
    assert found.low == pytest.approx(found.high) == pytest.approx(0.1)
    assert first["Mean difference"].detail == (
        "difference of accuracy to the plain learner, mean; over 3 splits; 95 % interval 0.10000 to 0.10000"
    )
    assert all(entry.detail and entry.axes for entry in tests.rows[0][2:])


def test_seconds_of_learners(learners):
    *_, times = kpca_tables(learners, "kpca_tables")
    of_set, of_all = (dict(zip(times.columns, row, strict=True)) for row in times.rows)
    low, high = ends([1.0, 2.0, 3.0])
    assert of_set["KNCA, choosing"].detail == (
        f"seconds of choosing the kernel; over 3 of 3 splits; 95 % interval {1000 * low:.0f}ms to {high:.2f}s"
    )
    assert of_set["KNCA, choosing"].axes == ("", "iris", "", "knca")
    assert of_all["KNCA, choosing"].text == "6"
    assert of_all["KNCA, choosing"].detail == "seconds of choosing the kernel, summed; over 3 splits"
    assert of_all["AKNCA, choosing"].text == "-"


def test_numbers_of_low_rank_kernels():
    columns = {"method": "burg", "n_constraints": 20, "kkt_residual": 1e-4, "sweeps": None, "time_s": 0.002}
    columns |= {"nmi_one_start": 0.5, "nmi_ten_starts": 0.6, "status": "converged"}
    accuracies = [0.90, 0.94, 0.95]
    runs = pd.DataFrame([columns | {"accuracy": value} for value in accuracies])
    table = measured_table("digits", runs, {"methods": ["burg"], "title": "Digits."})
    (line,) = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    low, high = ends(accuracies)
    assert line["5-NN"].detail == (
        "5-NN: share of samples that five nearest neighbours label rightly, with 20 constraints; over 3 of 3 draws; "
        f"95 % interval {100 * low:.1f}% to {100 * high:.1f}%"
    )
    assert line["KKT residual"].detail.endswith("; over 3 draws of 20 constraints")
    assert line["5-NN"].axes == ("", "", "", "burg")
    # What no run has says nothing.
    assert (line["Sweeps"].text, line["Sweeps"].detail, line["Sweeps"].axes) == ("", "", ())


def test_means_of_a_system_without_a_table():
    costs = [-1.0, -3.0, -2.0]
    runs = pd.DataFrame([run("wine", "one", number, cost=cost) for number, cost in enumerate(costs)])
    runs.loc[2, "quality"] = None
    table = plain_table("fourth", runs, {"title": "Fourth."})
    (line,) = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    low, high = ends(costs)
    assert line["cost"].detail == f"cost: mean; over 3 of 3 runs; 95 % interval {low:.1f} to {high:.1f}"
    assert line["quality"].detail.startswith("quality: mean; over 2 of 3 runs; 95 % interval")


def two_experiments():
    experiment = {"paradigm": "supervised", "datasets": ["wine"]}
    return {"run": ["one", "two"], "experiments": {"one": experiment, "two": experiment}, "name": ""}


def test_paired_tests_lead_to_the_runs_of_their_own_experiment():
    rows = [
        run("wine", method, number, experiment=experiment, cost=cost + number, time_s=None)
        for experiment in ("one", "two")
        for method, cost in (("ism", -1300.0), ("dg", -1200.0))
        for number in range(6)
    ]
    table = paired_table([test for test in paired_tests(pd.DataFrame(rows)) if test.metric == "cost"])
    line = dict(zip(table.columns, table.rows[1], strict=True))
    assert line["Experiment"].text == "two"
    assert line["Of second"].detail == (
        "Cost: mean of the second method; over 6 pairs; cost -F of the final projection, evaluated exactly; "
        "lower is better"
    )
    assert "Wilcoxon's signed ranks, corrected by Holm; over 6 pairs" in line["p (Holm)"].detail
    cells = Cells(two_experiments())
    cells.add(table.name, line["Of second"], is_number=True)
    axes = ("experiment", "data", "kernel", "method")
    assert [[one[axis] for axis in axes] for one in cells.content["links"]] == [["two", "Wine", "Gaussian", "DG"]]
    assert all(entry.detail and entry.axes and entry.experiment == "two" for entry in table.rows[1][7:-1])


def test_exponents_say_of_which_sizes_they_are():
    sizes = {"n_features": 20, "n_components": 4, "iterations": 4, "experiment": "scaling"}
    rows = [run(f"s-{n}", "ism", 0, n_train=n, time_s=(n / 1000) ** 2, **sizes) for n in (1000, 2000, 4000)]
    table = complexity_table(size_series(pd.DataFrame(rows), {"experiments": {"scaling": {}}}))
    line = table.rows[0]
    said = "exponent of the time of a run in n, from 1000 to 4000; over 3 runs; 95 % interval 2.00 to 2.00"
    assert [line[place].detail for place in (6, 7)] == [said, said]
    assert line[8].detail.startswith("exponent of the time over iterations in n")
    assert (line[6].axes, line[6].experiment) == (("time_s", "", "gaussian", "ism"), "scaling")
    # A series of several experiments has no one list of runs.
    rows[0]["experiment"] = "scaling_more"
    config = {"experiments": {"scaling": {}, "scaling_more": {}}}
    assert complexity_table(size_series(pd.DataFrame(rows), config)).rows[0][6].axes == ()
