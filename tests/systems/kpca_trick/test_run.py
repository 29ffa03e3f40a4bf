"""Splits of the KPCA trick as runs and as jobs: the rows of each method, whatever becomes of the split."""

import json
import time
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from kdrbench.metric_learning import DNE, KPCATrick, SamplePairs, aligned_kernel, cross_validated_kernel, learn_map
from kdrbench.status import Status
from kdrbench.suite.engine.isolation.limits import Limits, Pauses
from kdrbench.suite.engine.record import read_records
from kdrbench.suite.engine.referee import Referee, Seconds
from kdrbench.suite.engine.run import RunResult
from kdrbench.suite.engine.run_files import RunFiles
from kdrbench.suite.engine.seeds import rng_of
from kdrbench.suite.systems.kpca_trick import run as run_module
from kdrbench.suite.systems.kpca_trick.run import candidates_of, draw_split
from kdrbench.suite.systems.kpca_trick.system import KPCATrickRecord, KPCATrickSystem
from support.configs import whole_config
from support.kpca_trick_cases import iris, kpca_batch
from support.one_batch import files_in
from support.system_cases import LIMITS, job_of, results_of

GRID = whole_config()["experiments"]["kpca_tables"]["candidates"]["default"]


@cache
def columns(test_selected=False):
    """The columns of DNE in each variant on split 0."""
    results = results_of(kpca_batch(candidates=GRID, test_selected=test_selected), iris())
    assert {result.status for result in results.values()} == {"converged"}
    return {variant: result.columns for (_, variant), result in results.items()}


def accuracy(train, test, split):
    nearest = [np.argmin(np.round(((train - row) ** 2).sum(axis=1), 11)) for row in test]
    return np.mean(split.train_codes[nearest] == split.test_codes)


def test_a_split_depends_on_its_number_and_the_seed_alone():
    first, again, other, seeded = (
        draw_split(iris(), *axes) for axes in ((0, 100, 0), (0, 100, 0), (1, 100, 0), (0, 100, 1))
    )
    np.testing.assert_array_equal(first.train, again.train)
    assert not np.array_equal(first.train, other.train)
    assert not np.array_equal(first.train, seeded.train)
    assert (len(first.train), len(first.test)) == (100, 50)
    together = np.vstack([first.train, first.test])
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(iris().features, axis=0))


def test_results_with_sharing_are_those_without():
    split, grid = draw_split(iris(), 0, 100, 0), candidates_of(GRID, 4)

    def pairs():
        return SamplePairs(split.train, split.train)

    rng = rng_of("kpca folds", "iris-bundled", 0, 0)
    kernels = {
        "aligned": aligned_kernel(grid, pairs(), split.train_codes)[0],
        "cross_validated": cross_validated_kernel(grid, DNE(), pairs(), split.train_codes, rng)[0],
        "centred": aligned_kernel(grid, pairs(), split.train_codes, centred=True)[0],
    }
    for variant, kernel in kernels.items():
        fitted = KPCATrick(kernel, DNE()).fit(split.train, split.train_codes)
        expected = accuracy(fitted.transform(split.train), fitted.transform(split.test), split)
        assert columns()[variant]["accuracy"] == pytest.approx(expected)
    projection = learn_map(DNE(), split.train, split.train_codes)
    expected = accuracy(split.train @ projection, split.test @ projection, split)
    assert columns()["plain"]["accuracy"] == pytest.approx(expected)
    sigma = float(columns()["cross_validated"]["kernel"].removeprefix("sigma "))
    assert sigma == pytest.approx(kernels["cross_validated"].sigma / 2, rel=5e-3)


def test_another_reading_sets_options_and_takes_an_oracles_kernel():
    batch = kpca_batch(variants=("plain", "oracle"), candidates=GRID, learner_options={"dne": {"n_components": 1}})
    found = {variant: result.columns["accuracy"] for (_, variant), result in results_of(batch, iris()).items()}
    split, judged = draw_split(iris(), 0, 100, 0), []
    for kernel in (None, *candidates_of(GRID, 4)):
        learner = DNE(3, 1) if kernel is None else KPCATrick(kernel, DNE(3, 1))
        fitted = learner.fit(split.train, split.train_codes)
        change = fitted.transform if kernel else lambda part, fitted=fitted: part @ fitted
        judged.append(split.accuracy_of(*map(change, (split.train, split.test))))
    assert found == {"plain": judged[0], "oracle": max(judged[1:])}


def test_other_learners_change_nothing_and_share_one_kpca(monkeypatch):
    calls = []
    whole = run_module.kernel_pca
    monkeypatch.setattr(run_module, "kernel_pca", lambda gram: calls.append(gram.shape) or whole(gram))
    learners = ("dne", "kdrbench.metric_learning.dne:DNE")
    results = results_of(kpca_batch(candidates=GRID, learners=learners), iris())
    for (_, variant), result in results.items():
        for column in ("accuracy", "kernel", "n_coordinates"):
            assert result.columns[column] == columns()[variant][column]
    # Aligned, centred, and the one kernel that all of them choose.
    assert calls == [(100, 100)] * 3


def test_all_kernels_are_tried_on_the_test_set_only_when_asked():
    row = columns(test_selected=True)["cross_validated"]
    tried = json.loads(row["test_selected"])
    assert len(tried) == 21
    assert row["accuracy"] in tried
    assert "test_selected" not in columns()["cross_validated"]


class Ticks(Referee):
    """A referee to whom every piece of work takes one second."""

    charged_s = 0.0

    def timed(self, work):
        value = work()
        self.charged_s += 1.0
        return value, Seconds(1.0, 0.5)


@pytest.mark.parametrize(("test_selected", "further_s"), [(False, 0), (True, 20 + 4 * 21)])
def test_the_limit_counts_shared_work_once(tmp_path, monkeypatch, test_selected, further_s):
    learners, referee = ("dne", "kdrbench.metric_learning.dne:DNE"), Ticks(LIMITS, 0.0, Pauses(), RunFiles(tmp_path))
    batch = kpca_batch(candidates=GRID, learners=learners, test_selected=test_selected)
    results = results_of(batch, iris(), referee=referee)
    # Aligning, or 21 kernels on 5 folds: coordinates and a fit on each; then coordinates, learning and predicting.
    expected = {"plain": 2, "aligned": 1 + 3, "centred": 1 + 3, "cross_validated": 21 * 5 * 2 + 3}
    assert {key: result.time_s for key, result in results.items()} == {
        (learner, variant): seconds for learner in learners for variant, seconds in expected.items()
    }
    assert {result.cpu_s / result.time_s for result in results.values()} == {0.5}
    for (_, variant), result in results.items():
        parts = [result.columns[f"{part}_wall_s"] for part in ("tuning", "learning")]
        assert (sum(parts), parts[1]) == (result.time_s, 2 if variant == "plain" else 3)
    # Two fits of each kind, each judged, and one of all that is shared; of each kernel also the end of its folds.
    # Further, each kernel on the test samples, with the coordinates of all but the chosen one.
    assert referee.charged_s == 4 + 2 * (1 + 1 + 4) + 21 * (5 + 1 + 5 * 2) + 1 + 4 + further_s


def test_an_error_of_a_learner_is_its_row_alone(monkeypatch):
    def fit(features, labels):
        if features.shape[1] > 60:
            raise ArithmeticError("too many")
        return DNE().fit(features, labels)

    # It fails wherever a kernel has many coordinates, and is DNE otherwise.
    build, fails = run_module.build_learner, SimpleNamespace(fit=fit)
    monkeypatch.setattr(run_module, "build_learner", lambda name, options: fails if name == "fails" else build(name))
    batch = kpca_batch(candidates=GRID, learners=("fails", "dne"))
    results = results_of(batch, iris())
    assert set(results) == set(batch.rows)
    for variant in ("aligned", "centred", "cross_validated"):
        result = results["fails", variant]
        assert (result.status, result.message) == ("failed", "ArithmeticError: too many")
        assert result.time_s is None
        assert "accuracy" not in result.columns
    assert results["fails", "plain"].columns["accuracy"] == columns()["plain"]["accuracy"]
    for variant, row in columns().items():
        assert results["dne", variant].columns["accuracy"] == row["accuracy"]


def test_unusable_kernels_fail_the_methods_that_need_them():
    with np.errstate(over="ignore", invalid="ignore"):
        results = results_of(kpca_batch(candidates={"degrees": [1, 300]}), iris())
    assert results["dne", "plain"].status == "converged"
    for variant in ("aligned", "centred", "cross_validated"):
        assert results["dne", variant].status == "failed"
        assert results["dne", variant].message.startswith("InputError: ")


@pytest.mark.parametrize("error", [ImportError("no module"), MemoryError("no room")])
def test_a_missing_package_or_memory_is_no_result(monkeypatch, error):
    def raises(name, options):
        raise error

    monkeypatch.setattr(run_module, "build_learner", raises)
    for variant in ("plain", "aligned", "cross_validated"):
        with pytest.raises(type(error)):
            results_of(kpca_batch(variants=[variant]), iris())


def test_every_method_of_every_split_leaves_a_row(tmp_path):
    batch = kpca_batch(variants=("plain", "aligned"))
    records = job_of(batch, iris(), tmp_path)
    assert [record.axes for record in records] == batch.axes
    assert read_records(files_in(tmp_path).records, KPCATrickRecord) == records
    for record in records:
        assert (record.status, record.n_train, record.n_test, record.n_features) == ("converged", 100, 50, 4)
        assert 0.8 < record.accuracy <= 1.0
        assert record.provenance.wall_s >= record.learning_cpu_s
        assert record.provenance.calibration_after_s == 0.02
        assert record.time_s == pytest.approx(record.tuning_wall_s + record.learning_wall_s)


def test_a_limit_takes_only_what_had_not_ended(tmp_path, monkeypatch):
    def stuck(system, batch, dataset, number, referee):
        yield RunResult(Status.CONVERGED, "", 1.0, 1.0, {"accuracy": 0.9}, ("dne", "plain"))
        referee.timed(lambda: time.sleep(60))

    monkeypatch.setattr(KPCATrickSystem, "run", stuck)
    batch = kpca_batch(variants=("plain", "aligned"), runs=(0,))
    records = job_of(batch, iris(), tmp_path, Limits(0.3, 1024.0), KPCATrickSystem())
    endings = [(record.variant, record.status) for record in records]
    assert endings == [("plain", "converged"), ("aligned", "time_limit")]
    assert records[0].accuracy > 0.8
    assert records[1].accuracy is records[1].tuning_cpu_s is records[1].time_s is None
    assert records[1].message == "killed at the time limit of 0.3 s"
