"""What is said of learned projections: weights, angles, samples projected; from projections that are known."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from kdrbench.datasets import Dataset, load_dataset, save_prepared
from kdrbench.errors import DamagedError
from kdrbench.suite.reports.figures.chart import Mark, Symbol
from kdrbench.suite.reports.figures.draw_matplotlib import draw
from kdrbench.suite.reports.records import read_findings
from kdrbench.suite.systems.ikdr.folds import Sampling, Split
from kdrbench.suite.systems.ikdr.projections import (
    angles_between,
    angles_of_chance,
    loadings,
    principal_coordinates,
    scatter,
    shown_solver,
)
from support.report_rows import experiment_of, runs_of

EXPERIMENT = experiment_of("ism", "ism_converged", paradigm="supervised", folds=10)
WHOLE = {"split": "none", "folds": None}


def plane(angle, n_features=5):
    """A space of the first axis and one that turns from the second to the third."""
    projection = np.zeros((n_features, 2))
    projection[0, 0] = 1.0
    projection[1:3, 1] = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    return projection


def turned(projection, angle):
    c, s = np.cos(angle), np.sin(angle)
    return projection @ np.array([[c, -s], [s, c]])


def kept(folder, projections, **more):
    """Write what a batch would have found."""
    arrays = {f"projection_{fold}": projection for fold, projection in projections.items()} | more
    arrays = {f"wine/gaussian/ism_converged/{name}": array for name, array in arrays.items()}
    np.savez(folder / "wine-ism_converged.npz", **arrays)


def source_of(runs, folder, **experiment):
    found = {key: value for key, value in (EXPERIMENT | experiment).items() if value is not None}
    made = {"runs": runs, "stored": (folder, folder), "experiment": found}
    return SimpleNamespace(**made, name="e", config={"seed": 0, "experiments": {"e": found}})


def runs(folds, **columns):
    return pd.DataFrame(runs_of("wine", "ism_converged", folds, **columns))


def test_angles_of_each_pair_are_as_many_as_the_smallest_space_has():
    angles = angles_between([plane(0.0), turned(plane(10.0), 0.2), plane(40.0)])
    np.testing.assert_allclose(angles, [[0.0, 10.0], [0.0, 40.0], [0.0, 30.0]], atol=1e-6)
    line = np.zeros((5, 1))
    line[1:3, 0] = np.cos(np.radians(30.0)), np.sin(np.radians(30.0))
    np.testing.assert_allclose(angles_between([plane(0.0), line, plane(40.0)]), [[30.0], [0.0], [10.0]], atol=1e-6)


def test_random_lines_in_the_plane_are_half_a_right_angle_apart():
    # Angles of random lines in the plane are uniform on [0, 90]; the median of 100 has standard error 90 / (2 * 10).
    assert angles_of_chance(2, 1)[0] == pytest.approx(45.0, abs=4 * 4.5)
    np.testing.assert_array_equal(angles_of_chance(6, 2), angles_of_chance(6, 2))


def test_findings_are_those_of_runs_that_did_not_fail(tmp_path):
    with pytest.raises(DamagedError, match=r"wine-ism_converged\.npz cannot be read \(it is not there\)"):
        read_findings(runs([0]), tmp_path, "projection")
    kept(tmp_path, {0: plane(0.0), 1: plane(5.0), 2: plane(9.0)}, labels_1=np.array([1, 0]))
    some = pd.concat([runs([0, 1]), runs([2], status="failed"), runs([3])])
    assert sorted(read_findings(some, tmp_path, "projection")) == [0, 1]
    np.testing.assert_array_equal(read_findings(some, tmp_path, "labels")[1], [1, 0])


@pytest.mark.parametrize("solvers", [["ism", "ISM_CONVERGED"], ["DG", "ism"], ["ism", "MINE", "ism_converged"]])
def test_the_projection_of_ones_own_solver_is_shown_or_of_converged_ism(solvers):
    experiments = {"e": {"solvers": list(map(str.lower, solvers))}}
    shown = shown_solver("e", {"solvers": {"mine": {"method": "mine:Mine"}}, "experiments": experiments})
    assert shown.upper() in solvers


@pytest.fixture
def folder(tmp_path):
    """A folder with the samples of Wine, for findings beside them."""
    save_prepared(load_dataset("wine"), tmp_path / "wine.npz")
    return tmp_path


def test_loadings_have_means_and_ranges_heaviest_first(folder):
    kept(folder, {0: turned(plane(0.0, 13), 0.4), 1: plane(30.0, 13), 2: plane(60.0, 13)})
    chart = loadings(source_of(runs([0, 1, 2]), folder))
    weights, angles = chart.panels
    (bars,) = weights.series
    cosines, sines = np.cos(np.radians([0, 30, 60])), np.sin(np.radians([0, 30, 60]))
    assert bars.mark is Mark.BARS
    assert bars.x[:3] == ["alcohol", "malic acid", "ash"]
    np.testing.assert_allclose(bars.y[:4], [1, cosines.mean(), sines.mean(), 0], atol=1e-12)
    np.testing.assert_allclose(bars.lower[1:3], [0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(bars.upper[1:3], [1.0, sines[2]], atol=1e-12)
    assert len(bars.x) == 13
    found, chance = angles.series
    # Pairs are 30, 60 and 30 degrees apart.
    np.testing.assert_allclose((found.lower[1], found.y[1], found.upper[1]), (30, 30, 60), atol=1e-6)
    np.testing.assert_allclose(found.y[0], 0.0, atol=1e-6)
    np.testing.assert_array_equal(chance.y, angles_of_chance(13, 2))
    assert draw(chart).axes[0].get_xticklabels()[0].get_text() == "alcohol"


def test_equal_weights_have_whiskers_that_can_be_drawn(folder):
    shares = np.random.default_rng(0).dirichlet(np.ones(13)) ** 0.5
    kept(folder, dict.fromkeys(range(6), shares[:, np.newaxis]))
    chart = loadings(source_of(runs(range(6)), folder))
    (weights,) = chart.panels[0].series
    for lower, middle, upper in zip(weights.lower, weights.y, weights.upper, strict=True):
        assert lower <= middle <= upper
    draw(chart)


def test_one_run_has_no_stability_and_no_projection_no_scatter(folder):
    kept(folder, {0: plane(0.0, 13)})
    assert loadings(source_of(runs([0]), folder)) is None
    kept(folder, {})
    assert scatter(source_of(runs([0]), folder)) is None


def test_principal_coordinates_spread_most_with_a_fixed_sign():
    rng = np.random.default_rng(0)
    train = rng.standard_normal((50, 3)) * [1.0, 5.0, 3.0] + 7.0
    flat, other, shares = principal_coordinates(train, train[:4])
    np.testing.assert_allclose(flat.mean(axis=0), 0.0, atol=1e-12)
    variances = np.sort(np.linalg.eigvalsh(np.cov(train.T)))[::-1]
    np.testing.assert_allclose(flat.var(axis=0, ddof=1), variances[:2], rtol=1e-12)
    np.testing.assert_allclose(shares, variances[:2] / variances.sum(), rtol=1e-12)
    np.testing.assert_allclose(other, flat[:4], atol=1e-12)
    # The second column spreads the most, and the axis points along it, however the projection is rotated.
    assert np.corrcoef(flat[:, 0], train[:, 1])[0, 1] > 0.99


def test_scatter_shows_training_and_test_samples_of_each_class(folder):
    kept(folder, {3: plane(0.0, 13), 4: plane(10.0, 13)})
    chart = scatter(source_of(runs([3, 4]), folder))
    (panel,) = chart.panels
    fold = Sampling(Split.FOLDS, 10).fold(load_dataset("wine"), 3, 0)
    count = {(series.key, series.label): len(series.x) for series in panel.series}
    assert count == {
        (f"class {code + 1}", part): int((labels == code).sum())
        for code in range(3)
        for part, labels in (("training", fold.train_labels), ("test", fold.test_labels))
    }
    assert all(series.faint == (series.label == "training") for series in panel.series)
    # On this plane the projection keeps the first two features; centred, so that distances are those.
    train, _, _ = principal_coordinates(fold.train_features[:, :2], fold.test_features[:, :2])
    first = next(series for series in panel.series if series.key == "class 1")
    np.testing.assert_allclose(np.column_stack([first.x, first.y]), train[fold.train_labels == 0], atol=1e-12)
    assert len(draw(chart).legends[0].get_texts()) == 3


def test_alternative_clusters_have_colours_given_ones_symbols(folder):
    # As the colours of an image they need have no classes.
    save_prepared(replace(load_dataset("wine"), labels=np.empty(0, int), class_names=()), folder / "wine.npz")
    found, given = np.arange(178) % 2, np.arange(178) // 89
    kept(folder, {0: plane(0.0, 13)}, labels_0=found, given_0=given)
    (panel,) = scatter(source_of(runs([0], split="none"), folder, paradigm="alternative", **WHOLE)).panels
    assert [(series.key, series.symbol, len(series.x), series.faint) for series in panel.series] == [
        ("cluster 1", Symbol.DOT, 45, False),
        ("cluster 1", Symbol.SQUARE, 44, False),
        ("cluster 2", Symbol.DOT, 44, False),
        ("cluster 2", Symbol.SQUARE, 45, False),
    ]


def test_of_many_samples_some_of_each_class_are_drawn(tmp_path):
    rng = np.random.default_rng(0)
    # Classes come round as often as every fourth sample would.
    labels = np.arange(2000) % 8
    many = Dataset("wine", rng.standard_normal((2000, 13)), labels, ("f",) * 13, tuple("abcdefgh"))
    save_prepared(many, tmp_path / "wine.npz")
    kept(tmp_path, {0: plane(0.0, 13)})
    (panel,) = scatter(source_of(runs([0], split="none"), tmp_path, **WHOLE)).panels
    assert sum(len(series.x) for series in panel.series) == 600
    # The eighth class has the first one's colour and another symbol.
    by_class = {series.key: series for series in panel.series}
    assert {len(series.x) for series in by_class.values()} <= {74, 75, 76}
    assert by_class["class 8"].hue == by_class["class 1"].hue
    assert (by_class["class 1"].symbol, by_class["class 8"].symbol) == (Symbol.DOT, Symbol.SQUARE)
