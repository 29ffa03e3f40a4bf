"""Small problems and baseline implementations that several test modules share."""

import os
import tracemalloc
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from kdrbench.datasets import Standardiser, load_dataset
from kdrbench.evaluation import build_problem
from kdrbench.kernels import Gaussian, Linear, Multiquadric, Polynomial, Squared, build_kernel
from kdrbench.paradigms import supervised_problem
from kdrbench.problems import TraceObjective, target_gamma
from kdrbench.solvers import Monitor, build_solver, make_start, solve
from support.numerics import feature_order, in_order

KERNELS = {
    "linear": Linear(),
    "squared": Squared(),
    "polynomial": Polynomial(degree=3, offset=1.0, scale=0.5),
    "gaussian": Gaussian(sigma=2.0),
    "multiquadric": Multiquadric(offset=1.5),
}


def authors_cancer():
    """The 137 samples of the Wisconsin set that ISM+ reports on, standardised, and their labels."""
    folder = Path(os.environ["KDRBENCH_MIRROR"], "authors-cancer")
    features = np.loadtxt(folder / "breast_30.00_validation.csv", delimiter=",")
    labels = np.loadtxt(folder / "breast_30.00_label_validation.csv", delimiter=",")
    return Standardiser.fit(features).transform(features), labels


def regression_problem(features, targets, kernel, target_kernel):
    """max_W Tr(H K_y H K_XW) with the diagonal of K dropped, for continuous targets."""
    return build_problem(TraceObjective(features, kernel, target_gamma(targets, target_kernel)))


def scaled_wine():
    """Return the 178 x 13 features of the wine data, each with mean 0 and variance 1, and the classes."""
    features, labels = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(features), labels


def random_samples(seed=0, n_samples=40, n_features=6, n_classes=3):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_samples) % n_classes
    features = rng.standard_normal((n_samples, n_features)) + 0.7 * labels[:, None]
    return in_order(features - features.mean(axis=0), labels)


def random_projection(seed=1, n_features=6, n_components=2):
    rng = np.random.default_rng(seed)
    return np.linalg.qr(rng.standard_normal((n_features, n_components)))[0][feature_order(n_features)]


def small_problem(kernel="gaussian", **options):
    features, labels = random_samples(**options)
    return supervised_problem(features, labels, KERNELS[kernel])


def problem_on(name, n_components, kernel):
    """The supervised problem of all rows, standardised, with the kernel's usual options."""
    dataset = load_dataset(name)
    features = Standardiser.fit(dataset.features).transform(dataset.features)
    return supervised_problem(features, dataset.labels, build_kernel({"family": kernel}, features, n_components))


class Watcher(Monitor):
    """Keeps F of every iterate offered."""

    def __init__(self, problem):
        super().__init__()
        self._problem = problem.fresh()
        self.values = []

    def keep_going(self, iterate):
        self.values.append(self._problem.value(iterate))
        return super().keep_going(iterate)


@contextmanager
def traced_memory():
    """Trace what a block allocates; ``peak`` of what is yielded is then the most bytes that were held at once."""
    traced = SimpleNamespace(peak=0)
    tracemalloc.start()
    try:
        yield traced
        traced.peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def solved(problem, n_components=2, method="ism_safeguarded", *, start="surrogate", monitor=None, **options):
    """Return what a method with these options makes of a problem from a start, or from that of a name."""
    first = make_start(start, problem, n_components, np.random.default_rng(0)) if isinstance(start, str) else start
    return solve(build_solver({"method": method, **options}), problem, first, monitor or Monitor())


def blas_threads():
    """Return the numbers of threads of the loaded BLAS libraries."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
