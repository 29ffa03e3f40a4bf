"""Whole fits on tensors of torch, against those on arrays of numpy."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from kdrbench.arrays import Device
from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR
from kdrbench.evaluation.cost_model import SUMS_SAMPLES
from support.helpers import random_samples, scaled_wine

pytestmark = pytest.mark.needs("torch")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


# From 2000 samples on, a fit by pairs begins in single precision.
CASES = {
    "wine": scaled_wine,
    "thousands of samples": lambda: random_samples(n_samples=2050, n_features=8),
    "more features than samples": lambda: random_samples(n_samples=60, n_features=90),
}
FAMILIES = ["gaussian", "polynomial", "linear", "squared", "multiquadric", "rbf_relative"]
FITS = [(family, case) for family in FAMILIES for case in ("wine", "more features than samples")]
FITS += [(family, "thousands of samples") for family in ("gaussian", "polynomial", "squared")]


def assert_same_fit(model, features, known, rounding=1e-10):
    import torch

    reference, mine = clone(model).fit(features, known), clone(model).fit(torch.tensor(features), torch.tensor(known))
    assert mine.status_ is reference.status_
    assert mine.objective_ == pytest.approx(reference.objective_, rel=rounding)
    assert isinstance(mine.components_, np.ndarray)
    assert isinstance(mine.objective_, float)
    assert mine.n_features_in_ == features.shape[1]
    assert f", on {torch.get_default_device().type}" in mine.result_.evaluation
    return reference, mine


@pytest.mark.parametrize(("family", "case"), FITS)
def test_a_fit_is_that_of_numpy(family, case, torch):
    features, labels = CASES[case]()
    reference, mine = assert_same_fit(InterpretableKDR(3, kernel=family), features, labels)
    np.testing.assert_array_equal(mine.classes_, reference.classes_)
    # Both are solutions to 1e-6, whose curvatures differ by more than F does.
    assert mine.certificate_.curvature == pytest.approx(reference.certificate_.curvature, abs=1e-4)
    assert mine.certificate_.stationarity <= 1e-6
    projected = mine.transform(torch.tensor(features))
    np.testing.assert_allclose(projected.cpu().numpy(), mine.transform(features), atol=1e-12)


@pytest.mark.parametrize("evaluation", [None, {"tolerance": 1e-4}])
def test_many_samples_are_fitted_by_class_sums(evaluation):
    model = InterpretableKDR(2, kernel_params={"sigma": 4.0}, evaluation=evaluation)
    _, mine = assert_same_fit(model, *random_samples(n_samples=SUMS_SAMPLES, n_features=8), rounding=1e-8)
    assert mine.result_.evaluation.startswith(f"class_sums: {SUMS_SAMPLES} samples of a Gaussian kernel, on ")
    assert mine.certificate_.stationarity <= 1e-5


def test_continuous_targets_and_several_label_columns():
    features, labels = scaled_wine()
    targets = {"target_kernel": {"family": "gaussian", "sigma": "median"}}
    assert_same_fit(InterpretableKDR(2, paradigm_params=targets), features, features[:, 0] + 0.1 * labels)
    _, mine = assert_same_fit(InterpretableKDR(2), features, np.column_stack([labels, labels % 2]))
    assert not hasattr(mine, "classes_")


def test_results_have_the_type_and_device_of_the_input(torch):
    features, labels = scaled_wine()
    single = torch.tensor(features, dtype=torch.float32)
    model = InterpretableKDR(2).fit(single, labels)
    assert model.components_.dtype == np.float64
    projected = model.transform(single)
    assert (projected.dtype, projected.device) == (torch.float32, single.device)
    reference = InterpretableKDR(2).fit(single.cpu().numpy(), labels)
    # Sums in float64 of the same samples.
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-10)
    assert isinstance(model.transform(features), np.ndarray)


def test_a_model_can_be_pickled_and_notices_changed_samples(torch):
    features, labels = random_samples(n_samples=300, n_features=150)
    given = torch.tensor(features)
    # Its certificate is computed on demand.
    model = InterpretableKDR(4).fit(given, labels)
    certificate = pickle.loads(pickle.dumps(model)).certificate_
    assert certificate == model.certificate_
    again = InterpretableKDR(4).fit(given, labels)
    given[3, 4] += 1.0
    with pytest.raises(InputError, match="changed in place after fit"):
        _ = again.certificate_


def test_no_array_of_the_samples_crosses(monkeypatch, torch):
    crossed, down = [], Device.down
    monkeypatch.setattr(Device, "down", lambda self, array: crossed.append(array.numel()) or down(self, array))
    features, labels = random_samples(n_samples=600, n_features=10)
    InterpretableKDR(2, kernel_params={"sigma": 3.0}).fit(torch.tensor(features), labels)
    # Phi, or the Hessian on q (d - q) = 16 tangents.
    assert max(crossed) <= 16**2


@pytest.mark.parametrize("paradigm", ["unsupervised", "semi_supervised", "alternative"])
def test_clusterings_say_that_they_need_numpy(paradigm, torch):
    features, labels = scaled_wine()
    model = InterpretableKDR(2, paradigm=paradigm, paradigm_params={"n_clusters": 3})
    with pytest.raises(InputError, match=r"is for arrays of numpy, got Tensor; pass X.cpu\(\).numpy\(\)"):
        model.fit(torch.tensor(features), None if paradigm == "unsupervised" else labels)


def test_bad_tensors_are_named(torch):
    features, labels = scaled_wine()
    given, model = torch.tensor(features), InterpretableKDR(2)
    for X, y, message in (
        (torch.tensor(np.where(features > 3, np.nan, features)), labels, "NaN or infinite values, the first at row"),
        (given.half(), labels, "must be float64 or float32, got torch.float16"),
        (given, labels[:-1], "X has 178 samples and y 177"),
        (given, np.zeros(178, dtype=int), "at least 2 classes"),
        (given, None, "requires y to be passed, but the target y is None"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
    model.fit(given, labels)
    with pytest.raises(ValueError, match="X has 12 features, but InterpretableKDR is expecting 13 features"):
        model.transform(given[:, 1:])
