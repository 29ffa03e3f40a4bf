"""The paper's text beside ours, and the figures, from made-up rows."""

from types import SimpleNamespace

import pandas as pd
import pytest

from kdrbench.suite.findings.ledger import compare
from kdrbench.suite.reports.figures.chart import Mark, Scale, Symbol
from kdrbench.suite.reports.tables.verdicts import Verdict
from kdrbench.suite.systems.low_rank.tables import chart_of as low_rank_chart

SHARED = {"system": "low_rank", "published": {"paper": "lowrank2006"}, "title": "T."}
DIGITS = {"datasets": ["digits"], "constraints": [0, 20, 200], "methods": ["burg", "von_neumann"]}
GYRB = {"datasets": ["gyrb-standin"], "constraints": [50, 100]}
GYRB |= {"methods": ["von_neumann", "definite_boost_exact", "definite_boost", "von_neumann_trace"]}
DRAWN = {"published": {"paper": "lowrank2006", "protocol": True}, "datasets": ["digits-3165"], "sample": 317}
CONFIG = {
    "run": ["digits", "gyrb", "drawn"],
    "low_rank_methods": {"burg": {}, "von_neumann": {}, "definite_boost": {}},
    "experiments": {"digits": SHARED | DIGITS, "gyrb": SHARED | GYRB, "drawn": SHARED | DIGITS | DRAWN},
}
NUMBERS = {"accuracy": 0.94, "target_accuracy": None, "nmi_one_start": 0.5, "nmi_ten_starts": 0.6, "sweeps": 10}
NUMBERS |= {"kkt_residual": 1e-4, "time_s": 0.002}


def row(task, method, count, run, **columns):
    axes = {"experiment": task, "method": method, "n_constraints": count, "run": run, "status": "converged"}
    return axes | NUMBERS | columns


ROWS = pd.DataFrame(
    [
        *(row("digits", "burg", 0, run, sweeps=0, accuracy=0.94 + run / 100) for run in (0, 1)),
        *(row("digits", "burg", 20, run, sweeps=17 + run) for run in (0, 1)),
        *(row("digits", "burg", 200, run, sweeps=500 + run, accuracy=0.98 + run / 100) for run in (0, 1)),
        *(row("drawn", "burg", 200, run, accuracy=0.94 + run / 80) for run in range(5)),
        row("digits", "von_neumann", 20, 0, sweeps=100),
        row("digits", "von_neumann", 200, 0, sweeps=100, status="failed", accuracy=None),
        *(row("gyrb", "von_neumann", 50, run, sweeps=20, target_accuracy=0.93 + run / 50) for run in (0, 1)),
        row("gyrb", "von_neumann_trace", 50, 0, sweeps=10),
        row("gyrb", "von_neumann_trace", 100, 0, sweeps=12),
        row("gyrb", "definite_boost_exact", 50, 0, sweeps=9),
        row("gyrb", "definite_boost", 50, 0, sweeps=30),
        row("gyrb", "definite_boost", 100, 0, sweeps=4000, status="max_iterations"),
    ]
)


@pytest.fixture
def comparisons():
    return compare({"low_rank": ROWS}, CONFIG)


def found(comparisons, dataset, method, metric):
    return [one for one in comparisons if (one.dataset, one.method, one.metric) == (dataset, method, metric)]


def test_every_number_of_the_text_is_beside_ours_with_a_verdict(comparisons):
    (none,) = found(comparisons, "digits", "none", "accuracy")
    assert (none.published, none.ours, none.verdict) == ("94%", "94.5% \u00b1 0.5%", Verdict.REPRODUCED)
    burg, neumann, *_ = found(comparisons, "digits", "learned", "accuracy")
    assert (burg.published_value, burg.mean, burg.verdict) == (0.97, pytest.approx(0.985), Verdict.DIFFERS)
    assert (burg.first, neumann.first) == (True, False)
    # Print shows one of the draws of samples, which vary by 1.8 %.
    assert burg.by_protocol == [("96.5% \u00b1 1.8% (drawn, Burg)", "reproduced")]
    assert (neumann.verdict, neumann.ours) == (Verdict.NOT_RUN, "N/A")
    for method, metric, mean, verdict in (
        ("burg", "sweeps_least", 17.5, Verdict.REPRODUCED),
        ("burg", "sweeps_most", 500.5, Verdict.DIFFERS),
        ("von_neumann", "sweeps_least", 100, Verdict.DIFFERS),
    ):
        (one,) = found(comparisons, "digits", method, metric)
        assert (one.mean, one.verdict) == (mean, verdict)
    # What is reproduced needs no reason, and what differs has one.
    assert none.why == ""
    assert "the norm of the stopping rule is not stated" in one.why


def test_sweeps_that_were_used_up_are_a_bound(comparisons):
    boost, exact = found(comparisons, "gyrb", "definite_boost", "sweeps")
    assert (boost.ours, boost.verdict) == ("> 2015 \u00b1 1985", Verdict.NOT_JUDGED)
    assert "1 of 2 runs: max iterations" in boost.why
    assert "a synthetic stand-in, which reproduces nothing" in boost.why
    # What is compared like for like comes first, whatever the order of the configuration.
    assert (boost.experiment, exact.experiment) == ("gyrb, DefiniteBoost", "gyrb, DefiniteBoost, exact steps")
    assert (boost.first, exact.first) == (True, False)
    neumann, without_trace = found(comparisons, "gyrb", "von_neumann", "sweeps")
    # A stand-in is shown, and reproduces nothing.
    assert (neumann.mean, neumann.runs, neumann.verdict) == (11, 2, Verdict.NOT_JUDGED)
    assert (neumann.first, without_trace.first, without_trace.mean) == (True, False, 20)


def chart_of(name):
    runs = ROWS[ROWS["experiment"] == name]
    return low_rank_chart(SimpleNamespace(name=name, runs=runs, experiment=CONFIG["experiments"][name], config=CONFIG))


def test_the_figure_has_a_panel_a_quantity_and_marks_stops():
    chart = chart_of("gyrb")
    assert [panel.y.title for panel in chart.panels] == ["accuracy", "NMI", "NMI", "sweeps"]
    sweeps = chart.panels[3]
    assert sweeps.y.scale is Scale.LOG
    _, _, boost, crosses, neumann = sweeps.series
    assert (neumann.x, neumann.y) == ([50, 100], [10, 12])
    assert (boost.y, boost.lower, boost.upper) == ([30, 4000], [30, 4000], [30, 4000])
    assert (crosses.x, crosses.y, crosses.mark, crosses.symbol) == ([100], [4000], Mark.POINTS, Symbol.CROSS)
    assert crosses.key == boost.key == "DefiniteBoost"
    assert neumann.colour != boost.colour
    # No constraints have no place on the axis of sweeps.
    accuracy, _, _, sweeps = chart_of("digits").panels
    burg = sweeps.series[0]
    assert (burg.x, accuracy.series[0].x) == ([20, 200], [0, 20, 200])
    assert (burg.lower[0], burg.y[0], burg.upper[0]) == (17.25, 17.5, 17.75)
