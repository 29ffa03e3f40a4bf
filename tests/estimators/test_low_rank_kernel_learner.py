import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances

from kdrbench.estimators import LowRankKernelLearner
from kdrbench.kernels import Gaussian, gram_matrix
from kdrbench.lowrank import LowRankStatus, join, similarities, squared_distances
from support.helpers import scaled_wine

X, Y = scaled_wine()


@pytest.mark.parametrize("divergence", ["burg", "von_neumann"])
@pytest.mark.parametrize("options", [{}, {"n_components": 5}, {"kernel": "gaussian", "n_components": 20}])
def test_training_samples_are_mapped_to_the_factor(options, divergence):
    model = LowRankKernelLearner(divergence=divergence, random_state=0, **options).fit(X, Y)
    assert model.result_.status is LowRankStatus.CONVERGED
    np.testing.assert_allclose(model.transform(X), model.result_.factor, atol=1e-8)
    assert model.transform(X).shape == (178, options.get("n_components", 13))


def test_new_samples_keep_the_kernel_with_old_ones():
    # Without constraints at work the map is the identity in feature space: k(x, x') of new and old samples is kept.
    constraints = squared_distances(100, [(0, 1)], "<=", 10.0)
    mapped = LowRankKernelLearner(kernel=Gaussian(4.0)).fit(X[:100], constraints=constraints).transform(X)
    np.testing.assert_allclose(mapped @ mapped[:100].T, gram_matrix(Gaussian(4.0), X)[:, :100], atol=1e-6)


def test_classes_come_nearer_as_asked():
    model = LowRankKernelLearner(n_constraints=80, random_state=0, slack=np.inf).fit(X, Y)
    before, after = pairwise_distances(X) ** 2, pairwise_distances(model.transform(X)) ** 2
    same = Y[:, None] == Y
    ratio = np.divide(after, before, out=np.ones_like(after), where=before > 1e-9)
    assert ratio[same].mean() < ratio[~same].mean() - 0.2
    assert model.constraints_.violations(model.result_.factor).max() <= 1e-3 * model.constraints_.bounds.max()


def test_constraints_take_the_place_of_labels():
    asked = join(squared_distances(178, [(0, 100)], "=", 7.0), similarities(178, [(3, 50)], ">=", 4.0))
    model = LowRankKernelLearner(slack=np.inf, tol=1e-9, solver="newton").fit(X, constraints=asked)
    rows = model.transform(X)
    assert np.sum((rows[0] - rows[100]) ** 2) == pytest.approx(7.0)
    assert rows[3] @ rows[50] >= 4.0 - 1e-7
    assert not hasattr(model, "classes_")
    assert model.set_params(slack=1.0).fit(X, Y).classes_.tolist() == [0, 1, 2]


def test_a_set_without_solution_is_warned_of_and_so_are_labels_that_seem_no_classes_once():
    asked = squared_distances(178, [(0, 1), (1, 2), (0, 2)], ["<=", "<=", ">="], [0.1, 0.1, 9.0])
    with pytest.warns(ConvergenceWarning, match="newton ended as infeasible: .* in conflict: 0, distance"):
        LowRankKernelLearner(slack=np.inf).fit(X, constraints=asked)
    LowRankKernelLearner().fit(X, constraints=asked)
    labels = np.array([f"c{place % 100}" for place in range(178)])
    with pytest.warns(UserWarning, match="y has 100 different labels of 178 samples") as warned:
        LowRankKernelLearner().fit(X, labels)
    assert len(warned) == 1


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({"n_components": 14}, {"y": Y}, "must be None or an integer between 1 and the kernel's rank 13, got 14"),
        ({"n_components": 200, "kernel": "gaussian"}, {"y": Y}, "rank must be None or an integer between 1 and the"),
        ({"kernel": "multiquadric"}, {"y": Y}, "the kernel is not positive semidefinite"),
        ({"divergence": "frobenius"}, {"y": Y}, "unknown divergence 'frobenius'"),
        ({"tol": 0.0}, {"y": Y}, "tol must be a finite number > 0, got 0.0"),
        ({}, {"y": np.zeros(178)}, "labels must name at least 2 classes, got 1 class"),
        ({}, {"constraints": [(0, 1)]}, r"constraints must be kdrbench.lowrank.Constraints, got list"),
    ],
)
def test_bad_parameters_and_targets_are_refused(options, given, message):
    with pytest.raises(ValueError, match=message):
        LowRankKernelLearner(**options).fit(X, **given)
