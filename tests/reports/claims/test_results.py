"""Claims on what ISM finds, decided from made-up runs."""

import pandas as pd
import pytest

from kdrbench.reports.claims.claim import Decision, Records
from kdrbench.reports.claims.results import accuracy_above, conic_is_best, few_iterations, second_order
from support.report_rows import run


def records(*rows):
    return Records(runs=pd.DataFrame(rows))


def test_without_records_nothing_is_decided():
    for decide in (few_iterations, accuracy_above, conic_is_best, second_order):
        assert decide(Records()).decision is Decision.UNDECIDED
        # Records of something else are none either.
        assert decide(records(run("wine", "dg", 0, iterations=3, quality=0.9))).decision is Decision.UNDECIDED


def test_iterations_of_every_run_that_converged_count():
    few = [run("wine", "ism", fold, iterations=4) for fold in range(3)]
    assert few_iterations(records(*few)).decision is Decision.CONFIRMED
    more = [*few, run("cancer", "ism", 0, iterations=5, kernel="polynomial")]
    found = few_iterations(records(*more))
    assert found.decision is Decision.CONTRADICTED
    assert found.evidence == "fewer than 5 in 3 of 4 runs, median 4, at most 5 (Cancer, Polynomial)"


def test_iterations_of_alternations_and_stopped_runs_do_not_count():
    rows = [run("wine", "ism", 0, iterations=4), run("wine", "ism", 1, iterations=50, status="time_limit")]
    rows.append(run("wine", "ism", 2, iterations=50, paradigm="unsupervised"))
    rows.append(run("scaling-500", "ism", 3, iterations=50, experiment="scaling"))
    assert few_iterations(records(*rows)).evidence.startswith("fewer than 5 in 1 of 1 runs")


def test_accuracy_is_judged_by_the_mean_of_each_cell():
    fine = [run("wine", "ism", 0, quality=0.94), run("wine", "ism", 1, quality=0.98)]
    assert accuracy_above(records(*fine)).decision is Decision.CONFIRMED
    low = run("mnist", "ism", 0, quality=0.93)
    found = accuracy_above(records(*fine, low))
    assert found.decision is Decision.CONTRADICTED
    assert "below: e: MNIST, Gaussian 93.0%" in found.evidence
    training = run("car", "ism", 0, quality=0.2, quality_metric="error")
    assert accuracy_above(records(training)).decision is Decision.UNDECIDED


def qualities(dataset="wine", **by_kernel):
    return [run(dataset, "ism", 0, kernel=kernel, quality=quality) for kernel, quality in by_kernel.items()]


def test_the_conic_kernel_is_compared_on_each_data_set():
    best = qualities(gaussian=0.97, gaussian_polynomial=0.98, linear=0.9)
    assert conic_is_best(records(*best)).decision is Decision.CONFIRMED
    beaten = qualities("face", gaussian_polynomial=0.95, squared=0.96)
    found = conic_is_best(records(*best, *beaten))
    assert found.decision is Decision.CONTRADICTED
    assert found.evidence == (
        "best or level in 1 of 2 cases; beaten on Face (accuracy) by Squared, 0.960 against 0.950"
    )
    level = qualities(gaussian=0.9804, gaussian_polynomial=0.98)
    assert conic_is_best(records(*level)).decision is Decision.CONFIRMED
    assert conic_is_best(records(*qualities(gaussian_polynomial=0.98))).decision is Decision.UNDECIDED


def test_the_conic_kernel_is_compared_over_experiments_of_the_same_rows_only():
    rows = qualities(gaussian_polynomial=0.9)
    other = run("wine", "ism", 0, kernel="gaussian", quality=0.99, experiment="f", n_train=142)
    assert conic_is_best(records(*rows, other)).decision is Decision.UNDECIDED
    same = run("wine", "ism", 0, kernel="gaussian", quality=0.99, experiment="f")
    assert conic_is_best(records(*rows, same)).decision is Decision.CONTRADICTED


def point(fold, curvature, eigengap=0.5, needed=0.4, stationarity=1e-7):
    gaps = {"eigengap": eigengap, "eigengap_needed": needed}
    return run("wine", "ism_converged", fold, curvature=curvature, stationarity=stationarity, **gaps)


def test_second_order_where_the_eigengap_suffices():
    saddle_without_gap = point(1, -0.1, eigengap=0.1)
    unfinished = point(2, -0.1, stationarity=1e-2)
    found = second_order(records(point(0, 0.1), saddle_without_gap, unfinished))
    assert found.decision is Decision.CONFIRMED
    assert found.evidence == "curvature negative at 0 of 1 fixed points where the eigengap suffices"
    assert found.note.endswith("1 of these are saddles.")
    assert second_order(records(point(0, 0.1), point(1, -0.1))).decision is Decision.CONTRADICTED
    assert second_order(records(saddle_without_gap)).decision is Decision.UNDECIDED


@pytest.mark.parametrize("lacking", ["curvature", "eigengap"])
def test_second_order_needs_its_columns(lacking):
    row = point(0, 0.1)
    row[lacking] = None
    assert second_order(records(row)).decision is Decision.UNDECIDED
