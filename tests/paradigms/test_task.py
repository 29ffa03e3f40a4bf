"""Solvers that would draw starts of their own: they do for one start, not beside others, nor in rounds."""

from dataclasses import dataclass

import numpy as np
import pytest

from kdrbench.kernels import Gaussian
from kdrbench.paradigms import build_task, learn_from_all
from kdrbench.solvers import IterationMonitor, Status
from kdrbench.solvers.base import SolverOutcome
from support.helpers import random_projection


@dataclass
class Drawing:
    """Returns its start; notes whether it was to draw others."""

    ran: list
    draws: bool = True
    requires = frozenset()

    @property
    def alone(self):
        return Drawing(self.ran, draws=False)

    def run(self, problem, start, monitor):
        self.ran.append(self.draws)
        return SolverOutcome(start, Status.CONVERGED, "the start")


@pytest.mark.parametrize(
    ("paradigm", "n_starts", "draws"), [("supervised", 1, True), ("supervised", 3, False), ("unsupervised", 1, False)]
)
def test_a_solver_draws_starts_only_where_it_is_given_one_for_one_problem(paradigm, n_starts, draws):
    features = np.random.default_rng(0).standard_normal((30, 4))
    known = np.arange(30) % 2 if paradigm == "supervised" else None
    task = build_task(paradigm, {} if paradigm == "supervised" else {"n_clusters": 2}, features, known)
    solver = Drawing([])
    starts = (random_projection(seed, n_features=4, n_components=2) for seed in range(n_starts))
    assert len(learn_from_all(task, Gaussian(1.0), solver, starts, IterationMonitor)) == n_starts
    assert solver.ran
    assert set(solver.ran) == {draws}
