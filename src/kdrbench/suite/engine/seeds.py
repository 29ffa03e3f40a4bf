"""Random generators seeded by the names that should matter, and by nothing else."""

from __future__ import annotations

import hashlib

import numpy as np


def seed_of(*axes: object) -> int:
    """Return a 64-bit seed: SHA-256 of the axes, for instance ("split", dataset, seed).

    What is not among the axes cannot matter: all solvers share splits and starts because neither names one.
    """
    return int.from_bytes(hashlib.sha256(repr(axes).encode()).digest()[:8], "big")


def rng_of(*axes: object) -> np.random.Generator:
    """Return a generator seeded by :func:`seed_of`."""
    return np.random.default_rng(seed_of(*axes))
