"""Problems on which plain ISM is known to fail: five kernels on structured data and on noise."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kdrbench.datasets import Standardiser, load_dataset, synthetic
from kdrbench.kernels import Kernel, build_kernel, median_distance
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import supervised_problem
from kdrbench.problems import Problem

N_COMPONENTS = 3


@dataclass(frozen=True)
class Case:
    """One problem with where it comes from."""

    kernel: str
    family: str
    structured: bool
    draw: int
    problem: Problem


def gaussian(share: float) -> Callable[[FloatArray], Kernel]:
    """Return a maker of Gaussians whose bandwidth is this share of the median distance."""
    return lambda features: build_kernel(
        {"family": "gaussian", "sigma": share * median_distance(features)}, features, N_COMPONENTS
    )


def named(family: str) -> Callable[[FloatArray], Kernel]:
    """Return a maker of kernels with their family's defaults."""
    return lambda features: build_kernel({"family": family}, features, N_COMPONENTS)


KERNELS = {
    "Gaussian, sigma = median": gaussian(1.0),
    "Gaussian, 0.3 median": gaussian(0.3),
    "Gaussian, 0.1 median": gaussian(0.1),
    "polynomial": named("polynomial"),
    "multiquadric": named("multiquadric"),
}


def subsample(name: str, size: int, rng: np.random.Generator, *, permuted: bool = False):
    """Return rows drawn without replacement, with their labels or with these permuted."""
    dataset = load_dataset(name)
    rows = rng.choice(len(dataset.labels), size, replace=False)
    labels = dataset.labels[rows]
    return dataset.features[rows], rng.permutation(labels) if permuted else labels


STRUCTURED = {
    "wine": lambda rng: subsample("wine", 107, rng),
    "wdbc": lambda rng: subsample("wdbc", 150, rng),
    "xor": lambda rng: synthetic.xor(120, rng),
    "xor, tight": lambda rng: synthetic.xor(120, rng, n_noise=8, spread=0.1),
    "four gaussians": lambda rng: synthetic.four_gaussians(120, rng),
    "circles": lambda rng: synthetic.circles(120, rng),
}
NOISE = {
    "wine, permuted": lambda rng: subsample("wine", 107, rng, permuted=True),
    "wdbc, permuted": lambda rng: subsample("wdbc", 150, rng, permuted=True),
    "noise": lambda rng: synthetic.noise(100, 10, 3, rng),
    "noise, d > n": lambda rng: synthetic.noise(30, 40, 3, rng),
}


def cases(draws: int) -> Iterator[Case]:
    """Yield every kernel on every family, ``draws`` times; the same on every run."""
    for families, structured in ((STRUCTURED, True), (NOISE, False)):
        for family, make in families.items():
            for draw in range(draws):
                features, labels = make(np.random.default_rng([draw, len(family)]))
                features = Standardiser.fit(features).transform(features)
                for kernel, build in KERNELS.items():
                    problem = supervised_problem(features, labels, build(features))
                    yield Case(kernel, family, structured, draw, problem)
