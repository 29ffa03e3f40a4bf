"""The sentences of answers read like sentences whatever the numbers are: none, one, all, equal or without end."""

import re
from pathlib import Path

import pandas as pd
import pytest

from kdrbench.suite.findings.answers import (
    answer_of,
    figure_sentences,
    largest_sentences,
    low_rank_sentences,
    noise_sentences,
)
from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.kernel_claims import tricks_agree
from support.dashboard_grid import grid_config
from support.report_rows import run, traced_runs

ROWS = Path(__file__).parents[2] / "results/reference/rows"
BEST, WORSE = [(1.0, -100.0)], [(1.0, -99.0)]
# What no sentence may hold: ratios that say nothing, counts of nothing, plurals of one, numbers that are none.
ODD = re.compile(r"\b1(\.0[0-4]\d*)? times|\bof 0\b|\b1 \w+s\b(?! than)|\b(inf|nan|None)\b|  |\.\.", re.I)


def said(runs, folder, solvers):
    config = grid_config(["e"], solvers=solvers, datasets=["wine"])
    return answer_of("e", runs, config, folder).text


@pytest.mark.parametrize(
    ("traces", "words"),
    [
        ({"ism": [BEST] * 3, "dg": [BEST] * 3}, "in the median as fast as the next, DG (3 of 3)"),
        ({"ism": [BEST], "dg": [[(1.06, -100.0)]]}, "in 1 of 1 run, in the median 1.06 times sooner than the next"),
        ({"ism": [BEST] * 3, "dg": [WORSE] * 3}, "in 3 of 3 runs; the next is DG (0 of 3)"),
        ({"ism": [[(1e-7, -100.0)]] * 2, "dg": [[(5.0, -100.0)]] * 2}, "50000000 times sooner"),
        (
            {"ism": [[(4.0, -100.0)]] * 7, "dg": [BEST] * 6 + [WORSE]},
            "is quicker: in the median it takes the least time of any solver, and ISM 4 times that.",
        ),
    ],
)
def test_the_race_in_words(tmp_path, traces, words):
    text = said(traced_runs(tmp_path, traces), tmp_path, list(traces))
    assert words in text
    assert not ODD.search(text)


def test_a_best_known_cost_that_no_solver_reaches_is_said(tmp_path, monkeypatch):
    runs = traced_runs(tmp_path, {"ism": [BEST] * 2, "dg": [WORSE] * 2})
    monkeypatch.setattr("kdrbench.suite.systems.atlas.optima.BestKnown.best", lambda *_: -200.0)
    text = said(runs, tmp_path, ["ism", "dg"])
    nearest = "the nearest is ISM, in the median 5.0e-1 above it, relative."
    assert text.startswith(f"No solver reaches the best known cost within 1e-6; {nearest}")
    assert not ODD.search(text)


def test_settings_as_published_that_never_arrive_are_said(tmp_path):
    traces = {"ism_converged": [BEST] * 2, "dg_converged": [BEST] * 2, "sm": [WORSE] * 2}
    runs = traced_runs(tmp_path, traces)
    config = grid_config(["e"], solvers=list(traces), datasets=["wine"])
    config["solvers"]["sm"] |= {"settings": "published"}
    assert "As published, no solver does so." in answer_of("e", runs, config, tmp_path).text


def test_the_first_of_equal_qualities_is_named(tmp_path):
    runs = traced_runs(tmp_path, {"ism": [BEST], "dg": [WORSE], "sm": [WORSE]}).assign(quality=[0.9, 0.9, 0.8])
    text = said(runs, tmp_path, ["ism", "dg", "sm"])
    assert "Highest accuracy: ISM with Gaussian on Wine (90.0%, like 1 other)." in text


def test_the_largest_problem_in_words():
    rows = [run("wine", "ism", 0, time_s=1.0), run("wine", "dg", 0, time_s=2.0)]
    (sentence,) = largest_sentences(pd.DataFrame(rows))
    assert sentence == "On the largest problem, Wine, a first solve takes from 1s (ISM) to 2s (DG)."
    equal = pd.DataFrame([row | {"time_s": 1.0} for row in rows])
    assert largest_sentences(equal) == ["On the largest problem, Wine, a first solve takes 1s with every solver."]


@pytest.mark.parametrize(("after", "verb"), [(0.9, "rises"), (0.2, "falls"), (0.5, "stays")])
def test_what_degree_two_does_is_named_by_its_direction(after, verb):
    shared = {"dataset": "cone", "method": "dne", "run": 0}
    rows = [shared | {"value": 1.0, "accuracy": 0.5}, shared | {"value": 2.0, "accuracy": after}]
    (sentence,) = figure_sentences(pd.DataFrame(rows), 2)
    assert f"the median {verb}" in sentence
    assert not ODD.search(sentence)


def test_tricks_are_compared_by_pairs():
    shared = {"dataset": "wine", "varied": "n", "value": 50.0, "run": 0, "accuracy": 0.5}
    rows = [shared | {"method": method} for method in ("kpca", "exact")]
    said = "Over 1 pair of setting and draw the KPCA trick and the kernel trick, exact or with a ridge, are equally"
    assert figure_sentences(pd.DataFrame(rows), 4) == [f"{said} accurate."]
    by_qz = [shared | {"method": "qz", "condition": 1e4}]
    assert figure_sentences(pd.DataFrame(rows + by_qz), 4)[1:] == ["So it is by QZ, in 1 pair."]
    rows = [
        {"dataset": "glass", "varied": "n", "value": value, "run": 0, "method": method, "accuracy": accuracy}
        | {"condition": condition}
        for value, condition, by_qz in ((1.0, 1e5, 0.7), (2.0, 1e18, 0.55), (3.0, 3e18, 0.71))
        for method, accuracy in (("kpca", 0.7), ("ridge", 0.7), ("qz", by_qz))
    ]
    assert figure_sentences(pd.DataFrame(rows), 5)[1:] == [
        "By QZ the kernel trick differs in 2 of 3 pairs, by up to 0.150, from condition number 1e+18 on."
    ]


def test_answer_and_claim_name_the_same_difference_of_tricks():
    figures = {number: pd.read_csv(ROWS / f"kpca_figure{number}.csv.xz") for number in (4, 5)}
    largest = [
        float(re.search(r"By QZ .* by up to (0\.\d{3}), from condition number", " ".join(sentences))[1])
        for sentences in (figure_sentences(rows, number) for number, rows in figures.items())
    ]
    claimed = tricks_agree(Records(tricks=pd.concat(figures.values(), ignore_index=True))).evidence
    assert f"by up to {max(largest):.3f} (in " in claimed


def test_noise_without_accuracies_is_not_a_number():
    row = {"method": "pca", "train_accuracy": None, "test_accuracy": 0.5, "p_value": 0.5, "rejected": 0}
    assert noise_sentences(pd.DataFrame([row])) == []


def test_low_rank_kernels_of_one_constraint_none_and_equal_ones():
    row = {"method": "burg", "accuracy": 0.9, "nmi_ten_starts": float("nan")}
    rows = [row | {"n_constraints": 1}, row | {"n_constraints": 0, "accuracy": 0.5}]
    assert low_rank_sentences(pd.DataFrame(rows)) == [
        "With 1 constraint, Burg has the highest 5-NN accuracy, 90.0%, and 50.0% with none."
    ]
    rows = [row | {"method": method, "n_constraints": 5} for method in ("burg", "von_neumann", "definite_boost")]
    assert low_rank_sentences(pd.DataFrame(rows)) == [
        "With 5 constraints, Burg, like von Neumann and DefiniteBoost, has the highest 5-NN accuracy, 90.0%."
    ]


def test_runs_stopped_at_the_best_cost_are_counted_apart(tmp_path):
    runs = traced_runs(tmp_path, {"ism": [BEST] * 3, "dg": [WORSE] * 3})
    runs.loc[:1, "status"] = "time_limit"
    text = said(runs, tmp_path, ["ism", "dg"])
    assert "in 3 of 3 runs, 2 of them when they were stopped; the next is DG (0 of 3)" in text
