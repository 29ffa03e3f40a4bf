"""What a canary is, the samples that canaries share, and how an array becomes a few numbers."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from kdrbench.datasets import Dataset

# A number, a word or nothing; or a number that may be near zero, with the natural size by which its error is judged.
Value = float | int | str | bool | None | list[float]


class Canary(NamedTuple):
    """A small computation: the components that take part, and what returns its numbers by name.

    Names of numbers and of canaries are for people, who read them in the stored file.
    """

    name: str
    components: tuple[str, ...]
    measure: Callable[[], Mapping[str, Any]]


def canary(name: str, components: str, function: Callable[..., Any], *given: Any, **options: Any) -> Canary:
    """Return the canary that calls ``function``; ``components`` have blanks between them."""
    return Canary(name, tuple(components.split()), partial(function, *given, **options))


def values_of(numbers: Mapping[str, Any]) -> dict[str, Value]:
    """Return numbers as they are stored: of an array its norm and a sum with fixed weights, judged by that norm.

    Both change with any entry. Signs and orders that are arbitrary must not be in the array.
    """
    values: dict[str, Value] = {}
    for name, number in numbers.items():
        if isinstance(number, np.ndarray):
            norm = _rounded(float(np.linalg.norm(number)))
            weights = np.cos(1.0 + np.arange(number.size)).reshape(number.shape)
            values |= {f"{name} norm": norm, f"{name} sum": [_rounded(float((weights * number).sum())), norm]}
        else:
            plain = number.item() if isinstance(number, np.generic) else number
            # Words may be members of enumerations.
            values[name] = str(plain) if isinstance(plain, str) else _rounded(plain)
    return values


def _rounded(number: Any) -> Any:
    """Return a number as it is stored: further digits are rounding errors."""
    return float(f"{number:.12g}") if isinstance(number, float) else number


@cache
def samples(n_samples: int = 40, n_features: int = 6, n_classes: int = 3) -> tuple[Any, Any]:
    """Return made-up centred samples, and class codes by which their means differ."""
    rng = np.random.default_rng(5)
    codes = np.arange(n_samples) % n_classes
    features = rng.standard_normal((n_samples, n_features)) + 0.9 * np.eye(n_classes, n_features)[codes]
    features -= features.mean(axis=0)
    return features, codes


@cache
def projection(n_features: int = 6, n_components: int = 2) -> Any:
    """Return an orthonormal matrix, by Gram and Schmidt, of which no column is of an arbitrary sign."""
    columns = np.random.default_rng(7).standard_normal((n_features, n_components))
    for number in range(n_components):
        before = columns[:, :number]
        columns[:, number] -= before @ (before.T @ columns[:, number])
        columns[:, number] /= np.linalg.norm(columns[:, number])
    return columns


@cache
def bundled(name: str, n_samples: int = 60) -> Dataset:
    """Return a few samples of one of scikit-learn's sets, of all classes alike, under a name of their own."""
    from sklearn import datasets

    read = getattr(datasets, f"load_{name}")()
    order = np.random.default_rng(3).permutation(len(read.target))
    codes = np.asarray(read.target)[order]
    each = n_samples // len(read.target_names)
    rows = np.sort(np.concatenate([np.flatnonzero(codes == code)[:each] for code in np.unique(codes)]))
    features = np.ascontiguousarray(np.asarray(read.data, dtype=float)[order][rows])
    names = tuple(map(str, read.feature_names))
    return Dataset(
        f"{name}-{n_samples}", features, codes[rows].astype(np.int64), names, tuple(map(str, read.target_names))
    )
