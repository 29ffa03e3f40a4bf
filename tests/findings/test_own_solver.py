"""The first sentence of a page is about the user's own solver."""

import pytest

from kdrbench.suite.findings.answers import answer_of, leading_of, own_solvers
from support.dashboard_grid import grid_config
from support.report_rows import traced_runs

N_RUNS = 10
SOONEST, LATER, SHORT = [(1.0, -100.0)], [(36.0, -100.0)], [(0.1, -99.0)]


def raced(folder, own="support.misbehaving:Raises", **curves):
    """Return the answer on solvers with the same curve in all runs; ``mine`` has the method ``own``."""
    runs = traced_runs(folder, {name: [curve] * N_RUNS for name, curve in curves.items()})
    included = runs["method"].str.endswith("_reference")
    runs.loc[included, ["time_s", "timed"]] = [None, False]
    config = grid_config(["e"], solvers=list(curves), datasets=["wine"])
    config["solvers"] |= {"mine": {"method": own}, "ism_reference": {"method": "ism"}}
    return answer_of("e", runs, config, folder), config


@pytest.mark.parametrize(
    ("curves", "words"),
    [
        (
            {"mine": LATER, "ism": SOONEST, "dg": SHORT},
            "10 of 10 runs (36\u00d7 the least time); ISM in 10 of 10 (1\u00d7 the least time).",
        ),
        (
            {"mine": SHORT, "ism": SOONEST, "gm": LATER},
            "0 of 10 runs; ISM in 10 of 10 (1\u00d7 the least time); GM in 10 of 10 (36\u00d7 the least time).",
        ),
        # Times of a reference are compared with none.
        (
            {"mine": LATER, "ism_reference": SOONEST},
            "10 of 10 runs (1\u00d7 the least time); ISM (reference) in 10 of 10.",
        ),
    ],
)
def test_it_is_named_first_beside_the_best_others(tmp_path, curves, words):
    answer, _ = raced(tmp_path, **curves)
    assert answer.own
    assert answer.text == f"mine reaches the best known cost within 1e-6 in {words}"


def test_a_solver_is_ones_own_by_its_method_or_beside_a_reference(tmp_path):
    _, config = raced(tmp_path, mine=LATER, ism=SOONEST)
    assert own_solvers("e", config) == ["mine"]
    config["solvers"]["mine"] = {"method": "ism"}
    assert own_solvers("e", config) == []
    config["experiments"]["e"]["solvers"].append("ism_reference")
    assert own_solvers("e", config) == ["mine", "ism"]


def test_the_experiment_of_ones_own_solver_leads(tmp_path):
    mine, _ = raced(tmp_path, mine=LATER, ism=SOONEST)
    other, _ = raced(tmp_path, ism=SOONEST, dg=SHORT, gm=LATER)
    assert not other.own
    assert leading_of([other, mine]) is mine
