"""Claims on iterations, stops, starts and fixed points, decided from made-up runs."""

import itertools

import pytest

from kdrbench.suite.findings.finding import Decision
from support.claim_rows import cells, claims, records
from support.report_rows import runs_of

SUPERVISED = ("four", "five", "plus_five")
FIXED = ("four", "plus_five")
STOPPED = {"status": "time_limit"}
CONVERGED = ("dg_converged", "sm_converged", "gm_converged")


def supervised(method, tables=SUPERVISED, **columns):
    return [row for table in tables for row in cells(table, method, **columns)]


def some(share, one, other):
    """``one`` in that many of ten folds, ``other`` in the rest."""
    return lambda data, kernel, fold: one if fold < share else other


@pytest.mark.parametrize(
    ("columns", "decision"),
    [
        ({"iterations": some(9, 4, 12)}, Decision.CONFIRMED),
        ({"iterations": some(8, 4, 12)}, Decision.MOSTLY),
        ({"iterations": some(7, 4, 12)}, Decision.CONTRADICTED),
        # Runs that its rule did not end have no few iterations.
        ({"iterations": 4, "status": some(7, "converged", "time_limit")}, Decision.CONTRADICTED),
    ],
)
def test_few_iterations_in_nine_of_ten_runs_are_normal(columns, decision):
    found = claims.few_iterations(records(*supervised("ism", **columns)))
    assert found.decision is decision
    assert decision is not Decision.CONFIRMED or found.measure == "220 of 244 runs (90 %); at most 12"


@pytest.mark.parametrize(
    ("dg", "sm", "decision", "measure"),
    [
        ({"iterations": 100}, {"iterations": 4000}, Decision.CONFIRMED, "140 of 140 runs (100 %); 100 to 4000"),
        ({"iterations": some(9, 310, 99)}, {"iterations": some(7, 310, 10001)}, Decision.CONTRADICTED, "110 of 140"),
        # 120 of 140, of which 90 % may be.
        ({"iterations": some(8, 310, 99)}, {"iterations": some(9, 310, 10001)}, Decision.INDISTINCT, "120 of 140"),
        # Those that the paper's limit stopped do not count; those that an earlier one stopped are open.
        ({"iterations": 310}, {"iterations": 1, **STOPPED}, Decision.CONFIRMED, "60 of 60 runs (100 %); 310 to 310"),
        (
            {"iterations": 310, "stopped_early": ""},
            {"iterations": 1, **STOPPED, "stopped_early": "stopped at 60 s"},
            Decision.UNDECIDED,
            "60 of 140 runs (43 %), and 80 open; 310 to 310",
        ),
    ],
)
def test_iterations_of_rivals_lie_in_the_papers_range(dg, sm, decision, measure):
    rows = [*supervised("dg", **dg), *supervised("sm", **sm)]
    found = claims.rivals_iterations(records(*rows))
    assert (found.decision, found.measure[: len(measure)]) == (decision, measure)


def test_the_papers_differ_in_the_range_of_iterations():
    rows = [*supervised("dg", iterations=100), *supervised("sm", iterations=4000)]
    assert claims.rivals_iterations_plus(records(*rows)).decision is Decision.CONTRADICTED
    assert claims.rivals_iterations(records(*supervised("dg"))).decision is Decision.UNDECIDED


def ends(**optimality):
    """Ends of all methods, at fixed points of ISM; ``optimality`` by method, second order if it is not named."""
    kinds = dict.fromkeys(("ism", "ism_converged", *CONVERGED), "second_order") | optimality
    return [row for name, kind in kinds.items() for row in supervised(name, FIXED, optimality=kind, eigengap=0.1)]


def test_fixed_points_must_have_no_negative_curvature():
    found = claims.second_order(records(*ends(ism="not_stationary")))
    assert found.decision is Decision.CONFIRMED
    saddles = claims.second_order(records(*ends(ism="not_stationary", sm_converged=some(8, "second_order", "saddle"))))
    assert saddles.decision is Decision.MOSTLY
    assert saddles.measure.endswith("(95 %)")
    many = claims.second_order(records(*ends(ism="not_stationary", sm_converged="saddle", gm_converged="saddle")))
    assert many.decision is Decision.CONTRADICTED


def stopped_early(**sizes):
    """SM was stopped early at no stationary point; the other solvers ended at fixed points, ISM by its rule."""
    words = "stopped at 60 s, at most 259200 s are allowed"
    stopped = {"status": "time_limit", "stopped_early": words}
    rows = [row | {"stopped_early": ""} | sizes for row in ends(ism="not_stationary", sm_converged="not_stationary")]
    return rows, stopped, [row | stopped if row["method"] == "sm_converged" else row for row in rows]


def test_runs_stopped_early_at_no_fixed_point_are_open():
    rows, stopped, early = stopped_early(n_features=30, n_components=4)
    assert claims.second_order(records(*rows)).decision is Decision.CONFIRMED
    found = claims.second_order(records(*early))
    assert found.decision is Decision.UNDECIDED
    assert ", and 84 open" in found.measure
    # One that was stopped at a fixed point has shown what it is.
    there = [row | stopped if row["method"] == "gm_converged" else row for row in rows]
    assert claims.second_order(records(*there)).decision is Decision.CONFIRMED
    # Nor are those whose curvature is never evaluated: more directions than the referee forms a Hessian of.
    for n_features, n_components, is_open in ((960, 20, False), (204, 2, False), (202, 2, True)):
        found = claims.second_order(records(*stopped_early(n_features=n_features, n_components=n_components)[2]))
        assert (found.decision is Decision.CONFIRMED, ", and 84 open" in found.measure) == (not is_open, is_open)


def test_a_few_fixed_points_decide_nothing():
    rows = ends(ism="not_stationary")
    for row in [row for row in rows if row["optimality"] == "second_order"][29:]:
        row["optimality"] = "not_stationary"
    found = claims.second_order(records(*rows))
    assert found.decision is Decision.UNDECIDED
    assert found.evidence == "lacking: 30 fixed points to count; there are 29"


def test_stationary_ends_that_are_no_fixed_points_are_named():
    rows = ends(sm_converged="saddle", dg_converged="first_order")
    rows = [row | {"eigengap": -0.1} if row["method"] == "sm_converged" else row for row in rows]
    found = claims.second_order(records(*rows))
    assert found.decision is Decision.CONFIRMED
    assert found.measure == "232 of 232 fixed points (100 %)"
    none = [row | {"optimality": "not_stationary"} for row in rows]
    assert claims.second_order(records(*none)).decision is Decision.UNDECIDED


def stops(stationarity=1e-3, cost=-100.0):
    rows = supervised("ism", FIXED, stationarity=stationarity, cost=cost)
    return records(*rows, *supervised("ism_converged", FIXED, stationarity=1e-7, cost=-100.0))


def test_the_rule_must_stop_near_a_stationary_point():
    assert claims.eigenvalue_stopping(stops()).decision is Decision.CONFIRMED
    mostly = claims.eigenvalue_stopping(stops(cost=some(8, -99.5, -98.5)))
    assert (mostly.decision, mostly.measure) == (Decision.MOSTLY, "68 of 84 runs (81 %); stationary to 0.001 at worst")
    far = claims.eigenvalue_stopping(stops(stationarity=some(7, 1e-3, 0.2)))
    assert far.decision is Decision.CONTRADICTED
    assert far.measure == "60 of 84 runs (71 %); stationary to 0.2 at worst"
    alone = records(*supervised("ism", FIXED, stationarity=1e-3))
    assert claims.eigenvalue_stopping(alone).decision is Decision.UNDECIDED


def starts(higher=0, method="ism_random", folds=10):
    """ISM is 1 % higher than from a random start in the first ``higher`` folds."""
    rows = []
    for dataset, kernel in itertools.product(("wine", "cancer"), ("gaussian", "polynomial")):
        shared = {"experiment": "start_of_ism", "kernel": kernel}
        costs = {"cost": lambda fold: -99.0 if fold < higher else -100.0}
        rows += runs_of(dataset, "ism", range(folds), iterations=3, **costs, **shared)
        rows += runs_of(dataset, method, range(folds), iterations=6, cost=-100.0, **shared)
    return records(*rows)


def test_the_papers_start_must_end_no_higher_than_a_random_one():
    for higher, decision in ((0, Decision.CONFIRMED), (2, Decision.MOSTLY), (3, Decision.CONTRADICTED)):
        found = claims.start_of_ism(starts(higher))
        assert found.decision is decision
        assert found.measure.startswith(f"{40 - 4 * higher} of 40 runs")
    # Both are needed, and lost runs count.
    assert claims.start_of_ism(starts(method="dg")).decision is Decision.UNDECIDED
    assert claims.start_of_ism(starts(folds=7)).measure == "28 of 40 runs (70 %)"
