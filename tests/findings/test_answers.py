"""What experiments ask and what their records answer: counted by hand on runs whose costs and times are chosen."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from kdrbench.suite.findings.answers import (
    NO_ANSWER,
    answer_of,
    answers_of,
    figure_sentence,
    question_of,
    race_sentence,
)
from kdrbench.suite.findings.nearness import FINE, column, nearness, ratios
from kdrbench.suite.findings.pairwise import matrix_of, wins_text
from support.dashboard_grid import grid_config
from support.report_rows import kpca_run, kpca_runs, run, traced_runs

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
    config["solvers"]["ism"]["settings"] = "published"
    return answer_of("e", runs, config, folder)


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
    assert (wins_text(gm), wins_text(found.cell("ism", "wine", "gaussian"))) == (f"0/{RUNS}/0", "")
    # Over all places nothing is tested.
    assert {wins_text(one) for one in found.overall} == {""}
    # Of seven signs all alike, p = 2/128, doubled by Holm for the second test of the place.
    assert (dg.wins, dg.ties, dg.losses) == (0, 0, RUNS)
    assert dg.p == pytest.approx(2 * 2 / 128)
    assert dg.differs
    assert found.cell("ism", "wine", "gaussian").p is None
    assert not found.disturbed
    # Controls have no place, and one solver has no matrix.
    runs, folder = race
    assert matrix(runs, folder, ["gm"]).solvers == ("ism", "dg")
    assert answer(runs[runs["method"] == "ism"], folder).text == "It has one solver beside controls, and compares none."


def test_disturbed_times_are_an_indication(race):
    runs, folder = race
    disturbed, shared = runs.assign(drifted=True), runs.assign(timed=False)
    assert matrix(disturbed, folder).disturbed
    assert matrix(disturbed, folder).cell("gm", "wine", "gaussian").fine_ratio == 3.0
    assert "in 7 of 7 (3\u00d7 the least time, disturbed)." in answer(disturbed, folder).text
    assert {cell.fine_ratio for cell in matrix(shared, folder).cells} == {None}
    assert "least time" not in answer(shared, folder).text
    # Problems with one disturbed run are left out.
    runs.loc[(runs["method"] == "gm") & (runs["run"] == 0), "contaminated"] = True
    near = ratios(nearness(runs, folder))
    assert near.loc[near["run"] == 0, column("ratio", FINE)].isna().all()
    assert matrix(runs, folder).cell("ism", "wine", "gaussian").timed == RUNS - 1


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


def test_a_failed_run_counts_as_one_that_reached_nothing(race):
    runs, folder = race
    runs.loc[(runs["method"] == "ism") & (runs["run"] == 3), ["status", "cost"]] = ["failed", -200.0]
    found = matrix(runs, folder)
    ism = found.cell("ism", "wine", "gaussian")
    # What it saw before is no best known cost either: the others still reach theirs.
    assert (ism.fine, ism.runs, ism.endings) == (RUNS - 1, RUNS, (("failed", 1),))
    assert found.reference == "gm"
    # Those of the user's own come first, unless none of their runs ended.
    runs.loc[runs["method"] == "dg", "status"] = "failed"
    found = matrix(runs, folder)
    sentence = race_sentence(found, [one for one in found.overall if one.solver == "dg"])
    assert (sentence[:2], sentence.rpartition("; ")[2]) == ("GM", "DG failed in all 7 runs.")


def test_scaled_times_of_a_reference_are_compared_with_none():
    shared = {"experiment": "e", "dataset": "wine", "kernel": "gaussian", "run": 0}
    rows = [
        shared | {"method": method, "clean": timed, "timed": timed, "needed_1e-2": needed, "needed_1e-6": needed}
        for method, needed, timed in (("mine", 2.0, True), ("dg", 4.0, True), ("ism_reference", 1.0, False))
    ]
    found = ratios(pd.DataFrame(rows)).set_index("method")
    assert found["ratio_1e-6"].loc[["mine", "dg"]].tolist() == [1.0, 2.0]
    assert np.isnan(found["ratio_1e-6"]["ism_reference"])
    assert not found["disturbed"].any()


@pytest.mark.parametrize(
    ("of_rival", "status", "words"),
    [
        ((3.0, -100.0), "converged", "); ISM (converged) in 3 of 3 (3\u00d7 the least time)"),
        ((1.0, -99.0), "time_limit", "; 2 of them stopped there by a limit); ISM (converged) in 0 of 3"),
    ],
)
def test_the_race_in_one_sentence(tmp_path, of_rival, status, words):
    runs = traced_runs(tmp_path, {"ism": [[(1.0, -100.0)]] * 3, "ism_converged": [[of_rival]] * 3})
    runs.loc[:1, "status"] = status
    found = answer(runs, tmp_path)
    text = f"ISM (as published) reaches the best known cost within 1e-6 in 3 of 3 runs (1\u00d7 the least time{words}."
    assert found.text == text
    assert found.question == "Which solver reaches the lowest cost, and how soon?"
    assert json.loads(json.dumps(asdict(found)))["matrix"]["experiment"] == "e"


def test_of_redrawn_means_the_most_moving_is_named():
    rows = [
        run("wine", solver, partition, kernel=kernel, partition=partition, quality=0.9 - spread * partition)
        for solver, kernel, spread in (("ism", "gaussian", 0.01), ("gm", "polynomial", 0.1))
        for partition in range(3)
    ]
    found = answer(pd.DataFrame(rows), None, partitions=3)
    words = "Of 2 means, that of GM on Wine, Polynomial, moves most: from 70.0% to 90.0% over 3 partitions."
    assert (found.matrix, found.text) == (None, words)
    assert found.question == "How far do means vary when the folds are redrawn?"


def learners(**accuracies):
    splits = {variant: [accuracy + number / 100 for number in range(8)] for variant, accuracy in accuracies.items()}
    return "kpca_trick", kpca_runs(splits, experiment="t", test_selected=None)


def constrained(n_constraints, *methods):
    return "low_rank", [
        {"experiment": "t", "method": method, "accuracy": accuracy, "n_constraints": count}
        for method in methods
        for count, accuracy in ((n_constraints, 0.9), (0, 0.5))
    ]


def noise(**columns):
    row = {"experiment": "t", "method": "nca", "train_accuracy": 0.9, "test_accuracy": 0.4, "p_value": 0.04}
    other = row | {"train_accuracy": 1.0, "test_accuracy": 0.6, "rejected": 0} | columns
    return "noise", [row | {"rejected": 1}, other]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (
            learners(plain=0.5, aligned=0.8),
            "With a kernel, learners are better than without in 1 and worse in none of 1 comparison over the same 8 "
            "splits (p < 0.05 by Wilcoxon, corrected by Holm); by the t test that allows for overlapping splits in 1 "
            "and none.",
        ),
        (("kpca_trick", [kpca_run(experiment="t", status="failed", accuracy=None, test_selected=None)]), NO_ANSWER),
        (constrained(1, "burg"), "With 1 constraint, Burg has the highest 5-NN accuracy, 90.0%, and 50.0% with none."),
        (
            noise(),
            "Methods separate 95.0% of the samples they learned from and 50.0% of others in the mean; the test calls 1 "
            "of 2 draws real.",
        ),
        (("noise", noise(train_accuracy=None)[1][1:]), NO_ANSWER),
    ],
)
def test_systems_answer_in_one_sentence(made, text):
    system, rows = made
    config = {"run": ["t"], "experiments": {"t": {"title": "T.", "system": system}}, "solvers": {}}
    (found,) = answers_of(pd.DataFrame(rows), config)
    assert found.text == text
    # A system of one's own is asked what its records show.
    assert question_of("t", {"system": "somebody/elses.py"}) == "What do the records show?"


def test_figures_count_pairs():
    shared = {"dataset": "cone", "method": "dne", "run": 0}
    rows = [shared | {"value": 1.0, "accuracy": 0.5}, shared | {"value": 2.0, "accuracy": 0.9}]
    assert figure_sentence(pd.DataFrame(rows), 2) == (
        "A kernel of degree 2 is more accurate along one direction in 1 of 1 pair of learner and data set."
    )
    rows = [
        {"dataset": "glass", "varied": "n", "value": value, "run": 0, "method": method, "accuracy": accuracy}
        for value, trick, by_qz in ((1.0, "exact", 0.7), (2.0, "ridge", 0.55))
        for method, accuracy in (("kpca", 0.7), (trick, 0.7), ("qz", by_qz))
    ]
    assert figure_sentence(pd.DataFrame(rows), 5) == (
        "The kernel trick is as accurate as the KPCA trick in 2 of 2 pairs of setting and draw; the largest difference "
        "is 0.000. Solved by QZ it is as accurate as the KPCA trick in 1 of 2 pairs of setting and draw; the largest "
        "difference is 0.150."
    )
    assert figure_sentence(pd.DataFrame(rows).assign(accuracy=None), 5) == ""
