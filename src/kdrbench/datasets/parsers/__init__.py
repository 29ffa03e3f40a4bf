"""From a source to arrays: one small function a format, named in the registry.

A parser takes the paths of the entry's verified files, in the registry's order, and the entry's options by name; a
bundled or generated set has no files. Whatever is wrong with a file is a ``DataError`` that names it.
"""

from kdrbench.datasets.parsers.binary import cmu_faces, idx_images, matlab_arrays, unique_colours
from kdrbench.datasets.parsers.delimited import labelled_kernel, table, table_and_labels
from kdrbench.datasets.parsers.parsed import Parsed
from kdrbench.datasets.parsers.without_files import (
    bundled_iris,
    bundled_optdigits,
    bundled_wdbc,
    bundled_wine,
    cone,
    disc_and_ring,
    four_gaussians,
    gyrb_standin,
    moons,
    noise,
    scaling,
)

__all__ = [
    "Parsed",
    "bundled_iris",
    "bundled_optdigits",
    "bundled_wdbc",
    "bundled_wine",
    "cmu_faces",
    "cone",
    "disc_and_ring",
    "four_gaussians",
    "gyrb_standin",
    "idx_images",
    "labelled_kernel",
    "matlab_arrays",
    "moons",
    "noise",
    "scaling",
    "table",
    "table_and_labels",
    "unique_colours",
]
