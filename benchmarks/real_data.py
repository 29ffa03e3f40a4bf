"""MNIST and Face as the benchmarks take them: standardised, constant features dropped."""

import numpy as np
from numpy.typing import NDArray

from kdrbench.datasets import Standardiser, load_dataset
from kdrbench.errors import DataError
from kdrbench.kernels.family import FloatArray

NAMES = {10_000: "mnist", 60_000: "mnist-60k"}


def standardised(name: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return a registered data set; ends with one sentence where it cannot be had."""
    try:
        dataset = load_dataset(name)
    except DataError as error:
        raise SystemExit(f"this benchmark needs the data set: {error}") from error
    varying = dataset.features.min(axis=0) != dataset.features.max(axis=0)
    features = np.ascontiguousarray(dataset.features[:, varying])
    return Standardiser.fit(features).transform(features), dataset.labels


def mnist(n_samples: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return the 10,000 test or the 60,000 training digits."""
    return standardised(NAMES[n_samples])
