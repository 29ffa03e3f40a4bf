"""Small problems of every kind, with the largest F that is known, for the matrix of solvers."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from kdrbench.evaluation import build_problem
from kdrbench.kernels import Combination, Gaussian, RelativeGaussian, Term, neighbour_distances
from kdrbench.paradigms import Alternation, ClusteringTask, supervised_problem
from kdrbench.problems import TraceObjective, supervised_gamma
from support.helpers import KERNELS, random_samples, small_problem


@dataclass(frozen=True)
class SolverCase:
    """A problem by name, its number of components q, and ``optimum``, the largest F found from 20 starts.

    ``local_optimum`` is where first-order methods end from the surrogate's start, if that is another; ``ism_cycles``
    says that plain ISM does not settle.
    """

    name: str
    n_components: int
    optimum: float
    local_optimum: float | None = None
    ism_cycles: bool = False
    autograd_knows_it: bool = True

    def problem(self):
        return _MAKERS[self.name]()


def _of(kernel, n_constant=0, **options):
    """The supervised problem of random samples, with constant columns beside them."""
    features, labels = random_samples(**options)
    return supervised_problem(np.pad(features, [(0, 0), (0, n_constant)]), labels, kernel)


def _unsupervised():
    return ClusteringTask(random_samples()[0], Alternation(3, degrees="embedding")).first_problem(Gaussian(2.0))


def _kept_diagonal():
    features, labels = random_samples()
    return build_problem(TraceObjective(features, KERNELS["polynomial"], supervised_gamma(labels, zero_diagonal=False)))


_MAKERS = {
    **{name: partial(small_problem, name) for name in KERNELS},
    "combination": lambda: _of(Combination((Term(5.0, Gaussian(2.0)), Term(1.0, KERNELS["polynomial"])))),
    "relative gaussian": lambda: _of(RelativeGaussian(neighbour_distances(random_samples()[0], 7))),
    "more features than samples": lambda: _of(Gaussian(12.0), n_samples=24, n_features=70),
    "one component": small_problem,
    "as many components as features": small_problem,
    "constant columns": lambda: _of(Gaussian(2.0), n_constant=2),
    "unsupervised": _unsupervised,
    "diagonal kept": _kept_diagonal,
}

# Values are known to twelve digits.
ROUNDING = 1e-11
CASES = [
    # The sum of the two largest eigenvalues of Phi, which is the same everywhere.
    SolverCase("linear", 2, 1391.3781393361041),
    SolverCase("squared", 2, 3031.6433756225792),
    SolverCase("polynomial", 2, 12516.322016972954),
    SolverCase("gaussian", 2, 85.18585514526532),
    SolverCase("multiquadric", 2, 472.89493149938437),
    SolverCase("combination", 2, 12873.451533848876),
    SolverCase("relative gaussian", 2, 66.13587303277271, autograd_knows_it=False),
    SolverCase("more features than samples", 2, 10.745927456249435),
    SolverCase("one component", 1, 94.92709906429211),
    SolverCase("as many components as features", 6, 33.46154236060311),
    # A constant feature beside the one best component is better than two components: curvature shows the way.
    SolverCase("constant columns", 2, 94.92709906429253, local_optimum=85.18585514526532),
    SolverCase("unsupervised", 2, 10.8690291454496, ism_cycles=True),
    SolverCase("diagonal kept", 2, 17279.14440302422),
]
