"""What every parser returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64] | NDArray[np.uint8]


class Parsed(NamedTuple):
    """Features (n x d, floats or bytes), one label a sample (any type that sorts), and the names of the features.

    ``labels`` is empty where a set has none. ``labellings`` are further labels of the same samples by name.
    """

    features: Values
    labels: Sequence[object]
    feature_names: Sequence[str]
    labellings: Mapping[str, Sequence[object]] = MappingProxyType({})
