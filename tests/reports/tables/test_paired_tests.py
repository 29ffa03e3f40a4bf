"""Wilcoxon over folds, corrected by Holm."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kdrbench.suite.paired import holm, signed_rank_p
from kdrbench.suite.reports.dashboard.rendering import Cells
from kdrbench.suite.systems.ikdr.config import Settings
from kdrbench.suite.systems.ikdr.paired_tests import compared, paired_table, paired_tests
from support.report_rows import run

FOLDS = range(10)


def runs(**costs):
    """One run a fold for each solver: ``costs`` holds a list of ten, or one number for all folds."""
    rows = []
    for solver, given in costs.items():
        values = given if isinstance(given, list) else [given] * 10
        rows += [run("wine", solver, fold, cost=values[fold], time_s=1.0) for fold in FOLDS]
    return pd.DataFrame(rows)


def cost_tests(frame):
    return {(test.first, test.second): test for test in paired_tests(frame) if test.metric == "cost"}


def p_by_enumeration(differences):
    """All assignments of signs to the ranks, written out."""
    given = np.array([value for value in differences if value])
    ranks = stats.rankdata(np.abs(given))
    middle = ranks.sum() / 2
    sums = np.array([ranks @ signs for signs in itertools.product((0, 1), repeat=len(ranks))])
    return np.mean(abs(sums - middle) >= abs(ranks[given > 0].sum() - middle) - 1e-9)


@pytest.mark.parametrize(
    "differences", [[1, 2, 3, 4, 5, 6], [1, -2, 3, 4, 5, 6, -0.5], [1, 1, 1, -1, 2, 2, 0], [-3, -3, -3, -3, -3, 1]]
)
def test_p_is_that_of_all_signs_ties_and_zeros_included(differences):
    assert signed_rank_p(differences) == pytest.approx(p_by_enumeration(differences), abs=1e-12)


def test_p_of_equal_methods_is_one_and_of_many_pairs_exact():
    assert signed_rank_p([0.0] * 10) == signed_rank_p([]) == signed_rank_p([0.0, 0.3]) == 1.0
    differences = np.random.default_rng(0).standard_normal(40) + 0.4
    assert signed_rank_p(differences) == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue, rel=1e-9)
    # All signs equal: one of 2^40 choices on either side.
    assert signed_rank_p(np.arange(1.0, 41.0)) == pytest.approx(2.0**-39)


def test_holm_multiplies_from_the_smallest_and_never_falls():
    # 4 * 0.01; 3 * 0.02 = 0.06; 2 * 0.025 = 0.05, raised to 0.06; 1 * 0.9.
    assert holm([0.025, 0.9, 0.01, 0.02]) == pytest.approx([0.06, 0.9, 0.04, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_variants_and_rivals_of_one_kind_are_compared():
    converged = dict.fromkeys(("dg_converged", "ism_converged"), Settings.CONVERGED)
    settings = dict.fromkeys(("dg", "ism", "ism_2018"), Settings.PUBLISHED) | converged
    assert set(compared([*settings], settings)) == {
        *(("ism", "dg"), ("ism", "ism_2018"), ("ism", "ism_converged")),
        *(("ism_converged", "dg_converged"), ("dg", "dg_converged")),
    }
    # A solver without settings is compared with either ISM.
    pairs = compared(["mine", "dg", "ism", "ism_converged"], settings)
    assert set(pairs) == {("ism", "mine"), ("ism_converged", "mine"), ("ism", "dg"), ("ism", "ism_converged")}


def test_a_rival_that_is_higher_on_every_fold_differs():
    higher = [-1300.0 + fold for fold in FOLDS]
    tests = cost_tests(runs(ism=[-1311.0] * 10, dg=higher, sm=-1311.0))
    # Ten equal signs: 2 of 1024; the second test of the cell is 1.
    assert tests["ism", "dg"].p == pytest.approx(2 / 1024)
    assert tests["ism", "dg"].p_holm == pytest.approx(4 / 1024)
    assert tests["ism", "dg"].lower == "ism"
    assert tests["ism", "dg"].difference == pytest.approx(-15.5)
    assert (tests["ism", "sm"].p, tests["ism", "sm"].lower) == (1.0, "")


def test_few_folds_failed_runs_and_baselines_are_not_tested():
    frame = runs(ism=-1.0, dg=-2.0, svm=None)
    frame.loc[frame["method"] == "svm", "kernel"] = "none"
    assert cost_tests(frame[frame["run"] < 5]) == {}
    frame.loc[(frame["method"] == "dg") & (frame["run"] >= 5), "status"] = "failed"
    assert cost_tests(frame) == {}
    assert paired_tests(frame.iloc[:0]) == []


def test_each_cell_is_a_family_of_its_own():
    frames = [runs(ism=[-1311.0] * 10, dg=[-1300.0 + fold for fold in FOLDS]) for _ in range(30)]
    for number, frame in enumerate(frames):
        frame["experiment"] = f"e{number % 3}"
        frame["kernel"] = f"k{number}"
    tests = [test for test in paired_tests(pd.concat(frames)) if test.metric == "cost"]
    assert len(tests) == 30
    assert {test.p_holm for test in tests} == {2 / 1024}


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
    cells = Cells({"run": ["one", "two"], "experiments": dict.fromkeys(("one", "two"), experiment), "name": ""})
    cells.add(table.name, line["Of second"], is_number=True)
    (link,) = cells.content["links"]
    assert link == {"experiment": "two", "data": "Wine", "kernel": "Gaussian", "method": "DG"}
    assert all(entry.detail and entry.axes and entry.experiment == "two" for entry in table.rows[1][7:-1])
