"""What rounding is allowed to explain: honest numbers stay far below, and ten times it is found."""

import numpy as np
import pytest

from kdrbench.datasets import Standardiser, load_dataset
from kdrbench.paradigms import supervised_problem
from kdrbench.solvers.geometry.stiefel import relative_stationarity
from kdrbench.suite.verification import batches
from kdrbench.suite.verification.members import members_of
from kdrbench.suite.verification.number import Number
from kdrbench.suite.verification.pairs import Pairs, stationarity
from kdrbench.suite.verification.record import Record
from kdrbench.suite.verification.verify import verify
from support.helpers import KERNELS, random_projection
from support.products import crossed

# Columns whose bounds follow from rounding.
DERIVED = ("cost", "stationarity", "feasibility")
DEFINITIONS = {
    "linear": {"family": "linear"},
    "squared": {"family": "squared"},
    "polynomial": {"family": "polynomial", "degree": 3, "offset": 1.0, "scale": 0.5},
    "gaussian": {"family": "gaussian", "sigma": 2.0},
    "multiquadric": {"family": "multiquadric", "offset": 1.5},
}
EVALUATORS = ["dense", "panels", "own", "pairwise_sum"]
OWN = {"linear": "factored", "squared": "factored", "polynomial": "monomial_sums"}


@pytest.fixture(scope="module")
def numbers(made):
    """Of each row its columns and what is computed again."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "differing", lambda place, row, known, _: found.append((row, known)) or ())
        verify(Record(made, own_code=True))
    return found


@pytest.mark.whole
def test_honest_numbers_are_a_tenth_of_their_bound_away(numbers):
    shares = {
        (row["experiment"], row["kernel"], row["method"], column): abs(float(row[column]) - known[column].value)
        / known[column].bound
        for row, known in numbers
        for column in DERIVED
        if column in known
    }
    assert len(shares) > 30
    assert {place: share for place, share in shares.items() if share > 0.1} == {}


@pytest.mark.slow("a record that is made for this module")
def test_ten_bounds_away_is_found_wherever_a_number_is(numbers):
    for row, known in numbers:
        for column in {*DERIVED} & {*known}:
            away = known[column].value + 10.0 * known[column].bound
            changed = {column: Number(known[column].value, known[column].bound)}
            findings = list(batches.differing("run", {**row, "cost": "", "quality": "", column: repr(away)}, changed))
            assert [finding.column for finding in findings] == [column]


def test_stationarity_is_known_much_better_than_to_1e6(numbers):
    # 1e-6 is called stationary: a bound near it would say nothing.
    assert max(known["stationarity"].bound for _, known in numbers if "stationarity" in known) < 1e-9


@pytest.mark.parametrize(("kernel", "evaluator"), crossed(list(DEFINITIONS), EVALUATORS, ["gaussian"], ["own"]))
def test_other_evaluators_are_a_tenth_of_the_bound_away(kernel, evaluator):
    data = load_dataset("wine")
    features = Standardiser.fit(data.features).transform(data.features)[::2]
    labels, projection = data.labels[::2], random_projection(seed=0, n_features=13, n_components=2)
    evaluator = OWN.get(kernel, "dense") if evaluator == "own" else evaluator
    problem = supervised_problem(features, labels, KERNELS[kernel]).evaluated(evaluator)
    pairs = Pairs.of_labels(features, members_of(DEFINITIONS[kernel], features, 2), labels)
    at, gradient = pairs.first_order(projection), -problem.gradient(projection)
    assert abs(-problem.value(projection) - at.cost) <= 0.1 * at.cost_rounding
    # That of -F has the other sign.
    apart = min(np.linalg.norm(sign * gradient - at.gradient) for sign in (1.0, -1.0))
    assert apart <= 0.1 * at.gradient_rounding
    # Nor is the bound so wide that it says nothing.
    assert at.gradient_rounding < 1e-10 * np.linalg.norm(at.gradient)
    assert at.cost_rounding < 1e-10 * max(abs(at.cost), 1.0)
    found = relative_stationarity(projection, gradient)
    assert found == pytest.approx(stationarity(projection, at.gradient), abs=1e-12)
