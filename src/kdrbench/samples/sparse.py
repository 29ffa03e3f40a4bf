"""Sparse samples: they are held as they are, and rows are made dense a few MiB at a time in each pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdrbench.samples.base import FloatArray, Samples, checked_shape


class SparseSamples(Samples):
    """The rows of a sparse matrix or array of scipy, n x d, held in compressed rows."""

    def __init__(self, matrix: Any) -> None:
        self.shape, self.dtype = checked_shape(matrix.shape, matrix.dtype), matrix.dtype
        self._matrix = matrix.tocsr()

    def __sizeof__(self) -> int:
        held = (self._matrix.data, self._matrix.indices, self._matrix.indptr)
        return object.__sizeof__(self) + sum(int(array.nbytes) for array in held)

    def rows(self, rows: slice) -> FloatArray:
        """Return some rows as a dense array."""
        return np.ascontiguousarray(self._matrix[rows].toarray(), dtype=np.float64)

    def part(self, rows: slice) -> SparseSamples:
        """Return some of the samples, of which a pickle holds these only."""
        return SparseSamples(self._matrix[rows])
