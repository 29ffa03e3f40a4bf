"""MNIST as the benchmarks take it: standardised, constant pixels dropped, from the folder KDRBENCH_MIRROR names."""

import gzip
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kdrbench.kernels.family import FloatArray

FILES = {10_000: "t10k", 60_000: "train"}


def mirror(folder: str) -> Path | None:
    """Return a folder of the mirror, or ``None`` if there is none."""
    path = Path(os.environ.get("KDRBENCH_MIRROR", "")) / folder
    return path if os.environ.get("KDRBENCH_MIRROR") and path.is_dir() else None


def idx(path: Path) -> NDArray[np.uint8]:
    """Return the array of a gzipped IDX file: three magic bytes, the number of axes, their lengths, the bytes."""
    raw = gzip.decompress(path.read_bytes())
    shape = [int.from_bytes(raw[4 + 4 * axis : 8 + 4 * axis], "big") for axis in range(raw[3])]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)


def mnist(n_samples: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return the 10,000 test or the 60,000 training digits."""
    folder = mirror("mnist")
    if folder is None:
        raise SystemExit("KDRBENCH_MIRROR names no folder with mnist/: these benchmarks need the digits")
    name = FILES[n_samples]
    pixels = idx(folder / f"{name}-images-idx3-ubyte.gz").reshape(n_samples, -1)
    features = np.ascontiguousarray(pixels[:, pixels.min(axis=0) != pixels.max(axis=0)], dtype=np.float64)
    features -= features.mean(axis=0)
    features /= features.std(axis=0)
    return features, idx(folder / f"{name}-labels-idx1-ubyte.gz").astype(np.int64)
