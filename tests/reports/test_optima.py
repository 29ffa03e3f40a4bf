"""The best solutions known: written whole, checked when read, and what costs are compared with."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from kdrbench.errors import DamagedError
from kdrbench.suite.systems.atlas.optima import BestKnown, Solution, best_solutions, read_solutions, write_solutions
from kdrbench.suite.systems.atlas.system import problem_of
from kdrbench.suite.systems.ikdr.cost_against_time import chart_of, profile_chart
from support.command_line import kdrbench
from support.configs import whole_config
from support.report_rows import figure_source, traced_runs

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
    # Data of an old record may be registered no longer.
    gone = CONFIG | {"experiments": {"one": CONFIG["experiments"][PLACE[0]] | {"datasets": ["gone"]}}}
    assert BestKnown(gone, both.solutions).best(("one", "gone", "gaussian", 0), [-1.0]) == -1.0


def charted(folder):
    """The rows of an atlas with one run, whose optima are in a folder."""
    columns = {"experiment": "atlas", "dataset": "wine", "cells_of": "one", "kernel": "gaussian", "method": "ism"}
    columns |= {"status": "converged", "run": 0, "draw": 0, "problem": PROBLEM, "trace_file": "chart.jsonl"}
    optima, numbers = np.array([W, W[::-1]]), np.array([[-2.0, 0.9, 0.5], [-1.0, np.nan, 0.5]])
    cell = "wine/one/gaussian"
    np.savez(folder / "chart.npz", **{f"{cell}/optima_0": optima, f"{cell}/optima_numbers_0": numbers})
    return pd.DataFrame([columns])


def test_the_best_of_a_chart_is_its_first(tmp_path):
    rows = charted(tmp_path)
    (found,) = best_solutions(rows, tmp_path).values()
    assert found.cost == -2.0
    np.testing.assert_array_equal(found.projection, W)
    np.savez(tmp_path / "chart.npz")
    assert best_solutions(rows, tmp_path) == {}


def test_the_command_stores_the_best_solutions_of_an_atlas(tmp_path, monkeypatch):
    # These parts of a configuration are enough, and the rows are merged already.
    monkeypatch.setattr("kdrbench.suite.experiments.results._check_config", lambda config: None)
    monkeypatch.setattr("kdrbench.suite.commands.reports.load_grid", lambda config: None)
    monkeypatch.setattr("kdrbench.suite.commands.reports.merge_experiments", lambda *_: None)
    (tmp_path / "config.json").write_text(json.dumps({"run": ["atlas"], "experiments": {"atlas": {"system": "atlas"}}}))
    for folder in ("merged", "findings"):
        (tmp_path / folder).mkdir()
    charted(tmp_path / "findings").to_csv(tmp_path / "merged" / "atlas.csv", index=False)
    known = tmp_path / "known.npz"
    done = kdrbench("reports", "--merge", "atlas", "--optima", known, "--results", tmp_path, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert {problem: one.cost for problem, one in read_solutions(known).items()} == {PROBLEM: -2.0}


def test_a_file_that_is_cut_or_pickled_is_refused(tmp_path):
    path = tmp_path / "one.npz"

    def refused(words):
        with pytest.raises(DamagedError, match=words):
            read_solutions(path)

    write_solutions(path, {PROBLEM: Solution(-2.0, W)})
    path.write_bytes(path.read_bytes()[:-30])
    refused("no archive of arrays")
    np.savez(path, **{f"{PROBLEM}/cost": np.array([{}], dtype=object)})
    refused("no archive of arrays")
    np.savez(path, **{f"{PROBLEM}/cost": np.array(-1.0)})
    refused(r"is no file of solutions .*delete it and start the workflow again")


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
    (panel,) = chart_of(figure_source(runs, tmp_path, PLACE[0], experiment, known=known(stored))).panels
    (median,) = [series for series in panel.series if series.label == "median"]
    assert median.y[-1] == pytest.approx(gap)
    profile = profile_chart(figure_source(runs, tmp_path, known=known(stored))).panels[0]
    assert [series.y[-1] for series in profile.series] == [0.0 if stored == -4.0 else 1.0]
