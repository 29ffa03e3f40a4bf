"""Runs of alternations and of clustering baselines, well-behaved and not."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from kdrbench.datasets import load_dataset
from kdrbench.paradigms import cluster_rows
from kdrbench.solvers import IterationMonitor, build_solver, make_start
from kdrbench.solvers.base import FEASIBILITY_BOUND
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.publish import read_points
from kdrbench.suite.systems.ikdr import clustering_run
from kdrbench.suite.systems.ikdr.clustering_run import make_clustering_run
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.scores import normalised_mutual_information
from support.one_batch import batches_on_all_rows, context_of, files_in, run_batch

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


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The row of ISM on all rows, and its files."""
    files = files_in(tmp_path_factory.mktemp("good"))
    (record,) = run(batch_of("ism"), files, repeat_for_s=REPEAT_FOR_S)
    return record, files


def test_ism_plus_table_6_on_wine_comes_out_of_a_batch(good):
    record, files = good
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


def test_settings_of_the_alternation_come_from_the_experiment(good, files):
    centred, _ = good
    settings = {"centred": False, "tolerance": 1e-4, "n_clusters": 2}
    batch = batch_of("ism", paradigm_params=settings)
    assert batch.definition["parameters"] == settings
    (record,) = run(batch, files)
    assert record.message == "eigenvalues settled to 0.0001"
    assert record.cost != pytest.approx(centred.cost, rel=0.01)
    assert record.quality < 0.8


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
    learned = task.learn(alone.kernel, alone.solver, start, IterationMonitor)
    assert record.cost == pytest.approx(-learned.objective, rel=1e-10)


def test_nmi_is_by_the_geometric_mean():
    first, second = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 1])

    def entropy(labels):
        shares = np.bincount(labels) / labels.size
        return -(shares[shares > 0] * np.log(shares[shares > 0])).sum()

    expected = mutual_info_score(first, second) / np.sqrt(entropy(first) * entropy(second))
    assert normalised_mutual_information(first, second) == pytest.approx(expected, rel=1e-12)
    assert expected != pytest.approx(
        2 * mutual_info_score(first, second) / (entropy(first) + entropy(second)), rel=1e-3
    )


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


@pytest.mark.parametrize(
    ("baseline", "status", "message"),
    [
        ("FailsToCluster", "failed", "ZeroDivisionError: no sample is nearest"),
        ("ClustersTooFew", "failed", "InputError: the baseline predicted labels of shape (2,) for 178 samples"),
        ("ClustersForEver", "time_limit", "killed at the time limit of 0.5 s"),
    ],
)
def test_a_bad_clustering_baseline_leaves_its_row(files, baseline, status, message):
    (record,) = run(baseline_batch(f"support.misbehaving:{baseline}"), files, Limits(0.5, 256))
    assert (record.status, record.message.startswith(message)) == (status, True), record.message
    assert (record.quality_metric, record.quality, record.cost) == ("nmi", None, None)


def test_subsets_are_repeated_draws_of_rows(files):
    batch = batch_of("ism", split="subsets", folds=3, rows={"wine": 142})
    records = run(batch, files)
    assert [(record.run, record.n_train, record.n_test) for record in records] == [(n, 142, 0) for n in range(3)]
    assert len({record.cost for record in records}) == 3
    assert batch.definition["n_rows"] == 142


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
