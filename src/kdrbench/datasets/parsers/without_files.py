"""Sets that need no file: made, or shipped inside scikit-learn.

What is made is seeded, so that everybody has the same. Values are rounded to six decimals: mathematical libraries
differ in the last bits, and the hash of the content must not.
"""

from __future__ import annotations

import numpy as np

from kdrbench.datasets import synthetic
from kdrbench.datasets.parsers.parsed import Parsed

_DECIMALS = 6


def moons(*, n: int, seed: int) -> Parsed:
    """Make two pairs of moons, see :func:`kdrbench.datasets.synthetic.two_pairs_of_moons`."""
    features, labels = synthetic.two_pairs_of_moons(n, np.random.default_rng(seed))
    further = {"second pair": labels[:, 1].tolist()}
    return Parsed(features.round(_DECIMALS), labels[:, 0].tolist(), ["x1", "y1", "x2", "y2"], further)


def four_gaussians(*, n: int, seed: int) -> Parsed:
    """Make four Gaussians with two labellings, see :func:`kdrbench.datasets.synthetic.gaussians_on_a_rectangle`."""
    features, labels = synthetic.gaussians_on_a_rectangle(n, np.random.default_rng(seed))
    further = {"short side": labels[:, 1].tolist()}
    return Parsed(features.round(_DECIMALS), labels[:, 0].tolist(), ["long side", "short side", "noise"], further)


def noise(*, n: int, seed: int, n_features: int) -> Parsed:
    """Make features that say nothing of the labels, see :func:`kdrbench.datasets.synthetic.noise`."""
    features, labels = synthetic.noise(n, n_features, 2, np.random.default_rng(seed))
    return Parsed(features.round(_DECIMALS), labels.tolist(), [f"x{number}" for number in range(1, n_features + 1)])


def scaling(*, n: int, seed: int, n_features: int = 20) -> Parsed:
    """Take the first n samples of one endless set, see :func:`kdrbench.datasets.synthetic.growing`."""
    features, labels = synthetic.growing(n, np.random.default_rng(seed), n_features=n_features)
    names = [f"x{number}" for number in range(1, features.shape[1] + 1)]
    return Parsed(features.round(_DECIMALS), labels.tolist(), names)


def disc_and_ring(*, n: int, seed: int) -> Parsed:
    """Make a disc and a ring around it, see :func:`kdrbench.datasets.synthetic.ring`."""
    features, labels = synthetic.ring(np.random.default_rng(seed), n)
    return Parsed(features.round(_DECIMALS), labels.tolist(), ["x1", "x2"])


def cone(*, n: int, seed: int) -> Parsed:
    """Make samples in and out of a cone, see :func:`kdrbench.datasets.synthetic.cone`."""
    features, labels = synthetic.cone(np.random.default_rng(seed), n)
    return Parsed(features.round(_DECIMALS), labels.tolist(), ["x1", "x2", "x3", "x4"])


def gyrb_standin(*, seed: int) -> Parsed:
    """Make a kernel of simulated sequences, see :func:`kdrbench.datasets.synthetic.species_kernel`."""
    kernel, labels = synthetic.species_kernel((10, 31, 11), np.random.default_rng(seed))
    names = [f"sequence {number}" for number in range(1, len(kernel) + 1)]
    return Parsed(kernel, [f"species {code + 1}" for code in labels], names)


def bundled_wine() -> Parsed:
    """Read scikit-learn's copy of UCI Wine."""
    from sklearn.datasets import load_wine

    bunch = load_wine()
    return Parsed(bunch.data, [str(bunch.target_names[code]) for code in bunch.target], bunch.feature_names)


def bundled_wdbc() -> Parsed:
    """Read scikit-learn's copy of the diagnostic Wisconsin breast cancer set."""
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    labels = [str(bunch.target_names[code]) for code in bunch.target]
    return Parsed(bunch.data, labels, [str(name) for name in bunch.feature_names])


def bundled_iris() -> Parsed:
    """Read scikit-learn's copy of Iris."""
    from sklearn.datasets import load_iris

    bunch = load_iris()
    return Parsed(bunch.data, [str(bunch.target_names[code]) for code in bunch.target], bunch.feature_names)


def bundled_optdigits() -> Parsed:
    """Read scikit-learn's copy of the optical digits: the 1,797 test rows of UCI, 8 x 8 pixels of 0 to 16."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return Parsed(bunch.data, [str(code) for code in bunch.target], bunch.feature_names)
