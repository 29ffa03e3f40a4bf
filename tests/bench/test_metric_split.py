from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from kdrbench.bench import metric_split
from kdrbench.bench.metric_split import candidates_of, draw_split, run_split
from kdrbench.bench.seeds import rng_of
from kdrbench.datasets import load_dataset
from kdrbench.kernels import Polynomial
from kdrbench.metric_learning import (
    DNE,
    KPCATrick,
    SamplePairs,
    aligned_kernel,
    cross_validated_kernel,
    gaussian_grid,
    learn_map,
)
from metric_cases import metric_batch

IRIS = load_dataset("iris")
GRID = {"sigmas": {"lowest": 0.01, "highest": 1000.0, "number": 21}}


@cache
def rows(test_selected=False):
    batch = metric_batch(candidates=GRID, test_selected=test_selected)
    return {row.variant: row for row in run_split(batch, IRIS, 0)}


def accuracy(train, test, split):
    nearest = [np.argmin(np.round(((train - row) ** 2).sum(axis=1), 11)) for row in test]
    return np.mean(split.train_codes[nearest] == split.test_codes)


def test_a_split_depends_on_its_number_and_the_seed_alone_and_covers_the_data():
    first, again, other, seeded = (
        draw_split(IRIS, *axes) for axes in ((0, 100, 0), (0, 100, 0), (1, 100, 0), (0, 100, 1))
    )
    np.testing.assert_array_equal(first.train, again.train)
    assert not np.array_equal(first.train, other.train)
    assert not np.array_equal(first.train, seeded.train)
    assert (len(first.train), len(first.test)) == (100, 50)
    together = np.vstack([first.train, first.test])
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(IRIS.features, axis=0))


def test_candidates_are_the_papers():
    for ours, theirs in zip(candidates_of(GRID, 8), gaussian_grid(8), strict=True):
        assert ours.sigma == pytest.approx(theirs.sigma, rel=1e-12)
    assert candidates_of({"degrees": [1, 4]}, 8) == [Polynomial(1), Polynomial(4)]


def test_results_with_sharing_are_those_without():
    split, grid = draw_split(IRIS, 0, 100, 0), candidates_of(GRID, 4)

    def pairs():
        return SamplePairs(split.train, split.train)

    kernels = {
        "aligned": aligned_kernel(grid, pairs(), split.train_codes)[0],
        "cross_validated": cross_validated_kernel(
            grid, DNE(), pairs(), split.train_codes, rng_of("kpca folds", "iris", 0, 0)
        )[0],
        "centred": aligned_kernel(grid, pairs(), split.train_codes, centred=True)[0],
    }
    for variant, kernel in kernels.items():
        fitted = KPCATrick(kernel, DNE()).fit(split.train, split.train_codes)
        expected = accuracy(fitted.transform(split.train), fitted.transform(split.test), split)
        assert rows()[variant].accuracy == pytest.approx(expected)
    projection = learn_map(DNE(), split.train, split.train_codes)
    assert rows()["plain"].accuracy == pytest.approx(accuracy(split.train @ projection, split.test @ projection, split))
    sigma = float(rows()["cross_validated"].kernel.removeprefix("sigma "))
    assert sigma == pytest.approx(kernels["cross_validated"].sigma / 2, rel=5e-3)


def test_other_learners_beside_it_change_nothing_and_one_kpca_serves_all(monkeypatch):
    calls = []
    whole = metric_split.kernel_pca
    monkeypatch.setattr(metric_split, "kernel_pca", lambda gram: calls.append(gram.shape) or whole(gram))
    batch = metric_batch(candidates=GRID, learners=("dne", "dne", "dne"))
    both = list(run_split(batch, IRIS, 0))
    for row in both:
        assert row.accuracy == rows()[row.variant].accuracy
        assert row.kernel == rows()[row.variant].kernel
    # Aligned, centred, and the one kernel that all of them choose.
    assert calls == [(100, 100)] * 3


def test_all_kernels_are_tried_on_the_test_set_only_when_asked():
    row = rows(test_selected=True)["cross_validated"]
    assert len(row.test_selected) == 21
    assert row.accuracy in row.test_selected
    assert rows()["cross_validated"].test_selected == ()


def test_the_time_of_choosing_stands_apart_from_that_of_learning():
    assert rows()["plain"].tuning.cpu_s == rows()["plain"].tuning.wall_s == 0.0
    for variant in ("aligned", "centred", "cross_validated"):
        assert rows()[variant].tuning.cpu_s > 0
        assert rows()[variant].learning.cpu_s > 0
    # 105 fits against one quadratic program: an order of magnitude lies between them.
    assert rows()["cross_validated"].tuning.cpu_s > rows()["aligned"].tuning.cpu_s


@dataclass(frozen=True)
class Fails:
    """Fails wherever a kernel has many coordinates, and is DNE otherwise."""

    def fit(self, features, labels):
        if features.shape[1] > 60:
            raise ArithmeticError("too many")
        return DNE().fit(features, labels)


def test_what_a_learner_raises_is_its_row_and_leaves_the_others_alone(monkeypatch):
    build = metric_split.build_learner
    monkeypatch.setattr(metric_split, "build_learner", lambda name: Fails() if name == "fails" else build(name))
    batch = metric_batch(candidates=GRID, learners=("fails", "dne"))
    found = {(row.learner, row.variant): row for row in run_split(batch, IRIS, 0)}
    assert set(found) == set(batch.methods)
    for variant in ("aligned", "centred", "cross_validated"):
        assert found["fails", variant].accuracy is None
        assert found["fails", variant].message == "ArithmeticError: too many"
    assert found["fails", "plain"].accuracy == rows()["plain"].accuracy
    for variant, row in rows().items():
        assert found["dne", variant].accuracy == row.accuracy


def test_kernels_that_cannot_be_used_fail_every_method_that_needs_them():
    batch = metric_batch(candidates={"degrees": [1, 300]})
    with np.errstate(over="ignore", invalid="ignore"):
        found = {row.variant: row for row in run_split(batch, IRIS, 0)}
    assert found["plain"].accuracy is not None
    for variant in ("aligned", "centred", "cross_validated"):
        assert found[variant].accuracy is None
        assert found[variant].message.startswith("InputError: ")


def test_a_missing_package_is_no_result(monkeypatch):
    def missing(name):
        raise ImportError("no module")

    monkeypatch.setattr(metric_split, "build_learner", missing)
    with pytest.raises(ImportError):
        list(run_split(metric_batch(), IRIS, 0))
