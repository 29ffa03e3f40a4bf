"""Every published number beside ours, and how many are met, from made-up runs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kdrbench.suite.findings.ledger import Trace, compare, trace_of
from kdrbench.suite.findings.ledger_lines import NO_EXPERIMENT, UNEXPLAINED
from kdrbench.suite.reports.tables.published_numbers import PublishedNumber, published_numbers
from kdrbench.suite.reports.tables.verdicts import Verdict
from support.configs import whole_config
from support.report_rows import experiment_of, run, runs_of

TABLE_6 = {"paper": "ismplus", "table": "6", "setting": "unsupervised"}
TABLE_5 = {"paper": "ismplus", "table": "5", "setting": "supervised"}


def experiment(published, **changes):
    made = {"published": published, "paradigm": published["setting"], "split": "none"}
    return experiment_of("ism", "ism_2018", datasets=["wine", "cancer-137"], **made) | changes


def made(experiment, dataset, solver, **columns):
    metric = "error" if experiment == "five" else "nmi"
    return run(dataset, solver, 0, experiment=experiment, quality_metric=metric, split="none", **columns)


CONFIG = {
    "run": ["six", "five", "again"],
    "experiments": {
        "six": experiment(TABLE_6, baselines=["spectral_clustering"]),
        "five": experiment(TABLE_5),
        "again": experiment(TABLE_6, datasets=["wine"]),
        "unpublished": {key: value for key, value in experiment(TABLE_6).items() if key != "published"},
        "not_run": experiment({"paper": "neurips2019", "table": "5", "setting": "supervised"}),
    },
}
RUNS = pd.DataFrame(
    [
        made("six", "wine", "ism", time_s=0.0004, cost=-39.082, quality=0.8784),
        made("six", "wine", "ism_2018", time_s=4.0, cost=-38.0, quality=0.7),
        made("six", "wine", "spectral_clustering", kernel="none", cost=None, quality=0.8349),
        made("six", "cancer-137", "ism", cost=-33.299, quality=0.862, status="time_limit"),
        made("five", "cancer-137", "ism", cost=-1645.719, quality=2 / 137),
        made("five", "cancer-137", "ism_2018", cost=-1645.719, quality=4 / 137),
        made("again", "wine", "ism", cost=-39.9, quality=0.9),
    ]
)


@pytest.fixture
def comparisons():
    # What the text says in words is tested in test_lines.py.
    return [one for one in compare({"ikdr": RUNS}, CONFIG) if one.table != "text"]


def found(comparisons, table, *axes, experiment=None):
    chosen = [one for one in comparisons if (one.table, one.dataset, one.method, one.metric) == (table, *axes)]
    (one,) = [one for one in chosen if (one.first if experiment is None else one.experiment == experiment)]
    return one


def test_every_number_is_listed_once_and_counts_once(comparisons):
    printed = [*published_numbers(**TABLE_6), *published_numbers(**TABLE_5)]
    # A third of the rows of baselines is a cost that is not printed.
    assert len(printed) == (84 - 4 * 2) + (96 - 4 * 3)
    assert [(one.table, one.dataset, one.kernel, one.method, one.metric) for one in comparisons if one.first] == [
        tuple(axes[name] for name in ("table", "dataset", "kernel", "method", "metric")) for axes in printed
    ]
    again = [one for one in comparisons if not one.first]
    # The second experiment has both solvers' three numbers on Wine.
    assert len(again) == 6
    assert {one.experiment for one in again} == {"again"}


def test_ours_have_the_names_that_the_papers_use(comparisons):
    cost = found(comparisons, "6", "wine", "ism", "cost")
    assert (cost.published, cost.ours, cost.verdict, cost.experiment) == ("-39.1", "-39.082", "reproduced", "six")
    assert (cost.mean, cost.runs) == (-39.082, 1)
    assert found(comparisons, "6", "wine", "ism", "nmi").verdict is Verdict.REPRODUCED
    assert found(comparisons, "6", "wine", "none", "nmi").ours == "0.835"
    # The printed costs lie between -38.07 and -39.1: of that, -38 is no quarter from -39.1, but all of it.
    assert found(comparisons, "6", "wine", "ism2018", "cost").verdict is Verdict.DIFFERS
    assert found(comparisons, "6", "wine", "ism2018", "nmi").verdict is Verdict.DIFFERS
    # Of the 137 samples that the papers call Cancer.
    error = found(comparisons, "5", "cancer", "ism", "error")
    assert (error.published, error.ours, error.verdict) == ("1.5%", "1.5%", "reproduced")
    assert found(comparisons, "5", "cancer", "ism2018", "error").verdict is Verdict.DIFFERS
    assert found(comparisons, "6", "wine", "ism", "cost", experiment="again").verdict is Verdict.DIFFERS


def test_missing_numbers_are_not_run_and_limited_ones_stopped(comparisons):
    gm = found(comparisons, "6", "wine", "gm", "cost")
    assert (gm.ours, gm.verdict, gm.why, gm.experiment) == ("", "not run", NO_EXPERIMENT, "")
    limited = found(comparisons, "6", "cancer", "ism", "time_s")
    assert (limited.ours, limited.verdict) == ("> 2s", "not judged")
    assert found(comparisons, "6", "cancer", "ism", "cost").verdict is Verdict.STOPPED
    assert limited.why.startswith("time limit")
    assert found(comparisons, "5", "wine", "ism", "cost").ours == "not run"
    # The NMI of ISM 2018 on Wine differs, and readings.toml has nothing to say of it.
    one = found(comparisons, "6", "wine", "ism2018", "nmi")
    assert (one.verdict, one.why) == (Verdict.DIFFERS, UNEXPLAINED)
    # What is reproduced needs no reason.
    assert found(comparisons, "6", "wine", "ism", "cost").why == ""


def test_a_mean_over_several_runs_has_an_interval(comparisons):
    assert found(comparisons, "6", "wine", "ism", "cost").low is None
    costs, shared = [1.0, 2.0, 4.0, 9.0], {"experiment": "six", "quality_metric": "nmi", "split": "subsets"}
    runs = pd.DataFrame(runs_of("wine", "ism", range(4), cost=lambda fold: costs[fold], **shared))
    one = found(compare({"ikdr": runs}, CONFIG), "6", "wine", "ism", "cost")
    interval = stats.t.interval(0.95, 3, loc=np.mean(costs), scale=stats.sem(costs))
    assert (one.low, one.high) == pytest.approx(interval, rel=1e-12)


def test_a_method_with_the_iterates_of_another_is_beside_its_runs():
    config = {"run": ["five"], "experiments": {"five": experiment(TABLE_5, datasets=["face"], components={"face": 20})}}
    rows = [
        made("five", "face", "ism", cost=-4685.077, quality=0.0),
        made("five", "face", "ism_2018", cost=-4637.2, quality=0.0, status="time_limit"),
    ]
    cost = found(compare({"ikdr": pd.DataFrame(rows)}, config), "5", "face", "ism2018", "cost")
    assert (cost.verdict, trace_of(cost)) == (Verdict.STOPPED, Trace.PROTOCOL)
    assert cost.protocol == "-4685.1 (five, Gaussian, ISM)"


@pytest.mark.parametrize(
    ("changes", "trace"),
    [
        ({"verdict": Verdict.REPRODUCED}, Trace.OURS),
        ({"verdict": Verdict.DIFFERS, "protocol": "1; 2", "protocol_verdict": "close; reproduced"}, Trace.PROTOCOL),
        ({"verdict": Verdict.CLOSE, "protocol_verdict": "close", "why": "other rows"}, Trace.EXPLAINED),
        ({"verdict": Verdict.DIFFERS, "why": "no setting is known that meets it"}, Trace.OPEN),
        ({"verdict": Verdict.DIFFERS, "why": ""}, Trace.OPEN),
        ({"verdict": Verdict.STOPPED, "why": "stopped at 10 s"}, Trace.OPEN),
        ({"verdict": Verdict.STOPPED, "protocol_verdict": "close", "why": "other rows"}, Trace.EXPLAINED),
    ],
)
def test_a_number_is_traced_by_a_run_before_a_sentence(comparisons, changes, trace):
    line = replace(comparisons[0], **{"protocol_verdict": "", **changes})
    assert trace_of(line) is trace


@pytest.mark.slow("compares every published number once")
def test_every_published_number_has_a_cell():
    lines = compare({"ikdr": RUNS[:0]}, whole_config())
    # What is said in words needs runs, not cells.
    of_cells = [one for one in lines if one.setting not in ("iterations", "complexity")]
    assert [one for one in of_cells if one.why == NO_EXPERIMENT and not one.experiment] == []
    assert {one.paper for one in lines} == {"neurips2019", "ismplus"}


def test_printed_numbers_mean_what_rounds_to_them():
    numbers = [
        ("-39.1", -39.1, 0.05),
        ("-1311\u00b126", -1311.0, 0.5),
        ("-1894\u00b147", -1.894e6, 500.0),
        ("97.2%\u00b13.7%", 0.972, 0.0005),
        ("0%", 0.0, 0.005),
        ("0.88", 0.88, 0.005),
        ("16.8m\u00b13.4s", 1008.0, 3.0),
        ("0.02s", 0.02, 0.005),
        ("N/A", None, 0.0),
        ("", 1.0, 0.0),
    ]
    for text, value, rounding in numbers:
        assert PublishedNumber(text, "ok", value, None, "").rounding == pytest.approx(rounding, rel=1e-12)
