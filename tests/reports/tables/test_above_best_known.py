"""How far a cost is above the best known one: the same in tables and matrices."""

import numpy as np
import pandas as pd
import pytest

from kdrbench.errors import DamagedError
from kdrbench.suite.experiments.results import read_results
from kdrbench.suite.findings.answers import answers_of
from kdrbench.suite.findings.nearness import traces_of
from kdrbench.suite.reports.making import make
from kdrbench.suite.reports.outputs import tables_of
from kdrbench.suite.reports.records import read_runs
from kdrbench.suite.reports.tables.cells import GAP
from kdrbench.suite.systems.atlas.optima import Solution, write_solutions
from kdrbench.suite.systems.atlas.system import problem_of
from support.record_folders import folder_of
from support.report_rows import trace_line

# Each run ends where its trace does, but of DG, which went on from its lowest cost.
ENDS = {"ism": -100.0, "dg": -90.0}
LOWEST = {"ism": -100.0, "dg": -125.0}


@pytest.fixture
def results(tmp_path):
    """Results of one data set, whose best costs DG saw on its way and did not keep."""
    folder = folder_of(tmp_path / "results", changed={"kernels": ["gaussian"], "baselines": []}, folds=3, cost=None)
    table = folder / "merged/first.csv"
    rows = pd.read_csv(table, keep_default_na=False)
    rows["cost"] = rows["method"].map(ENDS)
    for path in (table, folder / "ikdr.csv"):
        rows.to_csv(path, index=False)
    (folder / "traces").mkdir()
    for method, lowest in LOWEST.items():
        points = ({"time_s": 1.0, "cost": lowest}, {"time_s": 2.0, "cost": ENDS[method]})
        lines = [trace_line(method, run, stationarity=0.1, **point) for run in range(3) for point in points]
        (folder / f"traces/wine-{method}.jsonl").write_text("".join(lines))
    return folder


def gaps(folder):
    """Return how far ISM and DG are above the best known, in the median: by the table and the matrix."""
    config = read_results(folder).config
    table, _ = make(tables_of(config)["first"], config, folder, folder)
    row = next(row for row in table.rows if row[1].text == "Above best known")
    in_table = {method: row[table.columns.index(method.upper())].value for method in ENDS}
    runs = read_runs(folder / "ikdr.csv")
    (answer,) = answers_of(runs, config, traces_of(runs, folder / "traces"))
    in_matrix = {method: answer.matrix.cell(method, "wine", "gaussian").gap for method in ENDS}
    assert {one["method"]: one["mean"] for one in table.listed if one["metric"] == GAP} == pytest.approx(in_table)
    return in_table, in_matrix


def test_the_lowest_cost_that_a_trace_saw_is_the_best_known(results):
    for found in gaps(results):
        assert found == pytest.approx({"ism": 25 / 125, "dg": 35 / 125})


def test_a_stored_optimum_below_all_runs_shows_in_the_cell(results):
    config = read_results(results).config
    (results / "optima").mkdir()
    problems = [problem_of(config, "first", "wine", "gaussian", number) for number in range(3)]
    write_solutions(results / "optima/known.npz", dict.fromkeys(problems, Solution(-200.0, np.eye(13, 2))))
    for found in gaps(results):
        assert found == pytest.approx({"ism": 0.5, "dg": 0.55})


def test_without_traces_final_costs_are_compared(results):
    path, config = results / "traces/wine-dg.jsonl", read_results(results).config
    path.unlink()
    for found in gaps(results):
        assert found == pytest.approx({"ism": 0.0, "dg": 0.1})
    path.write_text("not JSON")
    with pytest.raises(DamagedError, match=r"are not as they were written .* move them away"):
        make(tables_of(config)["first"], config, results, results)
