"""How a printed number and ours relate: by rounding, by how means vary, by what is at stake."""

import dataclasses
import math

import pytest

from kdrbench.suite.reports.tables.cells import Cell
from kdrbench.suite.reports.tables.published_numbers import PublishedNumber, find_published
from kdrbench.suite.reports.tables.verdicts import Verdict, closeness, verdict_for


def cell(metric, mean, std=0.0, *, complete=True):
    return Cell(metric, mean, std, "", "", 10, 10, complete)


def printed(text, value, stake=0.0):
    return PublishedNumber(text, "ok", value, None, "", stake)


OURS, OF_1, SPREAD = cell("cost", -1.0), printed("1", 1.0), printed("-100", -100.0)
ABSENT = PublishedNumber("N/A", "not_available", None, None, "")
BOUND = PublishedNumber("> 1", "time_limit", 1.0, None, "")
STOPPED = [dataclasses.replace(cell("cost", mean, complete=False), stopped=True) for mean in (-1.0, None)]
USED_UP = dataclasses.replace(cell("sweeps_least", 1700.0, complete=False), at_least=True)
CASES = [
    # Two standard errors of the difference of two means: 2 sqrt(2) 0.8 = 2.26; half of the last digit that is printed;
    # a quarter of what is at stake is 3.
    *(
        (printed("-100", -100.0, stake=12.0), cell("cost", mean, 25.0), error, verdict)
        for mean, error, verdict in (
            (-102.2, 0.8, Verdict.REPRODUCED),
            (-102.3, 0.8, Verdict.CLOSE),
            (-100.5, 0.0, Verdict.REPRODUCED),
            (-102.9, None, Verdict.CLOSE),
            (-103.1, None, Verdict.DIFFERS),
        )
    ),
    # A wide spread of single draws reproduces nothing far away, that of folds does.
    (SPREAD, cell("cost", -104.9), 50.0, Verdict.REPRODUCED),
    (SPREAD, cell("cost", -105.1), 50.0, Verdict.DIFFERS),
    (dataclasses.replace(SPREAD, std=60.0), cell("cost", -105.1), 50.0, Verdict.REPRODUCED),
    # Seconds have no verdict.
    *((number, cell(name, 1.0), None, Verdict.NOT_JUDGED) for number in (OF_1, BOUND) for name in ("time_s", "warm_s")),
    # Without a number of either side.
    *((number, OURS, None, Verdict.NOT_PUBLISHED) for number in (None, ABSENT)),
    (OF_1, dataclasses.replace(OURS, mean=None), None, Verdict.NOT_RUN),
    (OF_1, cell("cost", 1.0, complete=False), None, Verdict.NOT_RUN),
    (BOUND, OURS, None, Verdict.DIFFERS),
    # What a limit stopped was run.
    *((printed("-1", -1.0), stopped, None, Verdict.STOPPED) for stopped in STOPPED),
    # A lower bound decides only above the printed number.
    (printed("17", 17.0), USED_UP, None, Verdict.DIFFERS),
    *((printed(text, float(text)), USED_UP, None, Verdict.STOPPED) for text in ("1700", "2000")),
    (printed("1600", 1600.0), USED_UP, 100.0, Verdict.STOPPED),
]


@pytest.mark.parametrize(("published", "ours", "error", "verdict"), CASES)
def test_a_printed_number_and_ours_have_a_verdict(published, ours, error, verdict):
    assert verdict_for(published, ours, error) is verdict


def test_close_is_a_quarter_of_what_is_at_stake():
    assert closeness(printed("95.5%", 0.955, stake=0.04), "quality") == pytest.approx(0.01)
    assert closeness(printed("95.5%", 0.955, stake=0.9), "quality") == 0.05
    assert closeness(printed("-82407", -82407.0, stake=79150.0), "cost") == pytest.approx(0.05 * 82407)
    # Where nothing else is printed beside it, nothing is close.
    assert closeness(printed("-100", -100.0), "cost") == 0.0
    # Face, Gaussian + polynomial: 95.5 against a printed 100, of which kernels differ by 2.9.
    axes = {"paper": "neurips2019", "table": "5", "setting": "supervised", "dataset": "face", "metric": "accuracy"}
    face = find_published(**axes, kernel="gaussian+polynomial", method="ism")
    assert face.stake == pytest.approx(0.029)
    assert verdict_for(face, cell("quality", 0.955)) is Verdict.DIFFERS
    # Pima, KNCA: .67 against .71, where the learner without a kernel has .68.
    pima = {"paper": "kpca_trick", "table": "1", "setting": "classification", "dataset": "pima", "metric": "accuracy"}
    knca = find_published(**pima, kernel="cross_validated", method="knca")
    assert verdict_for(knca, cell("quality", 0.67)) is Verdict.DIFFERS


def test_the_stake_is_of_one_kernel_for_costs_of_all_for_shares():
    four = {"paper": "neurips2019", "table": "4", "setting": "supervised"}
    axes = four | {"dataset": "cancer", "method": "ism", "kernel": "polynomial"}
    costs = find_published(**axes, metric="cost")
    assert costs.stake == pytest.approx((1894 - 1690) * 1000.0)
    assert find_published(**axes, metric="accuracy").stake == pytest.approx(0.001)
    assert not math.isnan(closeness(printed("", 0.0), "cost"))
    # Wine, Gaussian, GM: printed -1307 +- 25, ours -1311.8 +- 26; the mean varies by .56 over redrawn partitions.
    axes, ours = four | {"dataset": "wine", "kernel": "gaussian"}, cell("cost", -1311.8, 26.0)
    printed_gm, printed_ism = (find_published(**axes, method=name, metric="cost") for name in ("gm", "ism"))
    assert verdict_for(printed_gm, ours, 0.56) is verdict_for(printed_gm, ours, None) is Verdict.CLOSE
    assert verdict_for(printed_ism, ours, 0.56) is Verdict.REPRODUCED
    # Printed 95.0 %, ours 98.3 %: sd of the mean .004, of the folds .05.
    accuracy = find_published(**axes, method="ism", metric="accuracy")
    assert verdict_for(accuracy, cell("quality", 0.983, 0.03), 0.004) is Verdict.DIFFERS
