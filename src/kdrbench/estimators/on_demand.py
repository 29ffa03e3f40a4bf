"""What is computed of a solution when it is first asked for: its certificate, and the share of each component."""

from __future__ import annotations

import zlib
from contextlib import suppress
from typing import Any

import numpy as np

from kdrbench.arrays import fingerprint_of, is_device_array
from kdrbench.blas import one_blas_thread
from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.problems import Problem
from kdrbench.samples import Samples
from kdrbench.solvers.geometry.certificate import Certificate, certify


class OnDemand:
    """The certificate of a projection W, and its :func:`objective_shares`.

    Until both are computed the problem is held, and so are its ``features``, without a copy. They must not change in
    the meantime, which a checksum verifies. A pickle holds what is computed and no data: all is computed before, where
    it still can be.
    """

    def __init__(
        self, problem: Problem, features: FloatArray | Samples, projection: FloatArray, lowest: FloatArray | None = None
    ) -> None:
        self._certificate: Certificate | None = None
        self._shares: FloatArray | None = None
        self._source: tuple[Problem, FloatArray | Samples, FloatArray, FloatArray | None] | None
        self._source, self._checksum = (problem, features, projection, lowest), _checksum(features)
        # F of streamed samples takes passes over them.
        self.has_shares = not isinstance(features, Samples)

    def certificate(self) -> Certificate:
        """Return the certificate; ``InputError`` where the features are no longer those of the problem."""
        if self._certificate is None:
            problem, _, projection, lowest = self._held()
            with one_blas_thread():
                self._certificate = certify(problem, projection, lowest)
            self._release()
        return self._certificate

    def shares(self) -> FloatArray:
        """Return the shares of the q components; ``InputError`` as :meth:`certificate`."""
        if self._shares is None:
            problem, _, projection, _ = self._held()
            with one_blas_thread():
                self._shares = objective_shares(problem, projection)
            self._release()
        return self._shares

    def compute(self) -> None:
        """Compute all; ``InputError`` as :meth:`certificate`."""
        self.certificate()
        if self.has_shares:
            self.shares()

    def _release(self) -> None:
        if self._certificate is not None and (self._shares is not None or not self.has_shares):
            self._source = None

    def _held(self) -> tuple[Problem, FloatArray | Samples, FloatArray, FloatArray | None]:
        if self._source is None or _checksum(self._source[1]) != self._checksum:
            raise InputError(
                "the features were changed in place after fit, so that nothing more can be computed of them; ask for "
                "certificate_ and explained_objective_ratio_ before you change them, or fit a copy"
            )
        return self._source

    def __getstate__(self) -> dict[str, Any]:
        with suppress(InputError):
            self.compute()
        return {**self.__dict__, "_source": None}


def objective_shares(problem: Problem, projection: FloatArray) -> FloatArray:
    """Return the q shares of F(W) - F(0): what each component adds to those before it, of all that add anything."""
    nothing = problem.value(np.zeros((len(projection), 1)))
    values = [problem.value(np.ascontiguousarray(projection[:, :count])) for count in range(1, projection.shape[1] + 1)]
    gains = np.maximum(np.diff([nothing, *values]), 0.0)
    return gains / gains.sum() if gains.any() else np.full_like(gains, 1.0 / len(gains))


def _checksum(features: FloatArray | Samples) -> int:
    if isinstance(features, Samples):
        return features.checksum()
    rows = fingerprint_of(features) if is_device_array(features) else features
    return zlib.crc32(np.ascontiguousarray(rows).data)
