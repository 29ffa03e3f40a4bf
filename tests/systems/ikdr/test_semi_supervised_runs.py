"""Batches of semi-supervised learning: what is shown, what is judged, and that nothing else is known."""

from dataclasses import replace

import numpy as np
import pytest

from kdrbench.baselines import build_baseline
from kdrbench.datasets import load_dataset
from kdrbench.errors import InputError
from kdrbench.solvers import IterationMonitor, build_solver, make_start
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.seeds import rng_of
from kdrbench.suite.systems.ikdr.baseline_run import make_baseline_run
from kdrbench.suite.systems.ikdr.clustering_run import make_clustering_run
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.folds import whole, with_hidden_labels
from kdrbench.suite.systems.ikdr.scores import normalised_mutual_information
from support.one_batch import arrays_in, batches_on_all_rows, context_of, files_in, referee_in, run_batch

LIMITS = Limits(time_s=600.0, memory_mib=512)
CHANGES = {
    "paradigm_params": {"degrees": "embedding"},
    "shown": 0.05,
    "baselines": ["label_spreading", "spectral_clustering"],
    "folds": 3,
    "runs_per_job": 3,
}


def batches(**changes):
    return batches_on_all_rows("semi_supervised", "wine", 4, **(CHANGES | changes))


def cell_of(method="it", **changes):
    return CellDefinition.of(batches(**changes)[method])


@pytest.mark.parametrize(
    ("shown", "counts"), [(0.05, [3, 4, 2]), (0.001, [1, 1, 1]), (7, [7, 7, 7]), (50, [50, 50, 48])]
)
def test_a_number_or_a_share_of_each_class_is_shown(shown, counts):
    labels = load_dataset("wine").labels
    fold = with_hidden_labels(whole(load_dataset("wine")), shown, np.random.default_rng(0))
    assert np.bincount(labels[fold.shown]).tolist() == counts
    np.testing.assert_array_equal(fold.partial_labels, np.where(fold.shown, labels, -1))
    np.testing.assert_array_equal(fold.judged, ~fold.shown)
    assert fold.columns["n_test"] == 178 - sum(counts)
    with pytest.raises(InputError, match="shown is 100: of 178 samples in 3 classes 178 labels are shown"):
        with_hidden_labels(whole(load_dataset("wine")), 100, np.random.default_rng(0))


def test_each_run_is_a_draw_and_all_methods_have_the_same():
    dataset = load_dataset("wine")
    draws = [cell_of(method).fold(dataset, number).shown for number in (0, 1) for method in ("it", "label_spreading")]
    np.testing.assert_array_equal(draws[0], draws[1])
    np.testing.assert_array_equal(draws[2], draws[3])
    assert (draws[0] != draws[2]).any()
    expected = with_hidden_labels(whole(dataset), 0.05, rng_of("shown", "wine", 0, 0))
    np.testing.assert_array_equal(draws[0], expected.shown)


def with_other_hidden_labels(fold):
    """The same fold, but that the hidden labels are dealt out again."""
    labels = fold.train_labels.copy()
    labels[fold.judged] = np.random.default_rng(1).permutation(labels[fold.judged])
    assert (labels != fold.train_labels).any()
    return replace(fold, train_labels=labels)


@pytest.mark.parametrize("method", ["label_spreading", "spectral_clustering"])
def test_a_baseline_cannot_read_what_is_hidden(tmp_path, method):
    cell = cell_of(method)
    fold, found = cell.fold(load_dataset("wine"), 0), []
    for number, samples in enumerate((fold, with_other_hidden_labels(fold))):
        folder = tmp_path / str(number)
        folder.mkdir()
        run, referee = make_baseline_run(cell, build_baseline(cell.method), 0, samples), referee_in(folder)
        list(run.run(referee))
        found.append(np.load(referee.files.array("labels")))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("solver", [{"method": "ism"}, {"method": "ism_safeguarded", "rounds": "converged"}])
def test_a_solver_cannot_read_what_is_hidden(solver):
    cell = cell_of(solvers={"it": solver})
    fold, found = cell.fold(load_dataset("wine"), 0), []
    for samples in (fold, with_other_hidden_labels(fold)):
        run = make_clustering_run(cell, build_solver(cell.method), 512.0, 0, samples)
        assert np.isnan(run.known[samples.judged]).all()
        task = run._task()
        start = make_start("surrogate", task.first_problem(run.kernel), 4, np.random.default_rng(0))
        found.append(task.learn(run.kernel, run.solver, start, IterationMonitor).projection)
    np.testing.assert_array_equal(*found)


def test_what_is_shown_is_learned_from():
    # Else the tests above would hold for clusters that know nothing.
    cell, dataset = cell_of(), load_dataset("wine")
    first = make_clustering_run(cell, build_solver(cell.method), 512.0, 0, cell.fold(dataset, 0))
    second = make_clustering_run(cell, build_solver(cell.method), 512.0, 0, cell.fold(dataset, 1))
    costs = [-run.objective().value(np.eye(13)[:, :4]) for run in (first, second)]
    assert abs(costs[0] - costs[1]) > 1e-6 * abs(costs[0])
    shown = first.fold.shown
    np.testing.assert_array_equal(first.known[shown], np.eye(3)[dataset.labels[shown]])


def test_records_are_judged_by_the_hidden_rows(tmp_path):
    dataset, cell = load_dataset("wine"), cell_of()
    files = files_in(tmp_path)
    records = run_batch(batches()["it"], dataset, context_of(LIMITS), files)
    arrays = arrays_in(files)
    assert [record.run for record in records] == [0, 1, 2]
    for record in records:
        hidden = cell.fold(dataset, record.run).judged
        labels = arrays[f"wine/gaussian/it/labels_{record.run}"]
        expected = normalised_mutual_information(dataset.labels[hidden], labels[hidden])
        assert (record.paradigm, record.quality_metric, record.status) == ("semi_supervised", "nmi", "converged")
        assert (record.quality, record.n_train, record.n_test) == (expected, 178, hidden.sum())
        assert 0.7 < record.quality < 1.0


def test_a_converged_row_shows_the_joint_residual(tmp_path):
    batch = batches(solvers={"it": {"method": "ism_safeguarded", "tolerance": 1e-6, "rounds": "converged"}}, folds=1)[
        "it"
    ]
    assert batch.definition["parameters"]["rule"] == "joint"
    (record,) = run_batch(batch, load_dataset("wine"), context_of(LIMITS), files_in(tmp_path))
    (plain,) = run_batch(batches(folds=1)["it"], load_dataset("wine"), context_of(LIMITS), files_in(tmp_path / "plain"))
    assert (record.status, plain.status) == ("converged", "converged")
    assert record.stationarity <= 1e-6 < plain.stationarity
    assert record.cost <= plain.cost
    assert record.rounds > plain.rounds
