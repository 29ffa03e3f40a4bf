"""Claims on cost and time, decided from made-up runs: each can come out in all three ways."""

import pandas as pd
import pytest

from kdrbench.reports.claims.claim import Decision, Records
from kdrbench.reports.claims.costs import lower_cost, lower_cost_than_converged, quadratic_time, times_faster
from support.report_rows import run

CONFIG = {"experiments": {"scaling": {"evaluation": {"evaluator": "panels"}}, "scaling_factored": {}}}
SIZES = [1000, 2000, 4000, 8000]


def records(*rows):
    return Records(runs=pd.DataFrame(rows), config=CONFIG)


def folds(solver, cost=-100.0, time_s=1.0, n=10, **columns):
    return [run("wine", solver, fold, cost=cost, time_s=time_s, **columns) for fold in range(n)]


def test_without_records_nothing_is_decided():
    for decide in (lower_cost, lower_cost_than_converged, times_faster, quadratic_time):
        found = decide(Records())
        assert found.decision is Decision.UNDECIDED
        assert found.evidence.startswith("no records: ")


def test_lower_cost_is_confirmed_where_nobody_is_lower():
    found = lower_cost(records(*folds("ism", -100.0), *folds("dg", -98.0), *folds("sm", -100.05)))
    assert found.decision is Decision.CONFIRMED
    # SM is 0.05 % below: level.
    assert found.evidence.startswith("lower in 1 of 2 cells, level in 1, higher in 0; ")
    assert "lower in 1 and higher in 1 of 2 cells" in found.evidence
    assert found.note == ""


def test_lower_cost_is_contradicted_by_one_lower_rival():
    found = lower_cost(records(*folds("ism", -100.0), *folds("dg", -98.0), *folds("gm", -101.0)))
    assert found.decision is Decision.CONTRADICTED
    assert "higher in 1 (most by 1.0%): e: Wine, Gaussian, GM" in found.evidence


def test_lower_cost_is_contradicted_where_all_is_level():
    assert lower_cost(records(*folds("ism"), *folds("dg"))).decision is Decision.CONTRADICTED


def test_lower_cost_says_where_it_holds_against_published_defaults_only():
    rows = [*folds("ism", -100.0), *folds("dg", -98.0), *folds("dg_converged", -101.0)]
    found = lower_cost(records(*rows))
    assert found.decision is Decision.CONFIRMED
    assert found.note.startswith("It holds only against the published defaults of the rivals; against converged ones: ")
    assert "higher in 1 (most by 1.0%)" in found.note


def test_failed_runs_scaling_series_and_baselines_are_no_rivals():
    lower = {"cost": -200.0}
    rows = [*folds("ism"), *folds("dg", **lower, status="failed"), *folds("sm", **lower, kernel="none")]
    rows += [*folds("gm", **lower, experiment="scaling_d"), *folds("ism", experiment="scaling_d")]
    assert lower_cost(records(*rows)).decision is Decision.UNDECIDED


def test_stopped_runs_count_and_are_said():
    rows = [*folds("ism", -100.0), *folds("dg", -90.0, n=3), run("wine", "dg", 3, cost=-90.0, status="time_limit")]
    assert "runs were stopped in 1 of them" in lower_cost(records(*rows)).evidence


def test_converged_rivals_have_a_claim_of_their_own():
    rows = [*folds("ism", -100.0), *folds("dg_converged", -90.0)]
    assert lower_cost_than_converged(records(*rows)).decision is Decision.CONFIRMED
    rows = [*folds("ism", -100.0), *folds("ism_converged", -102.0), *folds("gm_converged", -101.0)]
    found = lower_cost_than_converged(records(*rows))
    assert found.decision is Decision.CONTRADICTED
    assert found.note.startswith("ISM run to the same stationarity: lower in 1 of 1 cells")


def test_times_faster_by_the_largest_ratio():
    fast = folds("ism", time_s=0.001)
    found = times_faster(records(*fast, *folds("dg", time_s=200.0), *folds("gm", time_s=1.0)))
    assert found.decision is Decision.CONFIRMED
    assert found.evidence.startswith("at most 200,000 times (e: Wine, Gaussian, DG), median 100,500 of 2 cells")
    assert found.note == "Converged rivals have no records."
    slower = records(*fast, *folds("dg", time_s=2.0), *folds("ism_converged"), *folds("dg_converged", time_s=8.0))
    assert times_faster(slower).decision is Decision.CONTRADICTED
    assert "rivals take 8 to 8 times ISM's time, median 8" in times_faster(slower).note


def test_times_faster_is_undecided_where_rivals_were_stopped():
    fast = folds("ism", time_s=0.001)
    stopped = folds("dg", time_s=2.0, status="time_limit")
    found = times_faster(records(*fast, *stopped))
    assert found.decision is Decision.UNDECIDED
    assert "1 ratios are lower bounds" in found.evidence
    # A bound above the claim is enough.
    enough = folds("dg", time_s=2000.0, status="time_limit")
    assert times_faster(records(*fast, *enough)).decision is Decision.CONFIRMED


def grown(solver, exponent, experiment="scaling", **columns):
    sizes = {"n_features": 20, "n_components": 4}
    return [
        run(
            f"scaling-{n}",
            solver,
            0,
            experiment=experiment,
            n_train=n,
            time_s=(n / 1000) ** exponent,
            **sizes,
            **columns,
        )
        for n in SIZES
    ]


def test_quadratic_time_by_the_exponents_of_all_solvers():
    found = quadratic_time(records(*grown("ism", 1.9), *grown("dg", 2.1), *grown("ism", 1.0, "scaling_factored")))
    assert found.decision is Decision.CONFIRMED
    assert found.evidence.startswith("ISM n^1.90 (95 %: 1.90 to 1.90); DG n^2.10")
    assert found.note.startswith("With the library's own evaluation, which needs no pairs: ISM n^1.00")


@pytest.mark.parametrize("exponents", [(2.0, 3.0), (1.0, 1.0), (1.74, 2.26)])
def test_quadratic_time_is_contradicted_by_other_exponents_or_unlike_ones(exponents):
    rows = [*grown("ism", exponents[0]), *grown("dg", exponents[1])]
    assert quadratic_time(records(*rows)).decision is Decision.CONTRADICTED


def test_quadratic_time_is_undecided_where_a_solver_ended_at_two_sizes():
    rows = grown("dg", 2.0)
    for row in rows[2:]:
        row["status"] = "time_limit"
    found = quadratic_time(records(*grown("ism", 2.0), *rows))
    assert found.decision is Decision.UNDECIDED
    assert "DG ended at 2 sizes" in found.evidence


def test_quadratic_time_needs_a_series_over_all_pairs():
    found = quadratic_time(records(*grown("ism", 1.0, "scaling_factored")))
    assert found.decision is Decision.UNDECIDED
    assert "all pairs" in found.evidence
