"""What experiments ask and what their records answer: counted by hand on runs whose costs and times are chosen."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from kdrbench.suite.findings.answers import answer_of, answers_of, question_of
from kdrbench.suite.findings.matrix import matrix_of
from kdrbench.suite.findings.nearness import FINE, column, nearness, ratios
from kdrbench.suite.reports.records import problem_of
from kdrbench.suite.systems.atlas.optima import BestKnown, Solution
from support.configs import table_4_config
from support.dashboard_grid import grid_config
from support.report_rows import kpca_run, run, traced_runs

RUNS = 7


@pytest.fixture
def race(tmp_path):
    """ISM is at the best after 1 s, GM after 3 s and DG never."""
    traces = {
        "ism": [[(0.5, -90.0), (1.0, -100.0)]] * RUNS,
        "gm": [[(2.0, -99.5), (3.0, -100.0)]] * RUNS,
        "dg": [[(0.1, -99.9)]] * RUNS,
    }
    return traced_runs(tmp_path, traces), tmp_path


def matrix(runs, folder, controls=()):
    return matrix_of("e", nearness(runs, folder), controls)


def answer(runs, folder, **experiment):
    config = grid_config(["e"], solvers=["ism", "gm", "dg"], datasets=["wine"])
    config["experiments"]["e"] |= experiment
    return answer_of("e", runs, config, folder)


def test_a_stored_optimum_below_all_runs_is_the_best_known(race):
    config = table_4_config()
    config["experiments"]["e"] = config["experiments"]["table4_supervised"]
    stored = Solution(-125.0, np.eye(13, 4))
    known = BestKnown(config, {problem_of(config, "e", "wine", "gaussian", 0): stored})
    near = nearness(*race, known).set_index(["method", "run"])
    assert near.loc[("ism", 0), "gap"] == pytest.approx(0.2)
    assert not near.loc[("ism", 0), "reached_1e-2"]
    # Of the other folds nothing is stored.
    assert near.loc[("ism", 1), "gap"] == 0.0


def test_what_methods_make_of_noise_is_counted():
    rows = pd.DataFrame(
        {
            "experiment": "n",
            "method": ["nca", "nca", "pca"],
            "train_accuracy": [0.9, 1.0, 0.6],
            "test_accuracy": [0.4, 0.6, 0.5],
            "p_value": [0.04, 0.5, np.nan],
            "rejected": [1, 0, np.nan],
        }
    )
    config = {"experiments": {"n": {"system": "noise", "title": "Noise."}}}
    (sentence,) = answer_of("n", rows, config).sentences
    assert sentence == (
        "NCA separates 95.0% of the samples it learned from and 50.0% of others; the test calls 1 of 2 draws real."
    )


def test_gaps_and_times_are_those_of_the_traces(race):
    near = nearness(*race).set_index(["method", "run"])
    assert near.loc[("dg", 0), "gap"] == pytest.approx(1e-3)
    assert near.loc[("gm", 0), ["needed_1e-2", "needed_1e-6"]].tolist() == [2.0, 3.0]
    assert np.isinf(near.loc[("dg", 0), "needed_1e-6"])
    assert near["reached_1e-6"].groupby("method").sum().to_dict() == {"dg": 0, "gm": RUNS, "ism": RUNS}


def test_the_matrix_counts_compares_and_orders(race):
    found = matrix(*race)
    assert [one.solver for one in found.overall] == ["ism", "gm", "dg"]
    dg, gm = found.cell("dg", "wine", "gaussian"), found.cell("gm", "wine", "gaussian")
    assert (dg.coarse, dg.fine, dg.coarse_ratio, dg.fine_ratio) == (RUNS, 0, 1.0, None)
    assert (gm.coarse_ratio, gm.fine_ratio, gm.timed) == (20.0, 3.0, RUNS)
    assert (gm.wins, gm.ties, gm.losses, gm.p) == (0, RUNS, 0, 1.0)
    # Of seven signs all alike, p = 2/128, doubled by Holm for the second test of the place.
    assert (dg.wins, dg.ties, dg.losses) == (0, 0, RUNS)
    assert dg.p == pytest.approx(2 * 2 / 128)
    assert dg.differs
    assert found.cell("ism", "wine", "gaussian").p is None
    assert not found.disturbed


def test_the_sentence_has_the_numbers_of_the_records(race):
    said = answer(*race)
    assert said.sentences[0] == (
        "ISM reaches the best known cost within 1e-6 in 7 of 7 runs, in the median 3 times sooner than the next, "
        "GM (7 of 7)."
    )
    assert said.question.startswith("Which solver reaches the lowest cost")
    assert json.loads(json.dumps(asdict(said)))["matrix"]["experiment"] == "e"


def test_what_the_first_does_not_reach_is_said(race):
    runs, folder = race
    others = traced_runs(
        folder, {"ism": [[(1.0, -90.0)]], "gm": [[(1.0, -90.0)]], "dg": [[(1.0, -95.0)]]}, "polynomial"
    )
    said = answer(pd.concat([runs, others], ignore_index=True), folder)
    assert "in 7 of 8 runs" in said.sentences[0]
    assert said.sentences[0].endswith("; it misses it in 1 of 1 run with polynomial kernels.")


def test_disturbed_times_are_an_indication(race):
    runs, folder = race
    found = matrix(runs.assign(drifted=True), folder)
    assert found.disturbed
    assert found.cell("gm", "wine", "gaussian").fine_ratio == 3.0
    assert "3 times sooner (by disturbed times, an indication)" in answer(runs.assign(drifted=True), folder).text
    shared = matrix(runs.assign(timed=False), folder)
    assert {cell.fine_ratio for cell in shared.cells} == {None}
    assert "times sooner" not in answer(runs.assign(timed=False), folder).text


def best_of(runs, folder):
    """The solvers whose cell of the matrix is bold, alone and over all places."""
    found = matrix(runs, folder)
    alone = {one.solver for one in found.cells if found.is_best(one)}
    assert alone == {one.solver for one in found.overall if found.is_best(one)}
    return alone


@pytest.mark.parametrize("status", ["time_limit", "memory_limit", "failed"])
def test_bold_is_who_reaches_the_best_in_every_run_and_soonest(race, status):
    runs, folder = race
    assert best_of(runs, folder) == {"ism"}
    assert best_of(runs.assign(drifted=True), folder) == best_of(runs.assign(timed=False), folder) == set()
    runs.loc[(runs["method"] == "ism") & (runs["run"] == 0), "status"] = status
    assert best_of(runs, folder) == set()


def test_two_that_need_the_same_time_are_both_bold(tmp_path):
    traces = {"ism": [[(1.0, -100.0)]] * RUNS, "gm": [[(1.004, -100.0)]] * RUNS, "dg": [[(1.006, -100.0)]] * RUNS}
    assert best_of(traced_runs(tmp_path, traces), tmp_path) == {"ism", "gm"}


def test_problems_with_a_disturbed_run_are_left_out(race):
    runs, folder = race
    runs.loc[(runs["method"] == "gm") & (runs["run"] == 0), "contaminated"] = True
    near = ratios(nearness(runs, folder))
    assert near.loc[near["run"] == 0, column("ratio", FINE)].isna().all()
    assert matrix(runs, folder).cell("ism", "wine", "gaussian").timed == RUNS - 1


def test_a_failed_run_counts_as_one_that_reached_nothing(race):
    runs, folder = race
    runs.loc[(runs["method"] == "ism") & (runs["run"] == 3), ["status", "cost"]] = ["failed", -200.0]
    found = matrix(runs, folder)
    ism = found.cell("ism", "wine", "gaussian")
    # What it saw before is no best known cost either: the others still reach theirs.
    assert (ism.fine, ism.runs, ism.endings) == (RUNS - 1, RUNS, (("failed", 1),))
    assert found.reference == "gm"


def test_controls_have_no_place_and_one_solver_no_matrix(race):
    runs, folder = race
    assert matrix(runs, folder, ["gm"]).solvers == ("ism", "dg")
    assert matrix(runs[runs["method"] == "ism"], folder) is None


def test_without_traces_final_costs_decide_and_no_time_is_known(race):
    runs, _ = race
    found = matrix(runs, None)
    assert [one.fine for one in found.overall] == [RUNS, RUNS, 0]
    assert {cell.fine_ratio for cell in found.cells} == {None}


def test_redrawn_partitions_say_how_far_means_move(tmp_path):
    rows = traced_runs(tmp_path, {"ism": [[(1.0, -1.0)]] * 4})
    runs = rows.assign(partition=[0, 0, 1, 1], quality=[0.9, 1.0, 0.8, 0.8])
    said = answer(runs, tmp_path, partitions=2)
    assert said.text == "ISM with Gaussian on Wine: mean accuracy from 80.0% to 95.0% over 2 partitions."
    assert said.matrix is None
    assert said.question == "How far do means vary when the folds are redrawn?"


def test_of_redrawn_means_the_least_and_most_moving_are_named():
    rows = []
    for place, solver in enumerate(["ism", "dg", "sm", "gm"] * 8):
        dataset, kernel = ("wine", "cancer", "face", "mnist")[place // 8], ("gaussian", "polynomial")[place // 4 % 2]
        for partition in range(20):
            spread = 0.001 * (place + 1) * partition / 19
            rows.append(run(dataset, solver, partition, kernel=kernel, partition=partition, quality=0.9 - spread))
    said = answer(pd.DataFrame(rows), None, partitions=20)
    assert said.text == (
        "Of 32 means, each over 20 partitions, the accuracy of ISM with Gaussian on Wine moves least (from 89.9% to "
        "90.0%), and that of GM with polynomial on MNIST most (from 86.8% to 90.0%)."
    )
    assert len(said.text) <= 400


def learner_config(experiment):
    return {"run": ["t"], "experiments": {"t": {"title": "T.", **experiment}}, "solvers": {}}


def test_learners_are_compared_with_themselves_without_a_kernel():
    rows = [
        kpca_run(experiment="t", variant=variant, run=number, accuracy=accuracy + number / 100, test_selected=None)
        for variant, accuracy in (("plain", 0.5), ("aligned", 0.8))
        for number in range(8)
    ]
    (said,) = answers_of(pd.DataFrame(rows), learner_config({"system": "kpca_trick"}))
    assert "significantly better than without in 1 and worse in none of 1 comparison" in said.text
    assert said.text.endswith("Highest mean accuracy: AKDNE on Iris (83.5%).")


def test_experiments_without_any_result_say_so():
    row = kpca_run(experiment="t", status="failed", accuracy=None, test_selected=None)
    (said,) = answers_of(pd.DataFrame([row]), learner_config({"system": "kpca_trick"}))
    assert said.text == "The records hold no number that answers it."
    assert question_of("t", {"system": "somebody/elses.py"}) == "What do the records show?"


def test_scaled_times_of_a_reference_are_compared_with_none():
    near = pd.DataFrame(
        [
            {"experiment": "e", "dataset": "wine", "kernel": "gaussian", "run": 0, "method": method, "clean": timed}
            | {"timed": timed, "needed_1e-2": needed, "needed_1e-6": needed}
            for method, needed, timed in (("mine", 2.0, True), ("dg", 4.0, True), ("ism_reference", 1.0, False))
        ]
    )
    found = ratios(near).set_index("method")
    assert found["ratio_1e-6"].loc[["mine", "dg"]].tolist() == [1.0, 2.0]
    assert np.isnan(found["ratio_1e-6"]["ism_reference"])
    assert not found["disturbed"].any()
