"""Data that come as a kernel matrix: nothing is known of the samples but how alike each two of them are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import DataError
from kdrbench.kernels.family import FloatArray


@dataclass(frozen=True)
class KernelSet:
    """``kernel``: n x n, float64, C-contiguous, symmetric, positive semidefinite; ``labels``: n class codes."""

    name: str
    kernel: FloatArray
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]

    @property
    def content_sha256(self) -> str:
        """SHA-256 of shape, little-endian values and labels."""
        digest = hashlib.sha256(repr(self.kernel.shape).encode())
        digest.update(self.kernel.astype("<f8").tobytes())
        digest.update(self.labels.astype("<i8").tobytes())
        return digest.hexdigest()


def check_kernel_set(data: KernelSet) -> None:
    """Raise ``DataError`` unless the kernel is square, finite, symmetric and positive semidefinite up to rounding.

    Text files round to some decimals, and rounding each entry by e moves an eigenvalue by at most n e: eigenvalues
    down to -n e are let pass for e = 1e-6 of the largest entry, the error of values printed with six digits.
    """
    kernel, n = data.kernel, len(data.labels)
    if kernel.shape != (n, n) or n == 0:
        raise DataError(
            f"kernel {data.name!r} has shape {kernel.shape} and {n} labels; it must be square, a row a label"
        )
    if not np.isfinite(kernel).all():
        raise DataError(f"kernel {data.name!r} holds NaN or infinite values")
    if not np.array_equal(kernel, kernel.T):
        row, column = np.argwhere(kernel != kernel.T)[0]
        raise DataError(
            f"kernel {data.name!r} is not symmetric: entry ({row}, {column}) is {kernel[row, column]}, entry "
            f"({column}, {row}) is {kernel[column, row]}"
        )
    smallest = float(np.linalg.eigvalsh(kernel)[0])
    if smallest < -1e-6 * n * np.abs(kernel).max():
        raise DataError(f"kernel {data.name!r} is not positive semidefinite: its smallest eigenvalue is {smallest:g}")
