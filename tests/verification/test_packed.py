"""A packed record verifies with what rounding to float32 allows, and tampering with it is found."""

import numpy as np
import pytest

from kdrbench.datasets import load_dataset
from kdrbench.suite.archive.unpack import opened
from kdrbench.suite.csv_files import csv_text, read_csv
from kdrbench.suite.verification import rounding
from kdrbench.suite.verification.members import members_of
from kdrbench.suite.verification.pairs import Pairs, stationarity
from kdrbench.suite.verification.record import Record
from kdrbench.suite.verification.runs import RunToVerify
from kdrbench.suite.verification.samples import RunSamples
from kdrbench.suite.verification.second_order import curvature
from kdrbench.suite.verification.verify import verify


def place_of(row):
    return "/".join(row[name] for name in ("experiment", "dataset", "kernel", "method", "run"))


def change(folder, kind, work):
    for path in (folder / "findings/folds").rglob("*.npz"):
        with np.load(path) as archive:
            arrays = {name: work(one) if f"/{kind}_" in name else one for name, one in archive.items()}
        np.savez(path, **arrays)


def test_the_bound_of_stationarity_is_of_sums_and_all_steps():
    data = load_dataset("wine")
    features = (data.features - data.features.mean(axis=0)) / data.features.std(axis=0)
    samples = RunSamples(features, features[:0], np.arange(178), np.arange(0), np.ones(178, bool))
    projection = np.linalg.qr(np.random.default_rng(0).standard_normal((13, 3)))[0].astype(np.float32)
    definition = {"kind": "solver", "paradigm": "supervised", "kernel": {"family": "gaussian", "sigma": 3.0}}
    run = RunToVerify(definition, samples, data.labels, {}, {"projection": projection}, first_order=True)
    found, exact = run.numbers()["stationarity"], projection.astype(float)
    pairs = Pairs.of_labels(features, members_of(definition["kernel"], features, 3), data.labels)
    here = pairs.first_order(exact)
    by_sums = 2.0 * here.gradient_rounding / np.linalg.norm(here.gradient)
    for steps, bound in ((1, found.allowed), (rounding.STEPS, found.bound)):
        bent = rounding.largest_slope(exact, here.gradient, pairs.gradient, steps)
        assert bound == pytest.approx(by_sums + rounding.of_stationarity(exact, here.gradient, bent), rel=1e-12)


@pytest.mark.slow("a record that is verified whole")
def test_a_projection_changed_by_more_than_rounding_is_found(packed_place):
    def turned(projection):
        other = projection.copy()
        other[:, 0] += 2e-5 * np.arange(len(other), dtype=np.float32)
        return np.linalg.qr(other)[0]

    with opened(packed_place) as folder:
        change(folder, "projection", turned)
        found = verify(Record(folder, own_code=True))
    places = {finding.place for finding in found.findings if finding.column in ("cost", "stationarity")}
    # Of two solvers, one of which fails after it was seen.
    assert len(places) == 16, found.findings


@pytest.mark.parametrize("factor", [1 + 1e-3, pytest.param(1 - 1e-3, marks=pytest.mark.whole), -1.0])
def test_a_curvature_changed_by_more_than_rounding_is_found(packed_place, factor):
    with opened(packed_place) as folder:
        rows = read_csv(folder / "ikdr.csv")
        changed = [row for row in rows if row["curvature"]]
        for row in changed:
            row["curvature"] = repr(factor * float(row["curvature"]))
        (folder / "ikdr.csv").write_text(csv_text(rows[0], (row.values() for row in rows)))
        found = verify(Record(folder, own_code=True))
    places = [finding.place for finding in found.findings if finding.column == "curvature"]
    assert places == [place_of(row) for row in changed]


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_bounds_hold_for_rounded_projections_and_are_near(kernel):
    data = load_dataset("wine")
    features = (data.features - data.features.mean(axis=0)) / data.features.std(axis=0)
    definition = {"family": "gaussian", "sigma": 3.0} if kernel == "gaussian" else {"family": "polynomial"}
    pairs = Pairs.of_labels(features, members_of(definition, features, 3), data.labels)
    worst = dict.fromkeys(("cost", "stationarity", "feasibility", "curvature"), 0.0)
    for seed in range(8):
        exact = np.linalg.qr(np.random.default_rng(seed).standard_normal((13, 3)))[0]
        rounded = exact.astype(np.float32).astype(float)
        here, there = pairs.first_order(rounded), pairs.first_order(exact)
        gradient, least = here.gradient, curvature(pairs, rounded, 60)
        bent = rounding.largest_slope(rounded, gradient, pairs.gradient)
        bounds = {
            "cost": rounding.of_cost(rounded, gradient),
            "stationarity": rounding.of_stationarity(rounded, gradient, bent),
            "feasibility": rounding.of_feasibility(rounded),
            "curvature": rounding.of_curvature(rounded, pairs, least, bent),
        }
        changes = {
            "cost": there.cost - here.cost,
            "stationarity": stationarity(exact, there.gradient) - stationarity(rounded, gradient),
            "feasibility": np.linalg.norm(exact.T @ exact - np.eye(3))
            - np.linalg.norm(rounded.T @ rounded - np.eye(3)),
            "curvature": curvature(pairs, exact, 60).value - least.value,
        }
        for name, bound in bounds.items():
            assert abs(changes[name]) <= bound
            worst[name] = max(worst[name], abs(changes[name]) / bound)
    # Bounds for the worst direction: what is left is no more than a few hundred times what happens.
    assert min(worst.values()) > 1e-3, worst


def test_lanczos_steps_find_the_largest_slope():
    rng = np.random.default_rng(0)
    half = rng.standard_normal((12, 12))
    hessian = half + half.T
    projection = np.linalg.qr(rng.standard_normal((6, 2)))[0]

    def gradient(at):
        return (hessian @ at.ravel()).reshape(at.shape)

    largest = np.abs(np.linalg.eigvalsh(hessian)).max()
    found = rounding.largest_slope(projection, gradient(projection), gradient)
    assert largest * (1 - 1e-4) <= found <= 1.3 * largest


def test_samples_near_a_decision_are_in_doubt():
    class Fitted:
        tol, classes_ = 1e-3, np.arange(3)

        def __init__(self, decisions):
            self.decision_function = lambda samples: np.array(decisions)

    # Pairs 0-1, 0-2, 1-2: sure of 0; 0 or 1; whoever is second does not matter.
    decisions = [[1.0, 1.0, 1.0], [1e-3, 1.0, 1.0], [1.0, 1.0, 1e-3]]
    assert rounding.share_in_doubt(Fitted(decisions), np.zeros((3, 1))) == pytest.approx(1 / 3)
    Fitted.classes_ = np.arange(2)
    assert rounding.share_in_doubt(Fitted([1e-3, -1.0]), np.zeros((2, 1))) == 0.5
