"""The figures of the KPCA trick as a system: configuration, rows and arrays, and both tricks side by side."""

import numpy as np
import pytest

from kdrbench.datasets import Dataset, load_dataset
from kdrbench.errors import ConfigError
from kdrbench.kernels import Polynomial
from kdrbench.metric_learning import SamplePairs, kdne, scaled_gaussian, squared_distances
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.experiments.config import checked
from kdrbench.suite.systems.kpca_figures import run as run_module
from kdrbench.suite.systems.kpca_figures.run import EXACT, QZ, RIDGE, by_qz, draw_distinct, solve_both
from kdrbench.suite.systems.kpca_trick.run import SampleSplit
from support.helpers import random_samples
from support.kpca_trick_cases import iris
from support.one_batch import arrays_in, files_in
from support.products import by_section
from support.system_cases import grid_of, job_of, only, results_of

SMALL = {
    2: {},
    3: {"datasets": ["iris-bundled"], "training": {"default": 40}},
    4: {"degrees": [1, 2, 3, 4, 5], "sizes": [10, 20, 30, 40], "neighbours": [1, 3, 5, 7, 9]},
}
SMALL[4] |= {"datasets": ["iris-bundled"]}
SMALL[5] = SMALL[4]


def batch_of(figure, **changes):
    return grid_of(f"kpca_figure{figure}", **SMALL[figure] | changes).batches()[0]


def test_figures_4_and_5_are_on_the_papers_data_degrees_n_and_k():
    for figure, datasets in ((4, ["pima", "m-usps"]), (5, ["ionosphere", "glass"])):
        batches = grid_of(f"kpca_figure{figure}").batches()
        assert [batch.dataset for batch in batches] == datasets
        for batch in batches:
            values = {}
            for varied, value, series in batch.rows:
                if series == "kpca" and varied != "sigma":
                    values.setdefault(varied, []).append(value)
            assert values == {"degree": [2, 3, 4, 5], "n": [50, 100, 150], "k": [1, 2, 3, 4, 5]}


FAULTS = [
    (2, {"datasets": ["iris"]}, "kpca_figure2.datasets: unknown data set of Figure 2 'iris'; allowed: cone, disc-"),
    (2, {"draws": 2}, "kpca_figure2.figure is 2, which does not use the key 'draws'"),
    (3, {"figure": 2}, "kpca_figure3.figure is 2, which needs the key 'learners'"),
    (3, {"training": {"default": 40, "irs": 9}}, "kpca_figure3.training: unknown data set 'irs'"),
    (3, {"datasets": ["iris"]}, "kpca_figure3.training gives data set 'iris' 200 training samples; it has 150"),
    (5, {"datasets": ["flower"]}, "kpca_figure5.datasets: data set 'flower' has no labels; metric learning"),
    (5, {"datasets": ["iris"]}, "kpca_figure5.sizes gives data set 'iris' 150 training samples; it has 150"),
]


@pytest.mark.parametrize("cases", by_section(FAULTS, lambda figure: f"figure {figure}"))
def test_faults_are_one_sentence_that_names_the_key(cases):
    for figure, changes, message in cases:
        with pytest.raises(ConfigError, match=message):
            checked(only(f"kpca_figure{figure}", **changes))


def test_each_figure_knows_its_rows_before_it_is_run():
    rows = {figure: batch_of(figure).rows for figure in (2, 3, 4, 5)}
    assert rows[2] == tuple(("degree", degree, learner) for learner in ("nca", "lmnn", "dne") for degree in (1.0, 2.0))
    assert rows[3] == (("sigma", 1.0, "kpca"), ("sigma", 1.0, "kernel"))
    assert len(rows[4]) == 3 * (5 + 4 + 5)
    assert rows[5][: len(rows[4])] == rows[4]
    assert [value for varied, value, _ in rows[5][len(rows[4]) :: 3]] == [0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0]
    assert [value for varied, value, series in rows[4] if (varied, series) == ("n", "qz")] == [10.0, 20.0, 30.0, 40.0]
    assert [len(batch_of(figure).runs) for figure in (2, 3, 4, 5)] == [1, 1, 5, 1]
    batch = batch_of(5)
    assert Batch.from_json(batch.to_json()) == batch


@pytest.mark.parametrize("dataset", ["disc-and-ring", "cone"])
def test_figure_2_has_plain_learners_fail_and_kernels_succeed(dataset, tmp_path):
    records = job_of(batch_of(2, datasets=[dataset]), load_dataset(dataset), tmp_path)
    for record in records:
        assert (record.figure, record.status, record.n_train, record.n_test) == (2, "converged", 200, 200)
        assert record.method == record.series
        assert record.accuracy <= 0.85 if record.value == 1 else record.accuracy >= 0.95
    arrays = {name.rpartition("/")[2]: array for name, array in arrays_in(files_in(tmp_path)).items()}
    names = {f"coordinates_{learner}_{degree}_0" for learner in ("nca", "lmnn", "dne") for degree in (1, 2)}
    assert set(arrays) == names | {"features_0", "labels_0"}
    np.testing.assert_array_equal(arrays["features_0"], load_dataset(dataset).features[200:])
    np.testing.assert_array_equal(arrays["labels_0"], load_dataset(dataset).labels[200:])
    assert all(arrays[name].std() == pytest.approx(1.0) for name in names)


def test_figure_3_has_predictions_of_every_test_sample(tmp_path):
    batch = batch_of(3, training={"default": 100})
    primal, dual = job_of(batch, iris(), tmp_path)
    found = arrays_in(files_in(tmp_path)).items()
    arrays = {name.rpartition("/")[2].removesuffix("_0"): array for name, array in found}
    assert (primal.method, dual.method) == ("kpca", "exact")
    assert (primal.condition, primal.disagreement) == (None, None)
    assert dual.condition > 1
    assert dual.disagreement < 1e-6
    for record in (primal, dual):
        assert (record.k, record.n_test, record.n_train) == (3, 50, len(arrays[f"train_{record.series}"]))
        assert record.accuracy == np.mean(arrays[f"predictions_{record.series}"] == arrays["labels"])
        assert arrays[f"test_{record.series}"].shape == (50, 2)
    # Distances between test samples agree; signs and origins are free.
    first, second = (arrays[f"test_{series}"] for series in ("kpca", "kernel"))
    gaps = [np.linalg.norm(one[:, None] - one[None], axis=2) for one in (first, second)]
    np.testing.assert_allclose(*gaps, atol=1e-6 * gaps[0].max())


def test_figure_4_has_both_tricks_over_degree_n_and_k():
    batch = batch_of(4)
    results = results_of(batch, iris(), number=1)
    assert tuple(results) == batch.rows
    for (varied, value, series), result in results.items():
        columns = result.columns
        assert columns["method"] in {"kpca": ("kpca",), "kernel": ("exact", "ridge"), "qz": ("qz",)}[series]
        assert columns["k"] == (value if varied == "k" else 3)
        # Equal samples to learn from are left out.
        assert 0 <= (value if varied == "n" else 40) - columns["n_train"] < 5
        assert ("condition" in columns) == (series != "kpca")
        if columns["method"] in ("exact", "ridge"):
            # Within a handful of test samples: where distances agree, so do predictions, but for ties.
            assert columns["accuracy"] == pytest.approx(results[varied, value, "kpca"].columns["accuracy"], abs=0.05)
    split = draw_distinct(iris(), 40, 1, 0)
    expected = next(solve_both(split, Polynomial(2), 3, None)).accuracies(split.train_codes, split.test_codes)[0]
    assert results["degree", 2.0, "kpca"].columns["accuracy"] == expected
    other = results_of(batch, iris(), number=0)
    assert any(other[key].columns["accuracy"] != result.columns["accuracy"] for key, result in results.items())


def test_figure_5_has_condition_numbers_and_disagreements():
    results = results_of(batch_of(5), iris())
    by_method = {}
    for result in results.values():
        by_method.setdefault(result.columns["method"], []).append(result.columns)
    # Every setting once exactly or with a ridge, and once by QZ.
    n_settings = 5 + 4 + 5 + 7
    assert len(by_method["exact"]) + len(by_method["ridge"]) == len(by_method["qz"]) == n_settings
    regular = [columns["disagreement"] for columns in by_method["exact"] if columns["condition"] < 1e6]
    assert regular
    assert max(regular) < 1e-6
    assert max(columns["disagreement"] for columns in by_method["qz"]) > 0.1


def test_a_setting_that_fails_leaves_the_others_alone(monkeypatch):
    whole = run_module.tricks_of

    def fails(setting, dataset, draw, seed):
        if setting.varied == "k" and setting.value == 5:
            raise ArithmeticError("no plane")
        return whole(setting, dataset, draw, seed)

    monkeypatch.setattr(run_module, "tricks_of", fails)
    results = results_of(batch_of(4), iris())
    failed = {key: result.message for key, result in results.items() if result.status == "failed"}
    assert failed == {("k", 5.0, series): "ArithmeticError: no plane" for series in ("kpca", "kernel", "qz")}


def solved(kernel):
    features, labels = random_samples(n_samples=30)
    split = SampleSplit(features, labels, random_samples(seed=5, n_samples=12)[0], np.arange(12) % 3)
    return {both.method: both for both in solve_both(split, kernel, 3, None)}


def test_both_tricks_agree_on_a_regular_kernel():
    both = solved(scaled_gaussian(0.5, 6))
    assert list(both) == [EXACT, QZ]
    assert 1 < both[EXACT].condition < 1e4
    assert both[EXACT].disagreement < 1e-10
    first, second = both[EXACT].accuracies(np.arange(30) % 3, np.arange(12) % 3)
    assert first == second
    # QZ is the symmetric solver, within condition times rounding.
    features, labels = random_samples(n_samples=30)
    gram = SamplePairs(features, features).gram(scaled_gaussian(0.5, 6))
    dual, exact = by_qz(gram, labels, 3, 4), kdne(gram, labels, n_components=4).dual
    expected = squared_distances(gram @ exact, gram @ exact)
    np.testing.assert_allclose(squared_distances(gram @ dual, gram @ dual), expected, atol=1e-8 * expected.max())


def test_on_a_singular_kernel_a_ridge_agrees_and_qz_is_tried_too():
    both = solved(Polynomial(1))
    assert list(both) == [RIDGE, QZ]
    assert both[RIDGE].disagreement < 1e-6
    assert both[RIDGE].condition > 1e12
    assert both[QZ].condition == both[RIDGE].condition


def test_no_two_training_samples_are_equal():
    features = np.repeat(iris().features[:20], 2, axis=0)
    twice = Dataset("twice", features, np.arange(40) % 2, iris().feature_names, ("a", "b"))
    split = draw_distinct(twice, 30, 0)
    assert len(np.unique(split.train, axis=0)) == len(split.train) == len(split.train_codes) < 30
    assert len(split.test) == len(split.test_codes) == 10
