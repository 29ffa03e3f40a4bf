"""What y is: classes or a continuous target by its type, as people have it, with what is unknown."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, make_blobs
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from kdrbench.errors import InputError
from kdrbench.estimators import DNE, InterpretableKDR, InterpretableKDRCV, LowRankKernelLearner
from kdrbench.estimators.targets import is_continuous
from kdrbench.reduction import LDA, SIR, GradientKDR
from support.helpers import scaled_wine

X, Y = scaled_wine()
DATES = pd.date_range("2020", periods=178)
WORDS = np.array([f"sample {number}" for number in range(178)])
NAMES = np.array(["low", "mid", "high"])
SCORES = np.rint(100 * np.random.default_rng(0).standard_normal(400))


@pytest.mark.parametrize(
    ("y", "continuous", "message"),
    [
        (SCORES + 0.5, True, None),
        (load_diabetes().target, True, "y has 214 different whole numbers of 442 samples and is taken as a continuous"),
        (SCORES.astype(int), True, "is taken as a continuous target; say target='continuous' or target='classes'"),
        (np.arange(400) % 20, False, None),
        (np.arange(400) % 3 == 0, False, None),
        (NAMES[Y], False, None),
        # Faces of forty people, ages without a gap, numbers with gaps of many samples: a guess.
        (np.arange(200) % 40 + 1, False, "40 different whole numbers of 200 samples and is taken as class labels; say"),
        (np.arange(4000) % 62 + 18, True, "62 different whole numbers of 4000 samples and is taken as a continuous"),
        (np.arange(80) % 40, False, "40 different whole numbers of 80 samples and is taken as class labels; say"),
        (np.arange(400) % 25 * 2, True, "25 different whole numbers of 400 samples and is taken as a continuous tar"),
        (np.arange(79) % 40, True, "40 different whole numbers of 79 samples and is taken as a continuous target"),
        (np.column_stack([SCORES, np.arange(400) % 3]), True, "is taken as a continuous target"),
        (np.eye(3)[Y].astype(int), False, None),
    ],
)
def test_the_type_of_y_decides_and_a_guess_is_a_warning(y, continuous, message):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert is_continuous(y) == continuous
    assert [bool(re.search(message or "", str(one.message))) for one in caught] == ([True] if message else [])
    assert not is_continuous(y, "classes")
    if y.dtype.kind != "U":
        assert is_continuous(y, "continuous")


@pytest.mark.filterwarnings("ignore:y has .* is taken as a continuous target")
def test_whole_numbers_of_many_values_are_a_target_as_others_are():
    values = np.rint(100 * X[:, 0])
    whole, real = (InterpretableKDR().fit(X, y) for y in (values.astype(int), values + 0.1))
    assert whole.components_.shape == (1, 13)
    np.testing.assert_allclose(np.abs(whole.components_), np.abs(real.components_), atol=1e-6)
    assert not hasattr(whole, "classes_")
    labelled = InterpretableKDR(1, kernel="linear", target="classes").fit(X, values)
    assert labelled.classes_.size == np.unique(values).size
    reduced = [GradientKDR(1, target=target).fit(X, values) for target in ("auto", "continuous", "classes")]
    np.testing.assert_array_equal(reduced[0].components_, reduced[1].components_)
    assert [one.target_type_ for one in (labelled, *reduced)] == ["classes", "continuous", "continuous", "classes"]


def test_learners_of_classes_alone_say_what_they_take_for_classes():
    for estimator in (DNE(), LowRankKernelLearner(n_constraints=5)):
        with pytest.warns(UserWarning, match=f"y has .* different whole numbers .*; {type(estimator).__name__} learns"):
            estimator.fit(X, np.rint(100 * X[:, 0]) // 2)
        with pytest.warns(UserWarning, match="y has 177 different labels of 178 samples; give labels that repeat, if"):
            estimator.fit(X, WORDS[np.maximum(np.arange(178), 1)])


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"target": "continuous"}, NAMES[Y], "target='continuous' needs y to be numbers, got <U4; give numbers, or"),
        ({"target": "continuous", "paradigm": "alternative"}, Y, "is for supervised learning; 'alternative' takes lab"),
        ({"target": "classes", "paradigm_params": {"target_kernel": "gaussian"}}, Y, "target_kernel is for continuous"),
        ({"target": "numbers"}, Y, "unknown target 'numbers'; allowed: auto, classes, continuous"),
        ({}, [None, *NAMES[Y][1:]], "Input y contains NaN or None: 1 missing value, the first in row 0; leave"),
        ({}, pd.Series(Y).astype("Int64").where(Y > 0), r"0; leave .* or .* InterpretableKDR\(paradigm='semi_superv"),
        ({}, np.full(178, 0.5), "y has the one value 0.5; give at least 2 different ones"),
        ({}, X[:, 0] * (np.arange(178) % 8 == 0), "target_kernel, the kernel of y: the median distance of these 178"),
        ({}, np.where(Y == 2, np.nan, Y), "48 missing values, the first in row 130"),
        ({}, ["a"] * 178, r"at least 2 classes, got 1 class: \['a'\]"),
        (None, pd.Series(DATES), r"labels must be text or numbers, got datetime64\[.s\]; give text, or numbers such"),
        (None, DATES.tz_localize("UTC"), "labels must be text or numbers, got Timestamp; give text"),
        (None, np.array([0, "a", 1] * 60, dtype=object)[:178], "labels must be of one type that sorts, got int, s"),
        (None, WORDS, "each of the 178 labels in y is different text; give labels that repeat, or numbers"),
        (None, np.where(Y == 2, np.nan, X[:, 0]), "48 missing values, the first in row 130; leave those samples out$"),
        ({"class_weight": {7: 1.0}}, Y, r"class_weight names 7, but the classes are \[0, 1, 2\]"),
        ({"class_weight": {1: 0.0}}, Y, "class_weight must hold finite numbers > 0"),
        ({"class_weight": "balanced"}, X[:, 0], "class_weight is for supervised learning from one column of class"),
    ],
)
def test_a_y_that_does_not_fit_is_one_sentence(options, y, message):
    model = InterpretableKDR(1, kernel="linear", **(options or {}))
    for estimator in (model, InterpretableKDRCV(), DNE(), SIR(), LDA())[: 5 if options is None else 1]:
        with pytest.raises(InputError, match=message):
            estimator.fit(X, y)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (Y[:, None], [0, 1, 2]),
        (pd.DataFrame({"class": NAMES[Y]}), ["high", "low", "mid"]),
        (pd.Series(Y, dtype="Int64"), [0, 1, 2]),
        (pd.Series(NAMES[Y], dtype="string"), ["high", "low", "mid"]),
        (pd.Series(NAMES[Y]).astype("category"), ["high", "low", "mid"]),
        (pd.Series(Y > 0, dtype="boolean"), [False, True]),
        (list(NAMES[Y]), ["high", "low", "mid"]),
    ],
)
def test_classes_are_right_however_y_is_stored(y, classes):
    for estimator in (InterpretableKDR(1, kernel="linear"), DNE(), GradientKDR(1)):
        assert estimator.fit(X, y).classes_.tolist() == classes


def test_labels_that_are_unknown_are_no_scores():
    samples, classes = make_blobs(150, centers=3, cluster_std=3.5, n_features=6, random_state=1)
    samples, known = StandardScaler().fit_transform(samples), np.zeros(150, bool)
    known[np.random.default_rng(0).choice(150, 30, replace=False)] = True
    model = InterpretableKDR(2, paradigm="semi_supervised", n_clusters=3, random_state=0)
    expected = model.fit(samples, np.where(known[:, None], np.eye(3)[classes], np.nan)).labels_
    assert normalized_mutual_info_score(expected, classes) > 0.9
    text = pd.Series(NAMES[classes]).where(known)
    ways = (np.where(known, classes, np.nan), np.where(known, classes, -1), text, text.to_numpy(dtype=object))
    ways += (np.where(known, NAMES[classes], "-1"), np.where(known, NAMES[classes].astype(object), -1))
    for y in (*ways, [name if one else None for name, one in zip(NAMES[classes], known, strict=True)]):
        np.testing.assert_array_equal(model.fit(samples, y).labels_, expected)
        assert len(model.classes_) == 3
    # Scores by name.
    scores = model.set_params(target="continuous").fit(samples, ways[0])
    assert not hasattr(scores, "classes_")
    assert normalized_mutual_info_score(scores.labels_, classes) < 0.9
    with pytest.raises(InputError, match=r"at least 2 classes, got 1 class: \[1\.0\]"):
        model.set_params(target="auto").fit(samples, np.where(known, 1.0, -1.0))


def test_class_weights_are_sample_weights():
    sizes = np.bincount(Y)
    balanced = InterpretableKDR(2, class_weight="balanced").fit(X, NAMES[Y])
    weighted = InterpretableKDR(2).fit(X, Y, sample_weight=178 / (3 * sizes[Y]))
    np.testing.assert_allclose(balanced.components_, weighted.components_, atol=1e-10)
    both = InterpretableKDR(2, class_weight={"mid": 2.0}).fit(X, NAMES[Y], sample_weight=1.0 + Y)
    product = InterpretableKDR(2).fit(X, Y, sample_weight=(1.0 + Y) * np.where(Y == 1, 2.0, 1.0))
    np.testing.assert_allclose(both.components_, product.components_, atol=1e-10)
