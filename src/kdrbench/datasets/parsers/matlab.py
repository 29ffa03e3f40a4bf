"""MATLAB 5 files with plain numeric arrays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kdrbench.datasets.parsers.parsed import Parsed
from kdrbench.errors import DataError

_MOST_VALUES = 10**7


def matlab_arrays(path: Path, *, features: str, labels: str, classes: Mapping[str, str]) -> Parsed:
    """Read the variables named ``features`` (n x d) and ``labels`` (n whole numbers, named by ``classes``).

    Anything but numbers is refused before it is read: no cells, no structures, no objects.
    """
    from scipy.io import loadmat, whosmat

    try:
        kinds = {name: (shape, kind) for name, shape, kind in whosmat(path)}
        for name in (features, labels):
            shape, kind = kinds.get(name, ((), "no such variable"))
            numeric = kind.removeprefix("u") in {"int8", "int16", "int32", "int64", "single", "double"}
            if not numeric or len(shape) != 2 or int(np.prod(shape, dtype=object)) > _MOST_VALUES:
                raise DataError(f"{path}: variable {name!r} is not a table of numbers but {kind} {shape}")
        content = loadmat(path, variable_names=[features, labels])
    except DataError:
        raise
    except Exception as error:
        # scipy raises whatever its reader stumbles over.
        raise DataError(f"{path} is not a readable MATLAB 5 file: {error}") from error
    values, codes = content[features], content[labels].ravel()
    unknown = {str(code) for code in codes.tolist()} - set(classes)
    if unknown or len(codes) != len(values):
        raise DataError(f"{path}: {labels!r} does not hold {len(values)} labels out of {', '.join(classes)}")
    names = [f"x{number}" for number in range(1, values.shape[1] + 1)]
    return Parsed(values, [classes[str(code)] for code in codes.tolist()], names)
