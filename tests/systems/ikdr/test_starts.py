"""Solvers that are run from several random starts, and the number of components by the largest gap of each run."""

import numpy as np
import pytest

from kdrbench.datasets import load_dataset
from kdrbench.kernels import build_kernel
from kdrbench.paradigms import build_task
from kdrbench.solvers import Monitor, Status, solve
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.publish import read_points
from kdrbench.suite.engine.run_files import RunFiles, read_array, read_trace
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.folds import Sampling, Split
from kdrbench.suite.systems.ikdr.monitor import PROJECTION, ProjectionMonitor
from kdrbench.suite.systems.ikdr.system import may_draw_starts
from support.configs import ikdr_config
from support.helpers import random_projection, small_problem
from support.one_batch import (
    IKDR,
    arrays_in,
    batch_of,
    batches_on_all_rows,
    context_of,
    files_in,
    referee_in,
    run_batch,
)

LIMITS = Limits(time_s=60.0, memory_mib=512)
DG = {"variant": "published", "start": "random"}


def record_of(method, files, limits=LIMITS, repeat_for_s=0.0, **options):
    batch = batch_of(method, options=options)
    (record,) = run_batch(batch, load_dataset("wine"), context_of(limits, repeat_for_s), files)
    return record, read_points(files.traces).get(("wine/gaussian/it", 0), [])


def test_cells_that_may_draw_further_starts_have_their_revision():
    batches = load_grid(ikdr_config()).batches("scaling_d")
    drawing = {(batch.dataset, *batch.cell) for batch in batches if "start/portfolio" in batch.revisions}
    # Not with 10 or 20 features, where the tangent space is small.
    names = [f"scaling-d{count}-1000" for count in (40, 80, 160, 320, 640)]
    assert drawing == {(name, "polynomial", "ism_converged") for name in names}


def test_who_draws_further_starts():
    for options, kernel, may_draw in (
        ({}, {"family": "gaussian"}, False),
        ({}, {"family": "combination", "members": [{"family": "polynomial"}]}, True),
        ({"portfolio": 5}, {"family": "gaussian"}, True),
        ({"portfolio": 1}, {"family": "polynomial"}, False),
    ):
        method = {"method": "ism_safeguarded", **options}
        definition = {"method": method, "paradigm": "supervised", "starts": 1, "n_components": 4, "kernel": kernel}
        assert may_draw_starts(definition, 100) == may_draw
        for other in ({"starts": 4}, {"paradigm": "unsupervised"}, {"method": {"method": "ism"}}):
            assert not may_draw_starts(definition | other, 100)


def test_the_best_of_five_starts_counts_and_their_work_is_summed(tmp_path):
    batch = batch_of("dimension_growth", options=DG | {"starts": 5})
    run = IKDR.prepare(batch, load_dataset("wine"), context_of(LIMITS))(0)
    make, problems = run.starts(), [run.problem.fresh() for _ in range(5)]
    results = [solve(run.solver, problem, make(problem), Monitor()) for problem in problems]
    costs = [-run.exact.fresh().value(result.projection) for result in results]
    assert max(costs) - min(costs) > 1e-3
    record, trace = record_of("dimension_growth", files_in(tmp_path / "five"), **DG, starts=5)
    assert record.status == "converged"
    assert record.message == f"best of 5 starts: {results[int(np.argmin(costs))].message}"
    assert record.cost == pytest.approx(min(costs), rel=1e-12)
    assert (record.n_starts, record.mean_cost) == (5, pytest.approx(np.mean(costs), rel=1e-12))
    for name in ("value", "gradient", "value_gradient"):
        assert getattr(record, f"{name}_calls") == sum(getattr(one.counters, name) for one in problems)
    assert record.iterations == sum(result.iterations for result in results)
    assert trace[-1]["cost"] == pytest.approx(record.cost, rel=1e-12)
    # The first start is that of a run from one start.
    single, _ = record_of("dimension_growth", files_in(tmp_path / "one"), **DG)
    assert single.cost == pytest.approx(costs[0], rel=1e-12)
    assert (single.n_starts, single.mean_cost) == (None, None)


def test_a_short_run_repeats_all_of_its_starts(tmp_path):
    batch = batch_of("stiefel_cayley", options=DG | {"starts": 3})
    run = IKDR.prepare(batch, load_dataset("wine"), context_of(LIMITS))(0)
    starts, asked = run.starts, []

    def noted():
        make = starts()
        return lambda problem: asked.append(make(problem)) or asked[-1]

    object.__setattr__(run, "starts", noted)
    run.repeat(referee_in(tmp_path))
    run.repeat(referee_in(tmp_path))
    assert len(asked) == 6
    for first, second in zip(asked[:3], asked[3:], strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.allclose(asked[0], asked[1])


@pytest.mark.slow("every kind of start, stopped at its limit")
def test_a_limit_among_the_starts_leaves_the_best_so_far(tmp_path, monkeypatch):
    # A busy machine may come late to a start's end.
    monkeypatch.setattr("kdrbench.suite.engine.isolation.guardian.GRACE_S", 10.0)
    options = DG | {"variant": "converged", "tolerance": 1e-9, "starts": 100_000}
    record, trace = record_of("stiefel_cayley", files_in(tmp_path), Limits(2.0, 512), **options)
    assert record.status == "time_limit"
    assert record.message == "stopped at the time limit of 2 s"
    assert 1 < record.n_starts < 100_000
    assert record.cost == pytest.approx(trace[-1]["cost"], rel=1e-12)
    assert record.cost <= record.mean_cost


def test_the_monitor_keeps_the_best_result(tmp_path):
    problem, files = small_problem(), RunFiles(tmp_path)
    points = [random_projection(seed=seed) for seed in range(30)]
    costs = np.array([-problem.value(point) for point in points])
    worst, middle, best = (points[place] for place in np.argsort(costs)[[-1, 15, 0]])
    monitor = ProjectionMonitor(referee_in(tmp_path), problem, 2)
    kept = []
    for start, ended in ((worst, middle), (worst, worst), (worst, best), (middle, middle)):
        monitor.begin()
        assert monitor.keep_going(start)
        kept.append(read_array(files.array(PROJECTION)))
        monitor.end()
        monitor.accept(ended)
        kept.append(read_array(files.array(PROJECTION)))
        assert monitor.start_ended() == ((ended is middle and len(kept) == 2) or ended is best)
    for mine, expected in zip(kept, [worst, middle, middle, middle, middle, best, best, best], strict=True):
        np.testing.assert_array_equal(mine, expected)
    seen = [line.cost for line in read_trace(files.trace)]
    assert seen == sorted(seen, reverse=True)
    assert monitor.costs == [pytest.approx(-problem.value(one)) for one in (middle, worst, best, middle)]


def test_statuses_are_those_of_the_best_start(tmp_path):
    record, _ = record_of(
        "stiefel_cayley", files_in(tmp_path), start="random", starts=3, max_iterations=2, variant="published"
    )
    assert record.status == Status.MAX_ITERATIONS
    assert record.message.startswith("best of 3 starts: stationarity was ")


@pytest.mark.parametrize(("paradigm", "kernel"), [("supervised", "gaussian"), ("unsupervised", "polynomial")])
def test_a_run_has_the_q_of_its_largest_gap(paradigm, kernel, tmp_path):
    batch, dataset = batches_on_all_rows(paradigm, "wine", "eigengap", kernels=[kernel])["it"], load_dataset("wine")
    cell, fold = CellDefinition.of(batch), Sampling(Split.NONE, 1).fold(dataset, 0, 0)
    known = fold.train_labels if paradigm == "supervised" else None
    task = build_task(cell.paradigm, cell.parameters, fold.train_features, known)
    problem = task.first_problem(build_kernel(cell.kernel, fold.train_features, 3))
    # The place of the largest gap of the positive eigenvalues, from nothing but Phi_0.
    values = np.sort(np.linalg.eigvalsh(problem.initial_surrogate()))[::-1]
    positive = [q for q in range(1, len(values)) if values[q - 1] > 1e-9 * values[0]]
    expected = max(positive, key=lambda q: values[q - 1] - values[q])
    (record,) = run_batch(batch, dataset, context_of(), files_in(tmp_path))
    assert (record.status, record.n_components) == ("converged", expected)
    assert arrays_in(files_in(tmp_path))[f"wine/{kernel}/it/projection_0"].shape == (13, expected)
