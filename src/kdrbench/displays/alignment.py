"""Rows of learned projections, aligned with those of another fit."""

from __future__ import annotations

import numpy as np

from kdrbench.errors import InputError
from kdrbench.inference.refits import turned_to
from kdrbench.kernels.family import FloatArray

_ORTHONORMAL = 1e-6


def aligned(components: FloatArray, reference: FloatArray, alignment: str) -> FloatArray:
    """Return the rows nearest to the reference's; by Procrustes there may be another number of them."""
    if alignment == "procrustes":
        return turned_to(components.T, reference.T).T
    if components.shape != reference.shape:
        raise InputError(
            f"a resample has {len(components)} components instead of {len(reference)}, which signs cannot align; give "
            "n_components, or alignment='procrustes'"
        )
    signs = np.where(np.sum(components * reference, axis=1) < 0.0, -1.0, 1.0)
    return np.asarray(signs[:, None] * components)


def principal_rows(components: FloatArray) -> FloatArray:
    """Return orthonormal rows as they are, and others rotated to orthogonal ones, the longest first."""
    gram = components @ components.T
    if np.abs(gram - np.eye(len(gram))).max() <= _ORTHONORMAL:
        return components
    _, lengths, right = np.linalg.svd(components, full_matrices=False)
    return np.asarray(lengths[:, None] * right)


def row_basis(components: FloatArray) -> FloatArray:
    """Return orthonormal rows that span the same space."""
    _, lengths, right = np.linalg.svd(components, full_matrices=False)
    return np.asarray(right[lengths > lengths[0] * max(components.shape) * np.finfo(float).eps])
