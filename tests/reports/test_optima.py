"""The best solutions known: written whole, checked when read, and what costs are compared with."""

import math

import numpy as np
import pandas as pd
import pytest

from kdrbench.errors import DamagedError
from kdrbench.suite.reports.records import problem_of
from kdrbench.suite.systems.atlas.optima import BestKnown, Solution, best_solutions, read_solutions, write_solutions
from kdrbench.suite.systems.ikdr.cost_against_time import cost_against_time, performance_profile
from support.configs import whole_config
from support.report_rows import traced_runs

CONFIG = whole_config()
PLACE = ("table4_supervised", "wine", "gaussian", 0)
PROBLEM = problem_of(CONFIG, *PLACE)
W = np.eye(13, 4)


def known(cost):
    return BestKnown(CONFIG, {PROBLEM: Solution(cost, W)})


def test_the_lower_of_two_stored_costs_counts(tmp_path):
    (tmp_path / "optima").mkdir()
    write_solutions(tmp_path / "optima" / "one.npz", {PROBLEM: Solution(-2.0, W), "0" * 64: Solution(1.0, W[:, :1])})
    write_solutions(tmp_path / "optima" / "two.npz", {PROBLEM: Solution(-3.0, W[::-1])})
    found = read_solutions(tmp_path / "optima" / "one.npz")
    assert {key: one.cost for key, one in found.items()} == {PROBLEM: -2.0, "0" * 64: 1.0}
    np.testing.assert_array_equal(found["0" * 64].projection, W[:, :1])
    both = BestKnown.of(tmp_path, CONFIG)
    assert both.solutions[PROBLEM].cost == -3.0
    np.testing.assert_array_equal(both.solutions[PROBLEM].projection, W[::-1])
    assert BestKnown.of(tmp_path / "nowhere", CONFIG).solutions == {}


CHART = {"optima_0": np.array([W, W[::-1]]), "optima_numbers_0": np.array([[-2.0, 0.9, 0.5], [-1.0, np.nan, 0.5]])}
HALF = {name: array for name, array in CHART.items() if name == "optima_0"}


def rows_of_atlas(folder, arrays):
    """A row of an atlas, whose run has left these arrays."""
    np.savez(folder / "chart.npz", **{f"wine/one/gaussian/{name}": array for name, array in arrays.items()})
    columns = {"experiment": "atlas", "dataset": "wine", "cells_of": "one", "kernel": "gaussian", "method": "ism"}
    return pd.DataFrame([columns | {"run": 0, "draw": 0, "problem": PROBLEM, "trace_file": "chart.jsonl"}])


def test_the_best_of_a_chart_is_its_first(tmp_path):
    (found,) = best_solutions(rows_of_atlas(tmp_path, CHART), tmp_path).values()
    assert found.cost == -2.0
    np.testing.assert_array_equal(found.projection, W)
    assert best_solutions(rows_of_atlas(tmp_path, {}), tmp_path) == {}


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (HALF, "no optima_numbers"),
        ({"optima_numbers_0": CHART["optima_numbers_0"]}, "no optima"),
        (CHART | {"optima_0": W}, r"optima of shape \(13, 4\)"),
        (CHART | {"optima_0": CHART["optima_0"] * np.nan}, "or not finite"),
        (CHART | {"optima_0": CHART["optima_0"][:0]}, "optima of shape"),
        (CHART | {"optima_numbers_0": np.array([-2.0, 0.9])}, r"optima_numbers of shape \(2,\)"),
        (CHART | {"optima_numbers_0": CHART["optima_numbers_0"][:1]}, "for 2 optima"),
        (CHART | {"optima_numbers_0": CHART["optima_numbers_0"][:, :2]}, r"shape \(2, 2\)"),
        (CHART | {"optima_numbers_0": CHART["optima_numbers_0"] * np.inf}, "not finite"),
        (CHART | {"optima_numbers_0": CHART["optima_numbers_0"].astype(str)}, "type <U"),
    ],
)
def test_what_is_no_chart_is_named(tmp_path, arrays, said):
    rows = rows_of_atlas(tmp_path, arrays)
    with pytest.raises(DamagedError, match=f"run 0 of atlas/wine/one/gaussian has left .*{said}"):
        best_solutions(rows, tmp_path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({f"{PROBLEM}/cost": np.array(-1.0)}, "a cost or a projection is missing"),
        ({f"{PROBLEM}/cost": np.array(-1.0), "x/projection": W}, "a cost or a projection is missing"),
        ({"x/cost": np.array(-1.0), "x/projection": W}, "is no SHA-256"),
        ({f"{PROBLEM}/cost": np.array(np.nan), f"{PROBLEM}/projection": W}, "is no finite number"),
        ({f"{PROBLEM}/cost": np.array([-1.0]), f"{PROBLEM}/projection": W}, "is no finite number"),
        ({f"{PROBLEM}/cost": np.array(-1.0), f"{PROBLEM}/projection": 2 * W}, "is not orthonormal"),
        ({f"{PROBLEM}/cost": np.array(-1.0), f"{PROBLEM}/projection": W[0]}, "has shape"),
        ({f"{PROBLEM}/cost": np.array(-1.0), f"{PROBLEM}/projection": W.astype(int)}, "type int64"),
        ({f"{PROBLEM}/cost": np.array(-1.0), f"{PROBLEM}/projection": W * np.nan}, "NaN"),
    ],
)
def test_what_is_no_solution_is_refused(arrays, message, tmp_path):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(DamagedError, match=message) as raised:
        read_solutions(tmp_path / "bad.npz")
    assert "delete it and start the workflow again" in str(raised.value)


def test_a_file_that_is_cut_or_pickled_is_refused(tmp_path):
    path = tmp_path / "one.npz"
    write_solutions(path, {PROBLEM: Solution(-2.0, W)})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DamagedError, match="no archive of arrays"):
        read_solutions(path)
    np.savez(path, **{f"{PROBLEM}/cost": np.array([{}], dtype=object)})
    with pytest.raises(DamagedError, match="no archive of arrays"):
        read_solutions(path)


def test_a_better_run_beats_the_stored_solution():
    assert known(-5.0).best(PLACE, [-4.0, -3.0]) == -5.0
    assert known(-5.0).best(PLACE, [-6.0, -3.0]) == -6.0
    assert known(-5.0).best((*PLACE[:3], 1), [-4.0]) == -4.0
    assert known(-5.0).best(("table4_supervised", "wine", "polynomial", 0), []) == math.inf
    # Redrawn partitions begin with the folds of the tables; another split is another problem.
    assert known(-5.0).best(("table4_partitions", "wine", "gaussian", 0), []) == -5.0
    assert known(-5.0).best(("ismplus_table5", "wine", "gaussian", 0), []) == math.inf


@pytest.mark.parametrize(("stored", "gap"), [(-4.0, 0.5), (-2.0, 1e-12), (-1.0, 1e-12)])
def test_figures_compare_costs_with_the_best_known(stored, gap, tmp_path):
    runs = traced_runs(tmp_path, {"ism": [[(1.0, -1.0), (2.0, -2.0)]]}, experiment=PLACE[0])
    experiment = CONFIG["experiments"][PLACE[0]] | {"datasets": ["wine"], "kernels": ["gaussian"], "solvers": ["ism"]}
    (panel,) = cost_against_time(runs, tmp_path, PLACE[0], experiment, known=known(stored)).panels
    (median,) = [series for series in panel.series if series.label == "median"]
    assert median.y[-1] == pytest.approx(gap)
    profile = performance_profile(runs, tmp_path, known=known(stored)).panels[0]
    assert [series.y[-1] for series in profile.series] == [0.0 if stored == -4.0 else 1.0]
