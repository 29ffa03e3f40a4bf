"""Random sets, most of them unreasonable: whatever happens, it is said, and both solvers say the same."""

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.lowrank import (
    DIVERGENCES,
    SOLVERS,
    LowRankStatus,
    Stopping,
    diagonal,
    join,
    learn_kernel,
    relative_distances,
    similarities,
    squared_distances,
)


def unreasonable_set(seed):
    """Bounds from a hundredth to a hundred times the values of K0, some of the wrong sign; samples of any scale."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    factor = rng.standard_normal((n, int(rng.integers(1, n + 1)))) * 10.0 ** rng.integers(-3, 4)
    if rng.random() < 0.3:
        factor[:, -1] = factor[:, 0]
    kinds = [(squared_distances, 2), (similarities, 2), (diagonal, 1)] + ([(relative_distances, 3)] if n > 2 else [])
    parts = []
    for _ in range(int(rng.integers(1, 15))):
        build, width = kinds[rng.integers(len(kinds))]
        samples = rng.choice(n, width, replace=False)
        part = build(n, samples if width == 1 else samples[None], ["<=", ">=", "="][rng.integers(3)], 0.0)
        part.bounds[:] = part.values(factor)[0] * 10.0 ** rng.uniform(-2, 2) * (1 if rng.random() < 0.9 else -1)
        parts.append(part)
    return factor, join(*parts), np.inf if rng.random() < 0.7 else 10.0 ** rng.uniform(-2, 2)


# 62 and 253 ended in overflows and square roots of negative numbers before rounding was watched.
@pytest.mark.parametrize(
    "seed", [*range(8), 62, 253, *(pytest.param(seed, marks=pytest.mark.whole) for seed in range(8, 25))]
)
def test_every_set_ends_in_words_and_solvers_agree(seed):
    factor, constraints, slack = unreasonable_set(seed)
    for divergence in DIVERGENCES:
        found, refusals = [], []
        for solver in SOLVERS:
            options = {"divergence": divergence, "solver": solver, "slack": slack}
            try:
                learned = learn_kernel(factor, constraints, stopping=Stopping(1e-6, 1e-6, 300), **options)
            except InputError as error:
                refusals.append(str(error))
                continue
            assert np.isfinite(learned.factor).all()
            assert learned.message
            if learned.status is LowRankStatus.CONVERGED:
                assert learned.kkt_residual <= 1e-6
            found.append(learned)
        # What is refused is refused before any work, in the same words for all solvers.
        assert len(refusals) in (0, 2)
        assert len(set(refusals)) <= 1
        outcomes = {learned.status for learned in found}
        assert outcomes != {LowRankStatus.CONVERGED, LowRankStatus.INFEASIBLE}
        if outcomes == {LowRankStatus.CONVERGED}:
            # Residuals of 1e-6 leave kernels by the condition of the constraints apart.
            size = np.abs(found[0].kernel).max()
            np.testing.assert_allclose(found[0].kernel, found[1].kernel, rtol=0, atol=1e-3 * size)
