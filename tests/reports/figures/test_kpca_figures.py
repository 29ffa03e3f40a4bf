"""Figures 2 to 5 of the KPCA trick, drawn from rows and arrays as their system leaves them."""

import functools
import itertools
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from kdrbench.datasets import Dataset, load_dataset, save_prepared
from kdrbench.suite.reports.figures.chart import Chart
from kdrbench.suite.reports.making import Source
from kdrbench.suite.reports.outputs import figures_of
from kdrbench.suite.systems.kpca_figures.figures import chart_of, figure_2, figure_3
from kdrbench.suite.systems.kpca_figures.run import leading_of, planes_of, settings_of
from support.command_line import kdrbench
from support.configs import whole_config

VARIED = {"degrees": [1, 2, 3, 4, 5], "sizes": [10, 20, 30, 40], "neighbours": [1, 3, 5, 7, 9]}


@functools.cache
def iris():
    """Fisher's samples as scikit-learn has them, which are not quite those that a download brings."""
    made = load_iris()
    return Dataset("iris", made.data, made.target, tuple(made.feature_names), tuple(map(str, made.target_names)))


def rows_and_arrays(dataset, varied, values, made):
    rows, arrays = made
    settings = [{"dataset": dataset, "run": 0, "varied": varied, "value": value} for value in values]
    return [setting | one for setting, one in zip(settings, rows, strict=True)], arrays


def made_sets():
    """Rows and arrays of Figure 2."""
    rows, arrays = [], {"disc-and-ring": {}, "cone": {}}
    for name, learner in itertools.product(arrays, ("nca", "lmnn", "dne")):
        found = rows_and_arrays(name, "degree", (1, 2), leading_of(200, learner, load_dataset(name)))
        rows += found[0]
        arrays[name] |= found[1]
    return pd.DataFrame(rows), arrays


def planes():
    """Rows and arrays of Figure 3."""
    rows, arrays = rows_and_arrays("iris", "sigma", (1.0, 1.0), planes_of(100, iris(), 0, 0))
    return pd.DataFrame(rows), {"iris": arrays}


def rows_of(settings, draws=1):
    """Rows of Figures 4 and 5, of which every tenth kernel is singular and QZ disagrees."""
    rows = []
    for (place, setting), draw in itertools.product(enumerate(settings), range(draws)):
        common = {"dataset": "iris", "run": draw, "varied": setting.varied, "value": setting.value, "n_train": 40}
        common |= {"condition": None, "disagreement": None, "accuracy": 0.8 + 0.02 * draw}
        exact, condition = ("ridge", 1e15) if place % 10 == 9 else ("exact", 1e5)
        rows.append(common | {"method": "kpca"})
        rows.append(common | {"method": exact, "condition": condition, "disagreement": 1e-9})
        rows.append(common | {"method": "qz", "condition": condition, "disagreement": 0.2, "accuracy": 0.7})
    return pd.DataFrame(rows)


def figure_of(experiment, runs, store):
    """The figure of an experiment of the configuration, from other runs."""
    config = whole_config()
    (report,) = figures_of(config, experiment).values()
    return chart_of(Source(report, runs, config, store))


def test_figure_2_shows_plain_learners_fail_and_kernels_succeed():
    chart = figure_2("kpca_figure2", *made_sets())
    assert len(chart.panels) == 2 * 4
    learned = [panel.title for place, panel in enumerate(chart.panels) if place % 4]
    assert [title.split(" ")[0] for title in learned] == ["NCA", "LMNN", "DNE"] * 2
    for title in learned:
        plain, kernel = (float(word.strip(",%")) for word in title.split(" ")[1::2])
        assert (plain <= 85, kernel >= 95) == (True, True), title
    assert sum(len(series.x) for series in chart.panels[0].series) == 200
    assert Chart.from_json(chart.to_json()) == chart


def test_figure_3_shows_every_test_sample_in_both_planes():
    chart = figure_3("kpca_figure3", *planes(), {"iris": iris().class_names})
    first, second = chart.panels
    for panel in chart.panels:
        *predicted, wrong = panel.series
        assert [series.label for series in predicted] == [f"predicted {name}" for name in iris().class_names]
        assert sum(len(series.x) for series in predicted) == 50
        assert panel.title.endswith(f"accuracy {1 - len(wrong.x) / 50:.3f}")
    for one, other in zip(first.series, second.series, strict=True):
        # Distances agree to condition times rounding, and signs of coordinates are fixed.
        np.testing.assert_allclose(one.x, other.x, atol=1e-4)
        np.testing.assert_allclose(one.y, other.y, atol=1e-4)
    assert "50 test samples" in chart.caption


def test_figure_4_has_both_tricks_over_degree_n_and_k(tmp_path):
    chart = figure_of("kpca_figure4", rows_of(settings_of(VARIED | {"figure": 4}, 4), draws=2), tmp_path)
    assert [panel.title for panel in chart.panels] == ["Iris: over degree", "Iris: over n", "Iris: over k"]
    assert [panel.series[0].x for panel in chart.panels][1] == ["10", "20", "30", "40"]
    for panel in chart.panels:
        primal, dual, qz = panel.series
        assert (primal.label, dual.label, qz.label) == ("KPCA trick", "kernel trick", "by QZ")
        assert primal.y == dual.y == pytest.approx([0.81] * len(primal.x))
        assert qz.y == pytest.approx([0.7] * len(primal.x))
        spread = [high - low for low, high in zip(primal.lower, primal.upper, strict=True)]
        assert min(spread) > 0.01
    assert "mean of 2 random draws" in chart.caption
    assert "n = 40 training samples" in chart.caption


def test_figure_5_has_condition_numbers_beside_disagreements(tmp_path):
    settings = settings_of(VARIED | {"figure": 5}, 4)
    accuracies, distances = figure_of("kpca_figure5", rows_of(settings), tmp_path).panels
    exact, ridge, qz = distances.series
    assert [exact.label, ridge.label, qz.label] == ["Iris, exact", "Iris, ridge 1e-10", "Iris, QZ"]
    # Every setting once exactly or with a ridge, and once by QZ.
    assert len(exact.x) + len(ridge.x) == len(qz.x) == len(settings) == 5 + 4 + 5 + 7
    assert (set(exact.x), set(ridge.x), set(exact.y), set(qz.y)) == ({1e5}, {1e15}, {1e-9}, {0.2})
    assert accuracies.series[-1].label == "equal"
    assert len(accuracies.series[2].x) == len(qz.x)


def test_the_command_finds_arrays_of_the_first_run_and_classes(tmp_path, monkeypatch):
    # These parts of a configuration are enough.
    monkeypatch.setattr("kdrbench.suite.experiments.results._check_config", lambda config: None)
    runs, arrays = planes()
    runs = runs.assign(experiment="third", status="converged", trace_file="third/iris/kdne/0-0.jsonl")
    config = {"run": ["third"], "experiments": {"third": {"system": "kpca_figures", "figure": 3, "datasets": ["iris"]}}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    for folder in ("merged", "data", "findings/third/iris/kdne"):
        (tmp_path / folder).mkdir(parents=True)
    runs.to_csv(tmp_path / "merged" / "third.csv", index=False)
    stored = {f"iris/kdne/{name}_0": array for name, array in arrays["iris"].items()}
    # Arrays of another run or data set are not drawn.
    stored |= {f"iris/kdne/{name}_1": array[:1] for name, array in arrays["iris"].items()}
    stored |= {f"wine/kdne/{name}_0": array[:1] for name, array in arrays["iris"].items()}
    np.savez(tmp_path / "findings/third/iris/kdne/0-0.npz", **stored)
    save_prepared(iris(), tmp_path / "data/iris.npz")
    # Where data are there, a figure that is stored is not shown in place of that of today's runs.
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts/third.json").write_text(Chart("third", "", "of former runs", []).to_json())
    done = kdrbench("reports", "figures/third", "--results", tmp_path, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    drawn = Chart.from_json((tmp_path / "figures/third.json").read_text())
    assert drawn.panels == figure_3("third", runs, arrays, {"iris": iris().class_names}).panels
