"""Plug-ins as text, one of each kind, for tests that write them to files."""

SOLVER = """
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kdrbench.solvers import SolverOutcome, Status


@dataclass(frozen=True)
class Mine:
    step: float = 0.5
    requires: ClassVar[frozenset[str]] = frozenset({"surrogate"})
    own_rule: ClassVar[str] = "five steps"

    def run(self, problem, start, monitor):
        projection = start
        for _ in range(5):
            if not monitor.keep_going(projection):
                return SolverOutcome(projection, monitor.stop_status, monitor.stop_message)
            vectors = np.linalg.eigh(problem.surrogate(projection))[1]
            projection = vectors[:, ::-1][:, : start.shape[1]].copy()
        return SolverOutcome(projection, Status.CONVERGED, "five steps")
"""

KERNEL = """
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kdrbench.kernels import Pairing, median_distance


@dataclass(frozen=True)
class Rational:
    scale: float = 0.0
    pairing: ClassVar[Pairing] = Pairing.DIFFERENCE

    def on_samples(self, features, n_components):
        return self if self.scale else Rational(median_distance(features) ** 2)

    def value(self, beta):
        return 1 / (1 + beta / self.scale)

    def derivative(self, beta):
        return -1 / self.scale / (1 + beta / self.scale) ** 2

    def second_derivative(self, beta):
        return 2 / self.scale**2 / (1 + beta / self.scale) ** 3
"""

DATA = """
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Blobs:
    n_samples: int = 60
    label = "Blobs"

    def load(self):
        labels = np.arange(self.n_samples) % 3
        rng = np.random.default_rng(0)
        return rng.standard_normal((self.n_samples, 5)) + labels[:, None], labels
"""

LEARNER = """
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Whitening:
    share: float = 1.0

    def fit(self, features, labels):
        return np.linalg.inv(np.linalg.cholesky(np.cov(features.T) + 1e-9 * np.eye(features.shape[1]))).T * self.share
"""


def write_all(folder):
    """Write one of each kind and return their paths by kind."""
    texts = {"solver": SOLVER, "kernel": KERNEL, "data": DATA, "learner": LEARNER}
    for name, text in texts.items():
        (folder / f"my_{name}.py").write_text(text)
    return {name: folder / f"my_{name}.py" for name in texts}
