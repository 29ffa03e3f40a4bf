import numpy as np
import pytest
from sklearn.decomposition import PCA

from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR
from kdrbench.inference import atlas
from kdrbench.inference.atlas import place_of, rank_correlation
from kdrbench.paradigms.task import supervised_problem

RNG = np.random.default_rng(0)
# Three pairs of clusters: several directions of the plane separate one pair and overlay others.
CENTRES = 6.0 * np.array([[0, 0], [0, 1], [1, 0], [1.3, 1], [-0.8, 0.2], [0.3, -1.0]])
X, Y = np.repeat(CENTRES, 8, axis=0) + RNG.standard_normal((48, 2)), np.repeat([0, 1, 0, 1, 2, 2], 8)
MODEL = InterpretableKDR(1, kernel_params={"sigma": 1.5})


def maxima_of_all_directions(steps=3600):
    """Return the angles of the local maxima of F on a grid of directions of the plane, in degrees, and F there."""
    angles = np.arange(steps) * np.pi / steps
    problem = supervised_problem(X, Y, MODEL.fit(X, Y).kernel_)
    values = np.array([problem.value(np.array([[np.cos(a)], [np.sin(a)]])) for a in angles])
    is_top = (values > np.roll(values, 1)) & (values > np.roll(values, -1))
    return np.degrees(angles[is_top]), values[is_top]


def test_the_optima_are_the_local_maxima_of_a_scan():
    angles, values = maxima_of_all_directions()
    assert len(angles) == 3
    # A method of small steps ends on the hill where it began.
    climber = InterpretableKDR(1, kernel_params={"sigma": 1.5}, solver="lbfgs_converged")
    found = atlas(climber, X, Y, n_starts=40, random_state=0)
    assert len(found.optima) == len(angles)
    order = np.argsort(-values)
    for optimum, angle, value in zip(found.optima, angles[order], values[order], strict=True):
        turned = np.degrees(np.arctan2(optimum.projection[1, 0], optimum.projection[0, 0])) % 180.0
        # A step of the grid.
        assert abs((turned - angle + 90.0) % 180.0 - 90.0) <= 0.05 + 1e-9
        assert value <= optimum.objective
        assert optimum.certificate.curvature > 0.0
    assert found.shares.sum() == pytest.approx(1.0)
    assert [np.sum(found.reached == place) for place in range(len(angles))] == [one.n_reached for one in found.optima]
    projections = [one.projection for one in found.optima]
    assert place_of(projections[2], projections, 1.0) == 2
    assert place_of(projections[2][::-1], projections, 1.0) == -1


@pytest.mark.slow("hundreds of bootstrapped intervals")
def test_intervals_of_rank_correlations_cover_the_truth():
    rng = np.random.default_rng(0)
    costs = rng.standard_normal(40)
    assert rank_correlation(costs, -costs, rng) == pytest.approx((-1.0, -1.0, -1.0))
    covered = 0
    for _ in range(20):
        scores = rng.standard_normal(40)
        tau, low, high = rank_correlation(costs, scores, rng, 200)
        assert low <= tau <= high
        covered += low <= 0.0 <= high
    # Of 20 intervals of 95 %, fewer than 16 cover with a probability of 3 in 1000.
    assert covered >= 16
    assert rank_correlation([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], rng) is None
    assert rank_correlation([1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0], rng) is None


def test_what_has_no_certificate_is_no_optimum():
    found = atlas(InterpretableKDR(1, max_iter=1, solver="ism"), X, Y, n_starts=3, random_state=0)
    assert found.optima == ()
    assert (found.reached == -1).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": PCA()}, "an atlas is of an InterpretableKDR that learns from labels, got PCA"),
        ({"n_starts": 0}, "n_starts must be an integer >= 1, got 0"),
        ({"angle_deg": 0.0}, "angle_deg must be a finite number > 0, got 0.0"),
    ],
)
def test_errors(change, message):
    with pytest.raises(InputError, match=message):
        atlas(**{"estimator": MODEL, "X": X, "y": Y, **change})
