"""Escape from saddles: a step along the lowest curvature of E = -F, where the gradient says nothing."""

from __future__ import annotations

import numpy as np

from kdrbench.solvers.geometry.stiefel import orthonormalised
from kdrbench.solvers.safeguarded.finish import NewtonSearch, rounding_of

# The longest step, and how often it is halved.
_HALVINGS = 30


def escape(search: NewtonSearch) -> bool:
    """Leave a saddle along its lowest curvature; return false where rounding hides every gain.

    Of the steps of length 1, 1/2, 1/4, ... in both directions, the first is taken that gains a quarter of what the
    curvature promises.
    """
    curvature, direction = search.model().smallest_curvature()
    for length in 0.5 ** np.arange(0, _HALVINGS):
        enough = search.value - 0.125 * curvature * length**2
        # Smaller gains are indistinguishable from rounding.
        if enough - search.value <= rounding_of(search.value):
            return False
        for sign in (1.0, -1.0):
            candidate = orthonormalised(search.point + sign * length * direction)
            value = search.problem.value(candidate)
            if value > enough:
                search.restart_at(candidate, value)
                return True
    return False
