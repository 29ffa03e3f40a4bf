"""Runs of solvers and of baselines, well-behaved and not."""

import signal

import numpy as np
import psutil
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kdrbench.baselines import build_baseline
from kdrbench.datasets import load_dataset
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.kernels import build_kernel
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.solvers import Monitor, build_solver, make_start, solve
from kdrbench.solvers.base import FEASIBILITY_BOUND
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.publish import read_points
from kdrbench.suite.systems.ikdr.baseline_run import make_baseline_run
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.folds import Sampling, Split
from support.one_batch import LIMITS, SHORT, arrays_in, batch_of, context_of, files_in, grid_of, run_batch

# Far above what a solve takes, also on a busy machine: repeated solves are looked at.
REPEAT_FOR_S = 0.2
CELL = "wine/gaussian/it"


@pytest.fixture
def files(tmp_path):
    return files_in(tmp_path)


def run(method, files, *, limits=LIMITS, repeat_for_s=0.0, **options):
    return run_batch(batch_of(method, **options), load_dataset("wine"), context_of(limits, repeat_for_s), files)


def trace_of(files):
    return read_points(files.traces)[CELL, 0]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Two runs of ISM, and their files."""
    files = files_in(tmp_path_factory.mktemp("good"))
    return run("ism", files, folds=2, repeat_for_s=REPEAT_FOR_S), files


def test_a_good_run_leaves_a_full_row_and_a_trace(good):
    record, files = good[0][0], good[1]
    assert record.status == "converged"
    assert record.cost == pytest.approx(-1312, abs=60)
    assert 0.8 < record.quality <= 1.0
    assert record.feasibility < FEASIBILITY_BOUND
    assert record.stationarity < 0.01
    assert (record.optimality, record.partition, record.kernel_weights) == ("not_stationary", 0, "")
    # The process also repeats the work, which a busy machine makes longer than the limit of the first.
    assert 0 < record.time_s < min(record.provenance.wall_s, LIMITS.time_s)
    assert 0 < record.warm_s < record.provenance.wall_s
    assert record.warm_cpu_s > 0
    assert record.warm_iqr_s >= 0
    assert record.repeats > 1
    assert record.surrogate_calls == record.iterations + 1
    assert (record.n_train, record.n_test, record.n_features, record.n_components) == (160, 18, 13, 4)
    assert (record.kernel, record.method, record.paradigm, record.split) == ("gaussian", "it", "supervised", "folds")
    assert record.provenance.data_sha256 == load_dataset("wine").content_sha256
    trace = trace_of(files)
    assert trace[-1]["cost"] == pytest.approx(record.cost, rel=1e-12)
    # A figure of traces ends where a table says: at the first solve.
    assert trace[-1]["time_s"] == record.time_s
    assert [point["time_s"] for point in trace] == sorted(point["time_s"] for point in trace)


def objective_of(record):
    """The fold of a run and its objective."""
    fold = Sampling(Split.FOLDS, 10).fold(load_dataset("wine"), record.run, record.seed)
    kernel = build_kernel({"family": "gaussian"}, fold.train_features, 4)
    return fold, TraceObjective(fold.train_features, kernel, supervised_gamma(fold.train_labels))


def test_the_projections_that_were_scored_are_kept(good):
    arrays = arrays_in(good[1])
    assert set(arrays) == {f"{CELL}/projection_0", f"{CELL}/projection_1"}
    for record in good[0]:
        (fold, objective), projection = objective_of(record), arrays[f"{CELL}/projection_{record.run}"]
        assert -build_problem(objective).value(projection) == pytest.approx(record.cost, rel=1e-12)
        machine = SVC(gamma="auto").fit(fold.train_features @ projection, fold.train_labels)
        assert record.train_accuracy == machine.score(fold.train_features @ projection, fold.train_labels)


def test_an_approximately_evaluated_run_is_scored_exactly(good, files):
    record = good[0][0]
    assert record.evaluation == "dense: 160 samples; the kernel has no exact factors"
    (other,) = run("ism", files, evaluation={"evaluator": "low_rank", "tolerance": 0.1})
    assert other.evaluation == "low_rank: asked for"
    # A tenth of the kernel's trace is left out, yet the cost is that of the whole kernel.
    assert other.cost == pytest.approx(record.cost, rel=2e-2)
    assert other.provenance.batch_sha256 != record.provenance.batch_sha256
    objective = objective_of(other)[1]
    approximate = build_problem(objective, Evaluation(evaluator="low_rank", tolerance=0.1))
    start = make_start("surrogate", approximate, 4, np.random.default_rng(0))
    result = solve(build_solver({"method": "ism"}), approximate, start, Monitor())
    assert other.cost == pytest.approx(-DenseProblem(objective).value(result.projection), rel=1e-9)
    assert abs(other.cost + approximate.value(result.projection)) > 1e-3


def test_the_row_names_a_maximum_and_says_nothing_of_a_control(files, tmp_path):
    (converged,) = run("ism_safeguarded", files)
    assert (converged.optimality, converged.status) == ("second_order", "converged")
    (control,) = run("start_alone", files_in(tmp_path / "control"))
    assert control.optimality == ""
    assert control.cost is not None


def test_aligned_and_given_weights_are_in_the_row(tmp_path):
    rows = {
        kernel: run("ism", files_in(tmp_path / kernel), kernel=kernel)[0]
        for kernel in ("gaussian", "gaussian_polynomial", "gaussian_polynomial_ones")
    }
    # Centred alignment puts all weight on the Gaussian.
    assert rows["gaussian_polynomial"].kernel_weights == "1, 0"
    assert rows["gaussian_polynomial"].cost == pytest.approx(rows["gaussian"].cost, rel=1e-9)
    assert rows["gaussian_polynomial_ones"].kernel_weights == "1, 1"
    assert rows["gaussian_polynomial_ones"].cost < 50 * rows["gaussian"].cost


BAD = {
    "Sleeps": ("time_limit", "killed at the time limit of 0.5 s"),
    "ForksGrandchild": ("time_limit", "killed at the time limit of 0.5 s"),
    "NeverEnds": ("time_limit", "stopped at the time limit of 0.5 s"),
    "Allocates": ("memory_limit", "out of memory: Unable to allocate 64.0 GiB"),
    "AllocatesInChildren": ("memory_limit", "killed beyond the memory limit of 256 MiB"),
    "Raises": ("failed", "ZeroDivisionError: the step length is 0/0"),
    "IsKilled": ("failed", "ended by SIGKILL, twice"),
    "Leaves": ("failed", "ended with exit code 7 and no result"),
    "Lies": ("failed", "InputError: the result is not orthonormal"),
    "Diverges": ("failed", "InputError: the iterate holds NaN or infinite values"),
    "LiesAndGoesOn": ("failed", "InputError: the iterate is not orthonormal"),
    "TooWide": ("failed", "InputError: the iterate has 5 components, 4 were asked for"),
    "DiesOfARealTimeSignal": ("failed", "ended by signal 40"),
    "ConvergesTooLate": ("time_limit", "stopped at the time limit of 0.5 s"),
    "HasItsOwnStatus": ("failed", "InputError: HasItsOwnStatus ended with status 'fine'; allowed: converged"),
}


@pytest.mark.parametrize("solver", BAD)
def test_a_bad_run_leaves_its_row_with_the_trace_so_far(files, monkeypatch, tmp_path, solver):
    monkeypatch.setenv("GRANDCHILD_NOTE", str(tmp_path / "grandchild"))
    status, message = BAD[solver]
    # What hoards memory in children is given time to do so: it must not be the clock that ends it.
    limits = Limits(time_s=30.0, memory_mib=256) if status == "memory_limit" else SHORT
    (record,) = run(f"support.misbehaving:{solver}", files, limits=limits)
    assert (record.status, record.message[: len(message)]) == (status, message)
    assert record.provenance.wall_s < limits.time_s + 1.0
    if status == "time_limit":
        assert record.time_s >= limits.time_s
    trace = trace_of(files)
    assert len(trace) >= (1 if "Lies" in solver else 3)
    # The last iterate the referee passed is feasible, so its cost and quality are known.
    assert record.feasibility < FEASIBILITY_BOUND
    assert record.cost == pytest.approx(trace[-1]["cost"], rel=1e-12)
    assert 0 < record.quality <= 1
    if solver == "ForksGrandchild":
        assert not psutil.pid_exists(int((tmp_path / "grandchild").read_text()))


@pytest.mark.attack("signals: of a run")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_stopped_once_from_outside_is_made_again(files, tmp_path, number):
    (record,) = run("support.misbehaving:IsStoppedOnce", files, options={"note": str(tmp_path / "n"), "number": number})
    assert (record.status, record.message) == ("converged", "went well after all")


def test_all_solvers_share_splits_and_starts(good, tmp_path):
    for method in ("stiefel_cayley", "support.misbehaving:Raises"):
        files = files_in(tmp_path / method)
        run(method, files, folds=2)
        assert trace_of(files)[0]["cost"] == trace_of(good[1])[0]["cost"]


def test_a_trace_counts_the_calls_of_oracles(files):
    (record,) = run("dimension_growth", files)
    calls = [point["calls"] for point in trace_of(files)]
    counted = (record.value_calls, record.gradient_calls, record.value_gradient_calls, record.hessian_vector_calls)
    assert min(counted[:3]) > 0
    assert calls == sorted(calls)
    assert calls[-1] == sum(counted) + record.hessian_calls + record.surrogate_calls
    assert 0 < calls[1] < calls[-1]


def baseline_batch(method, *, folds=1):
    solvers, baselines = {"ism": {"method": "ism"}}, {"it": {"method": method}}
    batches = grid_of(solvers=solvers, baselines=baselines, runs_per_job=folds).batches()
    return next(batch for batch in batches if batch.cell == ("none", "it"))


def test_a_baseline_leaves_a_row_a_fold_without_a_cost(files):
    batch, dataset = baseline_batch("pca_svm", folds=2), load_dataset("wine")
    records = run_batch(batch, dataset, context_of(LIMITS, REPEAT_FOR_S), files)
    assert [record.axes for record in records] == [("table4_supervised", "wine", "none", "it", n) for n in (0, 1)]
    for number, record in enumerate(records):
        assert (record.status, record.message, record.repeats >= 1) == ("converged", "fitted", True)
        assert 0 < record.time_s < record.provenance.wall_s
        assert record.cpu_s > 0
        fold = Sampling(Split.FOLDS, 10).fold(dataset, number, 0)
        machine = make_pipeline(PCA(4), SVC(gamma="auto")).fit(fold.train_features, fold.train_labels)
        accuracy = machine.score(fold.test_features, fold.test_labels)
        assert (record.quality_metric, record.quality) == ("accuracy", accuracy)
        assert (record.cost, record.feasibility, record.stationarity, record.iterations) == (None,) * 4
        assert (record.value_calls, record.surrogate_calls, record.evaluation) == (None,) * 3
        assert (record.n_train, record.n_test, record.n_components) == (160, 18, 4)
    assert records[0].provenance.batch_sha256 == batch.sha256
    assert files.traces.read_text() == ""


@pytest.mark.parametrize(
    ("baseline", "status", "message"),
    [
        ("MisbehavingBaseline", "failed", "ZeroDivisionError: the covariance is 0/0"),
        ("FailsToPredict", "failed", "ZeroDivisionError: no sample is nearest"),
        ("PredictsTooFew", "failed", r"InputError: the baseline predicted labels of shape (2,) for 18 samples"),
        ("FitsForEver", "time_limit", "killed at the time limit of 0.5 s"),
        ("FitsTooLong", "time_limit", "stopped at the time limit of 0.5 s"),
        ("FitsTooMuch", "memory_limit", "out of memory: Unable to allocate 64.0 GiB"),
    ],
)
def test_a_bad_baseline_leaves_its_row(files, baseline, status, message):
    limits = SHORT if status == "time_limit" else LIMITS
    batch = baseline_batch(f"support.misbehaving:{baseline}")
    (record,) = run_batch(batch, load_dataset("wine"), context_of(limits), files)
    assert (record.status, record.message.startswith(message)) == (status, True), record.message
    assert record.provenance.wall_s < limits.time_s + 1.0
    assert record.cost is None
    # A fit that ended is scored, as a solver's last iterate is; the rest has no quality.
    assert (record.quality is not None) == (baseline == "FitsTooLong")
    if status == "time_limit":
        assert record.time_s >= limits.time_s


def test_every_fit_of_a_fold_has_the_same_randomness():
    cell, draws = CellDefinition.of(baseline_batch("svm")), []
    for number in (0, 0, 1):
        fold = Sampling(Split.FOLDS, 10).fold(load_dataset("wine"), number, cell.seed)
        run = make_baseline_run(cell, build_baseline({"method": "svm"}), number, fold)
        draws.append([run.rng().integers(2**62) for _ in range(2)])
    assert draws[0] == draws[1] == [draws[0][0]] * 2
    assert draws[2] != draws[0]
