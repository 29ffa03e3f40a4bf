"""Runs of baselines, well-behaved and not."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.svm import SVC

from kdrbench.baselines import build_baseline
from kdrbench.datasets import load_dataset
from kdrbench.suite.engine.isolation.supervisor import SupervisionError
from kdrbench.suite.systems.ikdr.baseline_run import make_baseline_run
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.folds import make_fold
from support.one_batch import LIMITS, SHORT, context_of, files_in, grid_of, run_batch

# Far above what a solve takes, also on a busy machine: repeated solves are looked at.
REPEAT_FOR_S = 0.3


def batch_of(method, *, folds=1):
    solvers, baselines = {"ism": {"method": "ism"}}, {"it": {"method": method}}
    batches = grid_of(solvers=solvers, baselines=baselines, runs_per_job=folds).batches()
    return next(batch for batch in batches if batch.cell == ("none", "it"))


@pytest.fixture
def files(tmp_path):
    return files_in(tmp_path)


def run(method, files, *, limits=LIMITS, repeat_for_s=0.0, **options):
    return run_batch(batch_of(method, **options), load_dataset("wine"), context_of(limits, repeat_for_s), files)


def accuracy_by_hand(number):
    fold = make_fold(load_dataset("wine"), number, 10, 0)
    reduction = PCA(4).fit(fold.train_features)
    machine = SVC(gamma="auto").fit(reduction.transform(fold.train_features), fold.train_labels)
    return np.mean(machine.predict(reduction.transform(fold.test_features)) == fold.test_labels)


def test_a_baseline_leaves_a_row_a_fold_without_a_cost(files):
    records = run("pca_svm", files, folds=2, repeat_for_s=REPEAT_FOR_S)
    assert [record.axes for record in records] == [("table4_supervised", "wine", "none", "it", n) for n in (0, 1)]
    for number, record in enumerate(records):
        assert (record.status, record.message, record.repeats >= 1) == ("converged", "fitted", True)
        assert 0 < record.time_s < record.provenance.wall_s
        assert record.cpu_s > 0
        assert (record.quality_metric, record.quality) == ("accuracy", accuracy_by_hand(number))
        assert (record.cost, record.feasibility, record.stationarity, record.iterations) == (None,) * 4
        assert (record.value_calls, record.surrogate_calls, record.evaluation) == (None,) * 3
        assert (record.n_train, record.n_test, record.n_components) == (160, 18, 4)
    assert records[0].provenance.batch_sha256 == batch_of("pca_svm", folds=2).sha256
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
    (record,) = run(f"support.misbehaving:{baseline}", files, limits=limits)
    assert (record.status, record.message.startswith(message)) == (status, True), record.message
    assert record.provenance.wall_s < limits.time_s + 1.0
    assert record.cost is None
    # A fit that ended is scored, as a solver's last iterate is; the rest has no quality.
    assert (record.quality is not None) == (baseline == "FitsTooLong")
    if status == "time_limit":
        assert record.time_s >= limits.time_s


def test_a_package_that_is_not_there_is_no_row(files):
    with pytest.raises(SupervisionError, match="the bench failed within the run"):
        run("support.misbehaving:FitsWithWhatIsNotThere", files)
    assert not files.records.exists()


def test_every_fit_of_a_fold_has_the_same_randomness():
    dataset, cell = load_dataset("wine"), CellDefinition.of(batch_of("svm"))
    draws = []
    for number in (0, 0, 1):
        fold = make_fold(dataset, number, 10, cell.seed)
        run = make_baseline_run(cell, build_baseline({"method": "svm"}), number, fold)
        draws.append([run.rng().integers(2**62) for _ in range(2)])
    assert draws[0] == draws[1] == [draws[0][0]] * 2
    assert draws[2] != draws[0]
