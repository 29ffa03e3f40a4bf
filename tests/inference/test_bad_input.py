"""What tests of projections, the atlas and the league say of samples that they cannot work with."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR
from kdrbench.inference import atlas, held_out_test, linear_time_hsic
from kdrbench.suite.systems.league.protocol import play

X, Y = np.random.default_rng(0).standard_normal((40, 5)), np.repeat([0, 1], 20)
MISSING = np.where(np.arange(5) == 2, np.where(np.arange(40) == 3, np.nan, X.T[2])[:, None], X)
USES = {
    "linear_time_hsic": lambda X, y: linear_time_hsic(X, y, n_permutations=19, random_state=0),
    "held_out_test": lambda X, y: held_out_test(PCA(1), X, y, n_permutations=19, random_state=0),
    "atlas": lambda X, y: atlas(InterpretableKDR(1), X, y, n_starts=2, random_state=0),
}
CASES = [
    (MISSING, Y, ValueError, "Input X contains NaN"),
    (X, np.where(np.arange(40) == 3, np.nan, Y), ValueError, "contains NaN"),
    (X, np.zeros(40, dtype=int), InputError, "labels must name at least 2 classes, got 1 class"),
    (X, Y[:-1], InputError, r"the same number of samples, at least 2; got 40 and \(39,\)"),
]


# Scikit-learn casts labels before it finds that one is missing.
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("use", USES)
def test_a_test_and_an_atlas_refuse_it_and_say_why(use):
    assert USES[use](X, Y)
    for features, labels, error, message in CASES:
        with pytest.raises(error, match=message):
            USES[use](features, labels)


def played(features, labels):
    return play({"own": (features, labels)}, ["lda"], n_components=(1,), n_folds=2, n_repeats=1)


def test_a_league_refuses_what_has_no_folds():
    assert [row["status"] for row in played(X, Y)] == ["converged"] * 2
    with pytest.raises(InputError, match="features hold 1 NaN or infinite values"):
        played(MISSING, Y)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[40, 39\]"):
        played(X, Y[:-1])


def test_a_method_that_needs_classes_loses_on_one_class():
    rows = played(X, np.zeros(40, dtype=int))
    assert [row["status"] for row in rows] == ["failed"] * 2
    assert all("labels must name at least 2 classes" in row["message"] for row in rows)
