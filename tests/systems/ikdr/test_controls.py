"""Solvers that lose to a random projection are found; others are not."""

from kdrbench.suite.systems.ikdr.controls import losing_cells
from support.configs import table_4_config
from support.made_up import record


def config_with_controls():
    config = table_4_config()
    config["solvers"]["random"] = {"method": "start_alone", "start": "random"}
    config["solvers"]["first_axes"] = {"method": "start_alone", "start": "identity"}
    config["experiments"]["table4_supervised"]["solvers"] = ["ism", "random", "first_axes"]
    return config


def rows(solver, costs, qualities, **columns):
    return [
        record("wine", solver, fold, experiment="table4_supervised", cost=cost, quality=quality, **columns)
        for fold, (cost, quality) in enumerate(zip(costs, qualities, strict=True))
    ]


RANDOM = rows("random", [-1.0, -2.0, -3.0], [0.7, 0.8, 0.75])


def test_a_solver_loses_by_cost_or_by_quality():
    for ours, lost in [
        (rows("ism", [-5.0, -5.0, -5.0], [0.9, 0.9, 0.9]), []),
        (rows("ism", [-1.0, -2.0, -2.9], [0.9, 0.9, 0.9]), ["cost"]),
        # The same costs but for rounding are no loss.
        (rows("ism", [-1.0, -2.0, -3.0 + 1e-12], [0.9, 0.9, 0.9]), []),
        (rows("ism", [-5.0, -5.0, -5.0], [0.5, 0.6, 0.56]), ["quality"]),
        # Lower on average by less than the folds differ.
        (rows("ism", [-5.0, -5.0, -5.0], [0.8, 0.7, 0.72]), []),
        (rows("ism", [-0.5, -5.0, -5.0][:1], [0.5]), ["cost", "quality"]),
        (rows("ism", [-5.0] * 3, [0.9, 0.95, 0.91], quality_metric="error"), ["quality"]),
        (rows("ism", [-0.5] * 3, [0.1] * 3, status="failed"), []),
        (rows("ism", [None, float("nan"), None], [None] * 3), []),
        (rows("ism", [-0.5] * 3, [0.1] * 3, kernel="polynomial"), []),
        # Controls may be as bad as random.
        (rows("first_axes", [-0.5] * 3, [0.1] * 3), []),
    ]:
        found = losing_cells([*ours, *RANDOM], config_with_controls())
        assert [line.removeprefix("table4_supervised/wine/gaussian/ism: ").split()[0] for line in found] == lost


def test_the_means_are_of_folds_that_both_have():
    ours = rows("ism", [-1.5, -1.5, -1.5, -9.0], [0.9] * 4)
    (cell,) = losing_cells([*ours, *RANDOM], config_with_controls())
    said = "cost -1.5 is worse than -2 of the random projection 'random', over 3 folds"
    assert cell == f"table4_supervised/wine/gaussian/ism: {said}"


def test_only_a_random_start_makes_a_random_projection():
    config = config_with_controls()
    ours = rows("ism", [-0.5] * 3, [0.1] * 3)
    config["solvers"]["random"] = {"method": "start_alone", "start": "identity"}
    assert not losing_cells([*ours, *RANDOM], config)
    del config["solvers"]["random"]["start"]
    config["experiments"]["table4_supervised"]["start"] = "random"
    assert len(losing_cells([*ours, *RANDOM], config)) == 2
