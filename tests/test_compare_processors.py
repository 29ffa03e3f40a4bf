"""What the comparison of records between processors takes for the same, and what not."""

import pandas as pd
import pytest
import yaml

from compare_processors import ROOT, differences, solvers_by_steps

AXES = ["dataset", "method", "run"]


def rows(**changes):
    row = {"dataset": "wine", "method": "ism", "run": 0, "status": "converged", "cost": -100.0, "quality": 0.9}
    row |= {"stationarity": 1e-5, "curvature": 1e-4}
    return pd.DataFrame([row | changes])


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"cost": -100.0 * (1 + 5e-10)}, True),
        ({"cost": -100.0 * (1 + 2e-9)}, False),
        ({"cost": float("nan")}, False),
        ({"status": "stalled"}, False),
        ({"run": 1}, False),
    ],
)
def test_a_row_that_differs_is_found(changes, same):
    words, _ = differences(rows(), rows(**changes), AXES)
    assert (not words) == same


def test_gradient_methods_may_differ_within_their_certificates():
    # s^2 / (2 c) = 1e-10 / 2e-4 = 5e-7.
    for gap, same in ((4e-7, True), (6e-7, False)):
        words, largest = differences(rows(), rows(cost=-100.0 * (1 + gap)), AXES, by_steps=["ism"])
        assert (not words) == same
        assert largest["cost"] == pytest.approx(gap, rel=1e-5)


def test_without_a_certificate_costs_must_agree():
    one, other = (rows(cost=cost, curvature=float("nan")) for cost in (-100.0, -100.00001))
    assert differences(one, other, AXES, by_steps=["ism"])[0]


def test_solvers_of_the_family_of_ism_are_compared_strictly():
    loose = solvers_by_steps(yaml.safe_load((ROOT / "config.yaml").read_text()))
    assert {"sm", "dg_converged", "gm"} <= set(loose)
    assert not {"ism", "ism_converged", "ism_random"} & set(loose)
