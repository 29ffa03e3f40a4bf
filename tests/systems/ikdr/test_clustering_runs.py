"""Runs of alternations and of clustering baselines, well-behaved and not; alternative and semi-supervised ones."""

from dataclasses import replace

import numpy as np
import pytest

from kdrbench.baselines import build_baseline
from kdrbench.datasets import Dataset, load_dataset
from kdrbench.errors import InputError
from kdrbench.paradigms import cluster_rows
from kdrbench.paradigms.embedding import mutual_information
from kdrbench.solvers import Monitor, build_solver, make_start
from kdrbench.solvers.base import FEASIBILITY_BOUND
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.publish import read_points
from kdrbench.suite.engine.seeds import rng_of
from kdrbench.suite.systems.ikdr import clustering_run
from kdrbench.suite.systems.ikdr.baseline_run import make_baseline_run
from kdrbench.suite.systems.ikdr.clustering_run import make_clustering_run
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.folds import Sampling, Split, with_hidden_labels
from support.one_batch import arrays_in, batches_on_all_rows, context_of, files_in, referee_in, run_batch

LIMITS = Limits(time_s=600.0, memory_mib=512)
REPEAT_FOR_S = 0.3


def batch_of(method, **changes):
    return batches_on_all_rows("unsupervised", "wine", 4, **({"solvers": {"it": {"method": method}}} | changes))["it"]


def baseline_batch(method):
    return batch_of(method, solvers=["ism"], baselines={"it": {"method": method}})


@pytest.fixture
def files(tmp_path):
    return files_in(tmp_path)


def run(batch, files, limits=LIMITS, repeat_for_s=0.0):
    return run_batch(batch, load_dataset(batch.dataset), context_of(limits, repeat_for_s), files)


def trace_of(files):
    return read_points(files.traces)["wine/gaussian/it", 0]


def test_ism_plus_table_6_on_wine_comes_out_of_a_batch(files):
    (record,) = run(batch_of("ism"), files, repeat_for_s=REPEAT_FOR_S)
    assert (record.status, record.message) == ("converged", "eigenvalues settled to 0.01")
    # Printed: -39.1, .88. To more digits by tests/paradigms/test_alternation.py.
    assert record.cost == pytest.approx(-39.082, abs=0.0006)
    assert record.quality == pytest.approx(0.878, abs=0.0006)
    assert (record.quality_metric, record.paradigm, record.split) == ("nmi", "unsupervised", "none")
    assert (record.run, record.n_train, record.n_test, record.n_components) == (0, 178, 0, 4)
    assert (record.rounds, record.uses_degrees) == (2, True)
    assert record.iterations > 2
    assert record.evaluation.startswith("dense: 178 samples")
    assert (record.value_calls, record.surrogate_calls) == (None, None)
    assert record.feasibility < FEASIBILITY_BOUND
    assert record.stationarity < 0.05
    assert record.repeats > 1
    assert 0 < record.time_s < record.provenance.wall_s
    trace = trace_of(files)
    assert trace[-1]["cost"] == pytest.approx(record.cost, rel=1e-12)
    # A figure of traces ends where a table says: at the first solve.
    assert trace[-1]["time_s"] == record.time_s
    assert [point["time_s"] for point in trace] == sorted(point["time_s"] for point in trace)
    # Start and iterates of both rounds, their two results, and what came out at the end.
    assert len(trace) == record.iterations + 3


@pytest.mark.parametrize(
    ("solver", "seconds", "status", "message"),
    [
        ("Raises", 60.0, "failed", "ZeroDivisionError: the step length is 0/0"),
        ("LiesAndGoesOn", 60.0, "failed", "InputError: the iterate is not orthonormal"),
        ("NeverEnds", 0.5, "time_limit", "stopped at the time limit of 0.5 s"),
        ("Sleeps", 0.5, "time_limit", "killed at the time limit of 0.5 s"),
    ],
)
def test_a_bad_solver_inside_an_alternation_leaves_its_row(files, solver, seconds, status, message):
    (record,) = run(batch_of(f"support.misbehaving:{solver}"), files, Limits(seconds, 256))
    assert record.status == status
    assert record.message.startswith(message)
    assert record.provenance.wall_s < seconds + 1.0
    if status == "time_limit":
        assert record.time_s >= seconds
    trace = trace_of(files)
    assert len(trace) >= 1
    # The last projection that the referee passed has an objective and gives clusters.
    assert record.cost == pytest.approx(trace[-1]["cost"], rel=1e-12)
    assert 0 <= record.quality <= 1
    assert (record.rounds, record.uses_degrees) == (None, None)


@pytest.mark.whole
def test_the_limit_is_that_of_all_rounds_together(files, monkeypatch):
    # A busy machine may come late to a round's end.
    monkeypatch.setattr("kdrbench.suite.engine.isolation.guardian.GRACE_S", 10.0)
    # Each round is short and differs from the one before; there are more of them than time.
    batch = batch_of("support.misbehaving:Wanders", paradigm_params={"tolerance": 1e-300, "max_rounds": 10**9})
    (record,) = run(batch, files, Limits(2.0, 256))
    assert (record.status, record.message) == ("time_limit", "stopped at the time limit of 2 s")
    assert 2.0 <= record.time_s < 12.0
    trace = trace_of(files)
    assert len(trace) > 20


def test_without_degrees_the_cost_is_that_of_the_alternation(files):
    batch = batch_of("ism", kernels=["squared"])
    (record,) = run(batch, files)
    assert record.uses_degrees is False
    cell = CellDefinition.of(batch)
    fold = cell.fold(load_dataset("wine"), 0)
    alone = make_clustering_run(cell, build_solver({"method": "ism"}), 512.0, 0, fold)
    task = alone._task()
    start = make_start("surrogate", task.first_problem(alone.kernel), 4, np.random.default_rng(0))
    learned = task.learn(alone.kernel, alone.solver, start, Monitor)
    assert record.cost == pytest.approx(-learned.objective, rel=1e-10)


@pytest.mark.parametrize(("method", "nmi"), [("pca_spectral_clustering", 0.835), ("spectral_clustering", None)])
def test_clustering_baselines_leave_a_row_with_their_nmi(files, method, nmi):
    (record,) = run(baseline_batch(method), files, Limits(60.0, 1024), REPEAT_FOR_S)
    assert (record.status, record.message, record.kernel) == ("converged", "clustered", "none")
    assert record.quality_metric == "nmi"
    # Printed in ISM+ Table 6: .835; spectral clustering depends on the seed (docs/baselines.md).
    assert nmi is None or record.quality == pytest.approx(nmi, abs=0.0006)
    assert record.quality > 0.8
    assert (record.cost, record.iterations, record.rounds) == (None,) * 3
    assert record.repeats > 1
    assert files.traces.read_text() == ""


def test_a_bad_clustering_baseline_leaves_its_row(files):
    (record,) = run(baseline_batch("support.misbehaving:ClustersTooFew"), files)
    message = "InputError: the baseline predicted labels of shape (2,) for 178 samples"
    assert (record.status, record.message) == ("failed", message)
    assert (record.quality_metric, record.quality, record.cost) == ("nmi", None, None)


@pytest.mark.parametrize(
    ("changes", "seeds"),
    [
        ({"start": "completed"}, {0, 1}),
        ({"paradigm_params": {"degrees": "none", "clusters": "kernel", "first": "relative"}}, {0, 1}),
        ({}, {0}),
    ],
)
def test_what_the_authors_leave_to_chance_is_drawn_with_k_means(files, monkeypatch, changes, seeds):
    used = set()

    def noted(embedding, seed=0):
        used.add(seed)
        return cluster_rows(embedding, seed)

    monkeypatch.setattr(clustering_run, "cluster_rows", noted)
    records = run(batch_of("ism", split="subsets", folds=2, rows={"wine": 178}, **changes), files)
    assert {record.status for record in records} == {"converged"}
    assert used == seeds


def alternative_batch(dataset, asked, components=2):
    return batches_on_all_rows("alternative", dataset, components, labellings={dataset: asked})["it"]


@pytest.mark.parametrize("sought", ["short side", "classes"])
def test_the_other_labelling_is_found_and_scored(tmp_path, sought):
    asked = {"given": "classes", "sought": sought}
    batch = alternative_batch("four-gaussians", asked, components=3)
    files = files_in(tmp_path)
    dataset = load_dataset("four-gaussians")
    (record,) = run_batch(batch, dataset, context_of(LIMITS), files)
    assert (record.paradigm, record.quality_metric, record.status) == ("alternative", "nmi", "converged")
    # Halves of the long side are given, those of the short one are found, whatever is said to be sought.
    assert (record.quality > 0.9) == (sought == "short side")
    assert record.nmi_given < 0.01
    labellings = {"classes": dataset.labels, "short side": dataset.labelling("short side").codes}
    arrays = arrays_in(files)
    labels = arrays["four-gaussians/gaussian/it/labels_0"]
    assert arrays["four-gaussians/gaussian/it/projection_0"].shape == (3, 3)
    np.testing.assert_array_equal(arrays["four-gaussians/gaussian/it/given_0"], dataset.labels)
    # What is kept is what was scored.
    assert record.quality == mutual_information(labellings[sought], labels)
    assert record.nmi_given == mutual_information(labellings["classes"], labels)


def test_data_without_classes_are_given_the_clusters_found_first():
    # Two columns of two groups each; the first pair lies farther apart, so it is what spectral clustering finds.
    rng = np.random.default_rng(0)
    codes = np.array([(i // 2 % 2, i % 2) for i in range(80)])
    features = codes * [9.0, 6.0] + 0.5 * rng.standard_normal((80, 2))
    # Standardised columns weigh the same, and so the first is put in twice.
    features = np.column_stack([features, features[:, 0] + 0.5 * rng.standard_normal(80)])
    nameless = Dataset("flower", features, np.zeros(0, dtype=np.int64), ("a", "b", "c"), ())
    batch = alternative_batch("flower", {"given": "clusters", "n_clusters": 2})
    cell = CellDefinition.of(batch)
    assert (cell.parameters, cell.labellings) == ({"n_clusters": 2}, {"given": "clusters"})
    run = make_clustering_run(
        cell, build_solver({"method": "ism"}), 512.0, 0, Sampling(Split.NONE, 1).fold(nameless, 0, 0)
    )
    assert mutual_information(run.given, codes[:, 0]) == pytest.approx(1.0)
    assert run.fold.train_features.shape == (80, 3)
    assert run.fold.columns["n_train"] == 80


def test_as_many_clusters_as_the_sought_labelling_has_classes():
    for given, sought, n_classes in (("classes", "pose", 4), ("pose", "classes", 20)):
        batch = alternative_batch("face", {"given": given, "sought": sought}, components=20)
        assert batch.definition["parameters"]["n_clusters"] == n_classes


HALF_SHOWN = {
    "paradigm_params": {"degrees": "embedding"},
    "shown": 0.05,
    "baselines": ["label_spreading", "spectral_clustering"],
    "folds": 3,
    "runs_per_job": 3,
}


def partly_shown(**changes):
    return batches_on_all_rows("semi_supervised", "wine", 4, **(HALF_SHOWN | changes))


def cell_of(method="it", **changes):
    return CellDefinition.of(partly_shown(**changes)[method])


def test_a_number_or_a_share_of_each_class_is_shown():
    labels, every = load_dataset("wine").labels, Sampling(Split.NONE, 1).fold(load_dataset("wine"), 0, 0)
    for shown, counts in ((0.05, [3, 4, 2]), (0.001, [1, 1, 1]), (7, [7, 7, 7]), (50, [50, 50, 48])):
        fold = with_hidden_labels(every, shown, np.random.default_rng(0))
        assert np.bincount(labels[fold.shown]).tolist() == counts
        np.testing.assert_array_equal(fold.partial_labels, np.where(fold.shown, labels, -1))
        np.testing.assert_array_equal(fold.judged, ~fold.shown)
        assert fold.columns["n_test"] == 178 - sum(counts)
    with pytest.raises(InputError, match="shown is 100: of 178 samples in 3 classes 178 labels are shown"):
        with_hidden_labels(every, 100, np.random.default_rng(0))


def test_each_run_is_a_draw_and_all_methods_have_the_same():
    dataset = load_dataset("wine")
    draws = [cell_of(method).fold(dataset, number).shown for number in (0, 1) for method in ("it", "label_spreading")]
    np.testing.assert_array_equal(draws[0], draws[1])
    np.testing.assert_array_equal(draws[2], draws[3])
    assert (draws[0] != draws[2]).any()
    expected = with_hidden_labels(Sampling(Split.NONE, 1).fold(dataset, 0, 0), 0.05, rng_of("shown", "wine", 0, 0))
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
        found.append(task.learn(run.kernel, run.solver, start, Monitor).projection)
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
    records = run_batch(partly_shown()["it"], dataset, context_of(LIMITS), files)
    arrays = arrays_in(files)
    assert [record.run for record in records] == [0, 1, 2]
    for record in records:
        hidden = cell.fold(dataset, record.run).judged
        labels = arrays[f"wine/gaussian/it/labels_{record.run}"]
        expected = mutual_information(dataset.labels[hidden], labels[hidden])
        assert (record.paradigm, record.quality_metric, record.status) == ("semi_supervised", "nmi", "converged")
        assert (record.quality, record.n_train, record.n_test) == (expected, 178, hidden.sum())
        assert 0.7 < record.quality < 1.0


def test_a_converged_row_shows_the_joint_residual(tmp_path):
    converged = {"method": "ism_safeguarded", "tolerance": 1e-6, "rounds": "converged"}
    batch, other = (partly_shown(folds=1, **changes)["it"] for changes in ({"solvers": {"it": converged}}, {}))
    assert batch.definition["parameters"]["rule"] == "joint"
    (record,) = run_batch(batch, load_dataset("wine"), context_of(LIMITS), files_in(tmp_path))
    (plain,) = run_batch(other, load_dataset("wine"), context_of(LIMITS), files_in(tmp_path / "plain"))
    assert (record.status, plain.status) == ("converged", "converged")
    assert record.stationarity <= 1e-6 < plain.stationarity
    assert record.cost <= plain.cost
    assert record.rounds > plain.rounds
