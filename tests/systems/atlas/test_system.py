"""The atlas as a system: its rows, its optima, what a run is given and may say, and faults of the configuration."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from scipy.stats import kendalltau

from kdrbench.datasets import Dataset
from kdrbench.errors import ConfigError
from kdrbench.problems import supervised_gamma
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.systems.atlas.starts_run import End, chart_ends, make_atlas_run
from kdrbench.suite.systems.atlas.system import problem_of
from kdrbench.suite.systems.ikdr.folds import Sampling, Split
from kdrbench.suite.systems.ikdr.scores import Optimality
from kdrbench.suite.systems.ikdr.solver_run import SolverRun
from support.configs import whole_config
from support.one_batch import arrays_in, files_in
from support.system_cases import LIMITS, data_of, job_of


def config_of(kernel="linear", solvers=("ism", "ism_converged"), folds=2, components=2, seed=0, **changes):
    """An atlas of one kernel on folds of Wine, or on all rows where there is one fold."""
    config = whole_config()
    one = config["experiments"]["table4_supervised"] | {"datasets": ["wine"], "kernels": [kernel], "folds": folds}
    one["components"] = {"wine": components}
    if folds == 1:
        one = {key: value for key, value in one.items() if key != "folds"} | {"split": "none"}
    small = {"datasets": ["wine"], "cells_of": ["one"], "starts": 3, "draws": 1, "solvers": list(solvers)}
    atlas = config["experiments"]["atlas"] | small | changes
    return config | {"run": ["atlas"], "seed": seed, "experiments": {"atlas": atlas, "one": one}}


def batch_of(**changes):
    (batch,) = load_grid(config_of(**changes)).batches()
    return batch


def test_every_problem_solver_and_draw_leaves_a_row(tmp_path):
    records = job_of(batch_of(draws=2), data_of("wine"), tmp_path)
    assert [record.axes for record in records] == [
        ("atlas", "wine", "one", "linear", run, solver) for run in range(4) for solver in ("ism", "ism_converged")
    ]
    for record in records:
        assert (record.status, record.n_starts, record.n_ended) == ("converged", 3, 3)
        assert (record.draw, record.problem_run) == divmod(record.run, 2)
        assert (record.n_train, record.n_test, record.n_features, record.n_components) == (89, 89, 13, 2)
        assert 0.0 <= record.lowest_quality <= record.highest_quality <= 1.0
        # The problem is that of the charted experiment.
        assert record.problem == problem_of(config_of(), "one", "wine", "linear", record.problem_run)
    # Both draws are of the same problems.
    assert len({record.problem for record in records}) == 2


def test_certified_optima_of_a_linear_kernel_are_global(tmp_path):
    record = job_of(batch_of(), data_of("wine"), tmp_path)[1]
    fold = Sampling(Split.FOLDS, 2).fold(data_of("wine"), 0, 0)
    gamma = supervised_gamma(fold.train_labels).dense()
    # max Tr(W' X' Gamma X W) is the sum of the largest eigenvalues.
    values = scipy.linalg.eigvalsh(fold.train_features.T @ gamma @ fold.train_features)[::-1]
    assert record.best_cost == pytest.approx(-values[:2].sum(), rel=1e-10)
    assert (record.n_optima, record.n_known, record.n_certified) == (1, 1, 3)
    assert (record.share_at_best, record.share_near_best, record.leading_at_best) == (1.0, 1.0, True)
    assert record.largest_gap == pytest.approx(0.0, abs=1e-12)


def two_wells():
    """Two classes, each on an axis: projected to either axis they are apart, to a diagonal on top of each other."""
    half = np.array([[2.0, 0.0]]) + 0.4 * np.random.default_rng(0).standard_normal((24, 2))
    points = np.vstack([half, half[:, ::-1], -half, -half[:, ::-1]])
    return Dataset("wine", points, np.repeat([0, 1, 0, 1], 24), ("x0", "x1"), ("0", "1"))


def test_two_symmetric_basins_are_found_with_the_same_cost(tmp_path):
    dataset = two_wells()
    batch = batch_of(kernel="gaussian", solvers=["lbfgs_converged"], folds=1, components=1, starts=20)
    (record,) = job_of(replace(batch, data_sha256=dataset.content_sha256), dataset, tmp_path)
    arrays = arrays_in(files_in(tmp_path))
    optima, numbers = (arrays[f"wine/one/gaussian/{name}_0"] for name in ("optima", "optima_numbers"))
    assert (record.n_optima, record.n_known, record.n_certified, record.n_ended) == (2, 2, 20, 20)
    # Swapping the axes swaps the classes and the optima.
    angles = np.degrees(np.arctan2(optima[:, 1, 0], optima[:, 0, 0])) % 180.0
    assert angles.sum() == pytest.approx(270.0, abs=1e-3)
    assert numbers[0, 0] == pytest.approx(numbers[1, 0], rel=1e-9)
    assert numbers[:, 2].sum() == pytest.approx(1.0)
    # About half of the starts lie on either side of the diagonal; 20 throws of a coin leave 2 to 18 but in 4 of 10^5.
    assert numbers[:, 2].min() >= 0.1
    # A start that ends in the other basin has found the best cost, and is not at its projection.
    assert record.share_near_best == 1.0
    assert record.share_at_best == pytest.approx(numbers[0, 2])


def test_a_draw_has_its_own_starts_shared_by_all_solvers():
    run, other = (make_atlas_run(batch_of(draws=2), data_of("wine"), LIMITS.memory_mib, number) for number in (0, 2))
    problem = run.solvers["ism"].problem

    def made(one):
        return [start(problem) for start in one.starts()]

    first, again, second = made(run), made(run), made(other)
    assert len(first) == 4
    np.testing.assert_array_equal(first, again)
    # The papers' start is no draw.
    np.testing.assert_array_equal(first[0], second[0])
    assert all(np.abs(one - two).max() > 1e-3 for one, two in zip(first[1:], second[1:], strict=True))


def test_problems_differ_in_all_that_defines_them():
    problems = [
        problem_of(config_of(), "one", "wine", "linear", 1),
        problem_of(config_of(), "one", "wine", "linear", 0),
        problem_of(config_of(seed=1), "one", "wine", "linear", 1),
        problem_of(config_of(components=3), "one", "wine", "linear", 1),
        problem_of(config_of(kernel="gaussian"), "one", "wine", "gaussian", 1),
        problem_of(config_of(folds=3), "one", "wine", "linear", 1),
    ]
    assert len(set(problems)) == 6


def end(cost, quality=0.5, *, uses_degrees=True):
    return End(np.eye(3, 1), cost, "unknown", uses_degrees, quality)


def test_gaps_above_the_best_cost_leave_the_papers_start_out():
    ends = [end(-5.0), replace(end(-10.0), optimality=Optimality.FIRST_ORDER), end(-9.0), end(-8.0)]
    columns = chart_ends({"ism": ends})[1]["ism"]
    gaps = [columns[name] for name in ("leading_gap", "median_gap", "largest_gap")]
    assert (columns["best_cost"], gaps) == (-10.0, pytest.approx([0.5, 0.1, 0.2]))


def ranked_in(costs, qualities):
    """The columns on qualities of one solver; its first end, of the papers' start, has the lowest cost and quality."""
    of_solver = [end(-99.0, 0.0), *map(end, costs, qualities)]
    return chart_ends({"ism": of_solver})[1]["ism"]


def test_costs_and_qualities_are_correlated_by_rank():
    costs, qualities = [-10.0, -9.0, -8.0, -7.5, -7.0], [0.9, 0.95, 0.8, 0.7, 0.7]
    columns = ranked_in(costs, qualities)
    assert columns["tau"] == pytest.approx(kendalltau(costs, qualities).statistic)
    assert columns["tau_low"] <= columns["tau"] <= columns["tau_high"]
    # Without the papers' start.
    assert (columns["lowest_quality"], columns["highest_quality"]) == (0.7, 0.95)


def test_equal_costs_equal_qualities_and_few_ends_rank_nothing():
    for costs, qualities in [
        # Costs that agree as two solves to the same optimum do.
        ([-10.0, -10.0 + 1e-7, -10.0 + 2e-7, -10.0], [0.9, 0.8, 0.9, 0.7]),
        ([-10.0, -9.0, -8.0, -7.0], [0.9] * 4),
        ([-10.0, -9.0], [0.9, 0.8]),
    ]:
        columns = ranked_in(costs, qualities)
        assert "tau" not in columns
        assert columns["highest_quality"] == max(qualities)
    assert "lowest_quality" not in ranked_in([-10.0, -9.0], [None, None])


def test_ends_of_another_objective_are_not_ranked():
    ranked = [end(-10.0 + one, 0.9 - 0.1 * one) for one in range(4)]
    columns = chart_ends({"ism": [end(-99.0, 0.0), *ranked, end(-50.0, 1.0, uses_degrees=False)]})[1]["ism"]
    assert columns["tau"] == pytest.approx(-1.0)
    assert columns["highest_quality"] == 0.9


def test_what_a_solver_raises_is_its_row_and_takes_no_other(tmp_path, monkeypatch):
    solve = SolverRun.ended

    def fails(run, start, monitor):
        if run.solver.tolerance == 0.01:
            raise ValueError("no eigenvalues")
        return solve(run, start, monitor)

    monkeypatch.setattr(SolverRun, "ended", fails)
    ism, converged = job_of(batch_of(), data_of("wine"), tmp_path)[:2]
    assert (ism.status, ism.n_ended, ism.message) == ("failed", 0, "start 0: ValueError: no eigenvalues")
    assert (converged.status, converged.n_ended, converged.n_optima) == ("converged", 3, 1)


@pytest.mark.slow("a run that ends at its limit")
def test_starts_that_ended_before_the_limit_are_charted(tmp_path):
    slow = Limits(time_s=0.4, memory_mib=1024)
    batch = batch_of(kernel="polynomial", solvers=["ism_converged"], starts=4000)
    record = job_of(batch, data_of("wine"), tmp_path, limits=slow)[0]
    assert record.status == "time_limit"
    assert 0 < record.n_ended < 4000
    assert record.n_known >= 1


def test_faults_of_the_configuration_are_named():
    for changes, message in [
        ({"cells_of": ["two"]}, "atlas.cells_of: unknown experiment of ikdr 'two'"),
        ({"cells_of": ["atlas"]}, "atlas.cells_of: unknown experiment of ikdr 'atlas'"),
        ({"solvers": ["imf"]}, "atlas.solvers: unknown solver 'imf'"),
        ({"solvers": ["dg_10"]}, "'dg_10' has starts of its own; an atlas gives all the same"),
        ({"datasets": ["cancer"]}, "no experiment of cells_of has data set 'cancer'; leave it out"),
    ]:
        with pytest.raises(ConfigError, match=message):
            load_grid(config_of(**changes))
