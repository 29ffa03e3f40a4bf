"""Tolerances of recomputed numbers: honest ones stay far below, and other evaluators agree with what is written out."""

import numpy as np
import pytest

from kdrbench.datasets import Standardiser, load_dataset
from kdrbench.paradigms import supervised_problem
from kdrbench.solvers.geometry.stiefel import relative_stationarity
from kdrbench.suite.archive.layers import opened
from kdrbench.suite.csv_files import csv_text, read_csv
from kdrbench.suite.systems.ikdr.objectives import Pairs, members_of, second_order, stationarity
from kdrbench.suite.systems.ikdr.recompute import TOLERANCES
from kdrbench.suite.verification import verify as verifying
from kdrbench.suite.verification.verify import Record, verify
from support.helpers import KERNELS, random_projection
from support.products import crossed
from support.tampering import place_of

DEFINITIONS = {
    "linear": {"family": "linear"},
    "squared": {"family": "squared"},
    "polynomial": {"family": "polynomial", "degree": 3, "offset": 1.0, "scale": 0.5},
    "gaussian": {"family": "gaussian", "sigma": 2.0},
    "multiquadric": {"family": "multiquadric", "offset": 1.5},
}
EVALUATORS = ["dense", "panels", "own", "pairwise_sum"]
OWN = {"linear": "factored", "squared": "factored", "polynomial": "monomial_sums"}


@pytest.mark.whole
@pytest.mark.parametrize("kind", ["made", "made_packed"])
def test_honest_numbers_are_a_tenth_of_their_tolerance_away(request, kind, monkeypatch):
    shares = {}

    def look(place, row, found):
        for column in {*TOLERANCES} & {*found.numbers}:
            number = found.numbers[column]
            shares[place, column] = abs(float(row[column]) - number.value) / number.allowed
        return ()

    monkeypatch.setattr(verifying, "differing", look)
    verify(Record(request.getfixturevalue(kind), own_code=True))
    assert len(shares) > 30
    assert {place: share for place, share in shares.items() if share > 0.1} == {}


def wine():
    data = load_dataset("wine")
    return Standardiser.fit(data.features).transform(data.features)[::2], data.labels[::2]


@pytest.mark.parametrize(("kernel", "evaluator"), crossed(list(DEFINITIONS), EVALUATORS, ["gaussian"], ["own"]))
def test_other_evaluators_agree(kernel, evaluator):
    (features, labels), projection = wine(), random_projection(seed=0, n_features=13, n_components=2)
    evaluator = OWN.get(kernel, "dense") if evaluator == "own" else evaluator
    problem = supervised_problem(features, labels, KERNELS[kernel]).evaluated(evaluator)
    pairs = Pairs.of_labels(features, members_of(DEFINITIONS[kernel], features, 2), labels)
    (cost, gradient), other = pairs.first_order(projection), problem.gradient(projection)
    assert -problem.value(projection) == pytest.approx(cost, rel=1e-11)
    assert np.linalg.norm(other - gradient) < 1e-11 * np.linalg.norm(gradient)
    where = projection, np.eye(13)
    assert evaluator == "pairwise_sum" or pairs.hessian(*where) == pytest.approx(problem.hessian(*where), rel=1e-9)
    assert relative_stationarity(projection, other) == pytest.approx(stationarity(projection, gradient), abs=1e-12)


@pytest.mark.parametrize("kernel", DEFINITIONS)
def test_rounding_a_projection_changes_less_than_a_tenth_of_the_tolerance(kernel):
    features, labels = wine()
    pairs = Pairs.of_labels(features, members_of(DEFINITIONS[kernel], features, 3), labels)

    def numbers(projection):
        cost, gradient = pairs.first_order(projection)
        return {"cost": cost, "stationarity": stationarity(projection, gradient)} | second_order(pairs, projection)

    for seed in range(4):
        exact = random_projection(seed=seed, n_features=13, n_components=3)
        there, here = numbers(exact), numbers(exact.astype(np.float32).astype(float))
        for name, number in there.items():
            size = abs(number) if name == "cost" else max(1.0, abs(number))
            assert abs(here[name] - number) < 0.1 * TOLERANCES[name][1] * size, name


@pytest.mark.slow("computes every curvature of a record again")
def test_a_curvature_changed_by_more_than_rounding_is_found(packed_place):
    with opened(packed_place) as folder:
        rows = read_csv(folder / "ikdr.csv")
        changed = [row for row in rows if row["curvature"]]
        for number, row in enumerate(changed):
            row["curvature"] = repr((1 + 1e-3, 1 - 1e-3, -1.0)[number % 3] * float(row["curvature"]))
        (folder / "ikdr.csv").write_text(csv_text(rows[0], (row.values() for row in rows)))
        findings = verify(Record(folder, own_code=True)).findings
    assert [finding.place for finding in findings if finding.column == "curvature"] == list(map(place_of, changed))
