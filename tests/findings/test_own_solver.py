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
    ("curves", "sentence"),
    [
        ({"mine": LATER, "ism": SOONEST, "dg": SHORT}, "in 10 of 10 runs, level with ISM, 36 times slower."),
        ({"mine": SOONEST, "ism": LATER, "dg": SHORT}, "in 10 of 10 runs, level with ISM, 36 times faster."),
        ({"mine": SOONEST, "ism": [(1.01, -100.0)]}, "in 10 of 10 runs, level with ISM, as fast."),
        ({"mine": SOONEST, "dg_converged": SHORT}, "in 10 of 10 runs, more often than DG (converged) (0 of 10)."),
        ({"mine": SHORT, "ism": SOONEST, "gm": LATER}, "in 0 of 10 runs, less often than ISM (10 of 10)."),
    ],
)
def test_it_is_compared_with_the_best_other(tmp_path, curves, sentence):
    answer, _ = raced(tmp_path, **curves)
    assert answer.own
    assert answer.text.startswith(f"mine reaches the best known cost {sentence}")
    # Who leads is said apart where one's own is neither first nor second.
    assert ("the next is" in answer.text) == (curves["mine"] == SHORT)


def test_times_of_a_reference_are_compared_with_none(tmp_path):
    answer, _ = raced(tmp_path, mine=LATER, ism_reference=SOONEST, gm=[(72.0, -100.0)])
    assert answer.text == "mine reaches the best known cost in 10 of 10 runs, level with GM, 2 times faster."


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
