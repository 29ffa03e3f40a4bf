import numpy as np
import pytest

from helpers import random_samples
from kdrbench.datasets import Dataset, load_dataset
from kdrbench.datasets.quadratic import cone, ring
from kdrbench.kernels import Polynomial
from kdrbench.metric_learning import SamplePairs, kdne, scaled_gaussian, squared_distances
from kdrbench.reports import trick_figures
from kdrbench.reports.chart import Chart
from kdrbench.reports.metric_figures import figure_2, figure_3
from kdrbench.reports.trick_figures import Points, figure_4, figure_5
from kdrbench.reports.two_tricks import EXACT, QZ, RIDGE, by_qz, draw_halves, solve_both

IRIS = load_dataset("iris")


def solved(kernel, k=3):
    features, labels = random_samples(n_samples=30)
    others = random_samples(seed=5, n_samples=12)[0]
    gram, cross = SamplePairs(features, features).gram(kernel), SamplePairs(others, features).gram(kernel)
    return {both.method: both for both in solve_both(gram, cross, labels, k, None)}


def test_both_tricks_agree_on_a_regular_kernel():
    found = solved(scaled_gaussian(0.5, 6))
    assert list(found) == [EXACT, QZ]
    assert 1 < found[EXACT].condition < 1e4
    assert found[EXACT].disagreement < 1e-10
    assert (
        found[EXACT].accuracies(np.arange(30) % 3, np.arange(12) % 3)[0]
        == found[EXACT].accuracies(np.arange(30) % 3, np.arange(12) % 3)[1]
    )


def test_on_a_singular_kernel_a_ridge_agrees_and_qz_is_tried_too():
    both = solved(Polynomial(1))
    assert list(both) == [RIDGE, QZ]
    assert both[RIDGE].disagreement < 1e-6
    assert both[RIDGE].condition > 1e12
    assert both[QZ].condition == both[RIDGE].condition


def test_on_a_regular_kernel_qz_is_the_symmetric_solver():
    features, labels = random_samples(n_samples=30)
    gram = SamplePairs(features, features).gram(scaled_gaussian(0.5, 6))
    dual, exact = by_qz(gram, labels, 3, 4), kdne(gram, labels, n_components=4).dual
    expected = squared_distances(gram @ exact, gram @ exact)
    # Within condition times rounding.
    np.testing.assert_allclose(squared_distances(gram @ dual, gram @ dual), expected, atol=1e-8 * expected.max())


@pytest.mark.parametrize(("draw", "form"), [(ring, [1, 1]), (cone, [1, -1, 1, -1])])
def test_the_synthetic_classes_are_parted_by_a_form_of_degree_two(draw, form):
    features, labels = draw(np.random.default_rng(0), 100)
    values = np.square(features) @ form
    assert len(labels) == 100
    assert values[labels == 0].max() < values[labels == 1].min()


def test_no_training_sample_stands_twice():
    twice = Dataset("iris", np.repeat(IRIS.features[:20], 2, axis=0), np.arange(40) % 2, IRIS.feature_names, ("a", "b"))
    halves = draw_halves(twice, 30, 0)
    assert len(np.unique(halves.train, axis=0)) == len(halves.train) == len(halves.seen) < 30
    assert len(halves.test) == len(halves.unseen) == 10


def test_figure_2_shows_plain_learners_fail_and_kernels_succeed():
    chart = figure_2(0)
    assert len(chart.panels) == 2 * 4
    learned = [panel.title for place, panel in enumerate(chart.panels) if place % 4]
    assert [title.split(" ")[0] for title in learned] == ["NCA", "LMNN", "DNE"] * 2
    for title in learned:
        plain, kernel = (float(word.strip(",%")) for word in title.split(" ")[1::2])
        assert plain <= 85
        assert kernel >= 95
    assert sum(len(series.x) for series in chart.panels[0].series) == 200
    assert Chart.from_json(chart.to_json()) == chart


def test_figure_3_shows_every_test_sample_with_its_prediction_in_both_planes():
    chart = figure_3(IRIS, "Iris", 100, 0)
    first, second = chart.panels
    for panel in chart.panels:
        *predicted, wrong = panel.series
        assert [series.label for series in predicted] == [f"predicted {name}" for name in IRIS.class_names]
        assert sum(len(series.x) for series in predicted) == 50
        assert panel.title.endswith(f"accuracy {1 - len(wrong.x) / 50:.3f}")
    for one, other in zip(first.series, second.series, strict=True):
        # Distances agree to condition times rounding, and signs of coordinates are fixed.
        np.testing.assert_allclose(one.x, other.x, atol=1e-4)
        np.testing.assert_allclose(one.y, other.y, atol=1e-4)


def test_figure_4_has_both_tricks_over_degree_n_and_k(monkeypatch):
    monkeypatch.setattr(trick_figures, "_DRAWS", 2)
    chart = figure_4([Points(IRIS, "Iris", 40)], 0)
    assert [panel.title for panel in chart.panels] == ["Iris: over degree", "Iris: over n", "Iris: over k"]
    assert [panel.series[0].x for panel in chart.panels][1] == ["10", "20", "30", "40"]
    for panel in chart.panels:
        primal, dual, qz = panel.series
        assert (primal.label, dual.label, qz.label) == ("KPCA trick", "kernel trick", "by QZ")
        # Within a handful of test samples: where distances agree, so do predictions, but for ties.
        np.testing.assert_allclose(primal.y, dual.y, atol=0.05)
        for low, mean, high in zip(primal.lower, primal.y, primal.upper, strict=True):
            assert low <= mean + 1e-12
            assert mean <= high + 1e-12
    halves = draw_halves(IRIS, 40, 0, 0), draw_halves(IRIS, 40, 1, 0)
    shares = [
        next(solve_both(*half.grams(Polynomial(2)), half.seen, 3, None)).accuracies(half.seen, half.unseen)[0]
        for half in halves
    ]
    assert chart.panels[0].series[0].y[1] == pytest.approx(np.mean(shares))


def test_figure_5_has_the_condition_number_beside_the_disagreement():
    chart = figure_5([Points(IRIS, "Iris", 40)], 0)
    accuracies, distances = chart.panels
    by_label = {series.label: series for series in distances.series}
    assert list(by_label) == ["Iris, exact", "Iris, ridge 1e-10", "Iris, QZ"]
    exact, ridge, qz = by_label.values()
    # Every setting once exactly or with a ridge, and once by QZ.
    assert len(exact.x) + len(ridge.x) == len(qz.x) == 5 + 4 + 5 + 7
    regular = [disagreement for condition, disagreement in zip(exact.x, exact.y, strict=True) if condition < 1e6]
    assert regular
    assert max(regular) < 1e-6
    assert max(qz.y) > 0.1
    assert accuracies.series[-1].label == "equal"
    assert len(accuracies.series[2].x) == len(qz.x)
