"""Problems that offer the oracles alone, some quadratic, with answers known by hand, and a monitor that keeps notes."""

import numpy as np

from kdrbench.problems import Counters, Problem
from kdrbench.solvers import Monitor


class Noted(Monitor):
    """Keeps the names of its calls, and what it was given."""

    def __init__(self, **options):
        super().__init__(**options)
        self.calls, self.accepted, self.states = [], [], []

    def begin(self):
        self.calls.append("begin")
        super().begin()

    def keep_going(self, iterate):
        self.calls.append("keep_going")
        return super().keep_going(iterate)

    def end(self):
        self.calls.append("end")

    def accept(self, projection):
        self.calls.append("accept")
        self.accepted.append(projection)

    def checkpoint(self, state):
        self.states.append(state())


class Quadratic(Problem):
    """F = Tr(W'AW): Phi is A wherever W is."""

    n_features = 0

    def __init__(self, *values):
        self.matrix, self.counters, self.n_features = np.diag(np.array(values, float)), Counters(), len(values)

    def value(self, point):
        self.counters.value += 1
        return float(np.vdot(point, self.matrix @ point))

    def gradient(self, point):
        self.counters.gradient += 1
        return 2 * self.matrix @ point

    def hessian_vector(self, point, direction):
        return 2 * self.matrix @ direction

    def surrogate(self, point):
        self.counters.surrogate += 1
        return self.matrix


class PlainProblem(Problem):
    """Has the oracles alone; value and gradient are asked for apart."""

    n_features = 0

    def __init__(self, problem):
        self.counters, self.n_features = problem.counters, problem.n_features
        for oracle in ("value", "gradient", "hessian_vector", "surrogate", "initial_surrogate"):
            setattr(self, oracle, getattr(problem, oracle))
