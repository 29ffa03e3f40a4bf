"""Write starts from Phi_0 with equal eigenvalues, and the F at which ISM and DG end from them, to an .npz file."""

import sys

import numpy as np

from kdrbench.kernels import build_kernel
from kdrbench.paradigms.task import SupervisedTask
from kdrbench.problems import supervised_gamma
from kdrbench.solvers import build_solver, make_start, solve
from kdrbench.solvers.monitor import IterationMonitor

KERNELS = {"gaussian": {"family": "gaussian"}, "polynomial": {"family": "polynomial", "degree": 3, "scale": "1/q"}}
SOLVERS = ({"method": "ism"}, {"method": "dimension_growth", "polish": False})


def data():
    """Samples and classes whose Phi_0 has ties: balanced classes, features twice, few features that differ."""
    rng = np.random.default_rng(1)
    classes = np.arange(40) % 3
    of_four = np.kron(np.eye(4), np.ones((10, 2)))[:, [0, 2, 4, 6, 1, 3, 5, 7]]
    yield "balanced classes", of_four, np.repeat(np.arange(4), 10)
    yield "each feature twice", np.repeat(rng.standard_normal((40, 100)), 2, axis=1), classes
    one = rng.standard_normal((40, 1))
    yield "one feature three times", np.hstack([one, one, one, rng.standard_normal((40, 5))]), classes


def main(path):
    """Write them."""
    found = {}
    for name, features, classes in data():
        for kernel, definition in KERNELS.items():
            task = SupervisedTask(features, supervised_gamma(classes), len(np.unique(classes)))
            built = build_kernel(definition, features, 6, task.alignment_target)
            start = make_start("surrogate", task.first_problem(built), 6, np.random.default_rng(0))
            found[f"{name}, {kernel}"] = start
            for solver in SOLVERS:
                problem = task.first_problem(built)
                result = solve(build_solver(solver), problem, start, IterationMonitor())
                found[f"{name}, {kernel}, {solver['method']}"] = np.array(problem.value(result.projection))
    np.savez(path, **found)


if __name__ == "__main__":
    main(sys.argv[1])
