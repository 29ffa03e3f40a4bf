"""Tangents of the subspace that W spans."""

from __future__ import annotations

from kdrbench.kernels.family import FloatArray


def riemannian_gradient(projection: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return (I - WW') G, the gradient on the Grassmann manifold (Euclidean metric), given the Euclidean one.

    F depends on W only through WW', so W'G is symmetric and this is the Stiefel gradient as well.
    """
    return gradient - projection @ (projection.T @ gradient)
