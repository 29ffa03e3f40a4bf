"""Methods of dimension reduction by name, each with its title, how it is built, and the grid it is tuned on.

A method takes features as they are: scale them first, with the statistics of the training samples. Its module is
imported when it is first built.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

from kdrbench.errors import InputError, unknown_name

# n_components and random_state (an integer or None) to an unfitted transformer.
Factory = Callable[[int, int | None], Any]
Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class ReducerEntry:
    """A method: a transformer with ``fit(X, y)``, to at most ``n_components`` columns.

    ``factory(n_components, random_state)`` builds it with its published or default settings; ``grid`` holds the
    parameters to tune, as for ``GridSearchCV``, and is empty where there are none. ``supervised`` says whether y plays
    a part, ``control`` whether the method is one that all others must beat, ``package`` which optional package it
    needs, if any.
    """

    title: str
    factory: Factory
    grid: Grid = field(default_factory=dict)
    supervised: bool = True
    control: bool = False
    package: str = ""


def build_reducer(name: str, n_components: int, random_state: int | None = None) -> Any:
    """Return the unfitted transformer of a name of ``METHODS``; ``InputError`` for another name."""
    if name not in METHODS:
        raise InputError(unknown_name("reduction method", name, list(METHODS)))
    return METHODS[name].factory(n_components, random_state)


def _of(place: str, **options: Any) -> Factory:
    """Return the factory of the class at ``module:Class``, which gets ``random_state`` if it has the parameter."""

    def factory(n_components: int, random_state: int | None) -> Any:
        made = resolve_name(place)
        seed = {"random_state": random_state} if "random_state" in inspect.signature(made).parameters else {}
        return made(n_components=n_components, **seed, **options)

    return factory


def _leading(place: str, **options: Any) -> Factory:
    """Return the factory of the leading components of a learner that keeps all dimensions."""
    leading = "kdrbench.reduction:LeadingComponents"
    return lambda n_components, _: resolve_name(leading)(resolve_name(place)(**options), n_components)


def _shuffled(name: str) -> Factory:
    """Return the factory of the method of a name, fitted on shuffled labels."""
    shuffled = "kdrbench.reduction:ShuffledLabels"
    return lambda n_components, seed: resolve_name(shuffled)(build_reducer(name, n_components, seed), random_state=seed)


_KDR = "kdrbench.estimators:InterpretableKDR"
_SHARES = (0.25, 0.5, 1.0, 2.0)
_PROJECTED = tuple({"sigma": f"{share:g} projected"} for share in _SHARES)
_MEDIANS = tuple({"sigma": f"{share:g} median"} for share in _SHARES)
_SHRINKAGES = (None, "auto", 0.1, 0.5)
_GAUSSIAN_AND_POLYNOMIAL = {"members": [{"family": "gaussian"}, {"family": "polynomial"}], "weights": "alignment"}

METHODS: Mapping[str, ReducerEntry] = {
    "kdr_gaussian": ReducerEntry(
        "InterpretableKDR, Gaussian", _of(_KDR, kernel="gaussian"), {"kernel_params": _PROJECTED}
    ),
    "kdr_polynomial": ReducerEntry(
        "InterpretableKDR, polynomial",
        _of(_KDR, kernel="polynomial"),
        {"kernel_params": tuple({"degree": degree} for degree in (2, 3, 4))},
    ),
    "kdr_combination": ReducerEntry(
        "InterpretableKDR, conic combination", _of(_KDR, kernel="combination", kernel_params=_GAUSSIAN_AND_POLYNOMIAL)
    ),
    "kdr_linear": ReducerEntry("InterpretableKDR, linear", _of(_KDR, kernel="linear")),
    "pca": ReducerEntry("PCA", _of("sklearn.decomposition:PCA"), supervised=False),
    "kernel_pca": ReducerEntry(
        "Kernel PCA, Gaussian", _of("kdrbench.reduction:MedianKernelPCA"), {"bandwidth": _SHARES}, supervised=False
    ),
    "pls_da": ReducerEntry("PLS-DA", _of("kdrbench.reduction:PLSDA"), {"scale": (True, False)}),
    "lda": ReducerEntry("LDA", _of("kdrbench.reduction:LDA"), {"shrinkage": _SHRINKAGES}),
    "nca": ReducerEntry("NCA", _of("sklearn.neighbors:NeighborhoodComponentsAnalysis"), {"max_iter": (10, 50, 200)}),
    "lmnn": ReducerEntry(
        "LMNN, leading components", _leading("kdrbench.estimators:LMNN"), {"estimator__n_neighbors": (1, 3, 5)}
    ),
    "dne": ReducerEntry("DNE", _of("kdrbench.estimators:DNE"), {"n_neighbors": (1, 3, 5, 9)}),
    "kpca_trick": ReducerEntry(
        "KPCA trick with LMNN, leading components",
        _leading("kdrbench.estimators:KPCATrick", learner="lmnn"),
        {"estimator__learner_params": tuple({"n_neighbors": count} for count in (1, 3, 5))},
    ),
    "sir": ReducerEntry("SIR", _of("kdrbench.reduction:SIR"), {"shrinkage": _SHRINKAGES}),
    "save": ReducerEntry("SAVE", _of("kdrbench.reduction:SAVE"), {"shrinkage": _SHRINKAGES}),
    "directional_regression": ReducerEntry(
        "Directional regression", _of("kdrbench.reduction:DirectionalRegression"), {"shrinkage": _SHRINKAGES}
    ),
    "gradient_kdr": ReducerEntry(
        "gKDR", _of("kdrbench.reduction:GradientKDR"), {"bandwidth": _SHARES, "regularization": (1e-7, 1e-5, 1e-3)}
    ),
    "supervised_pca": ReducerEntry("Supervised PCA", _of("kdrbench.reduction:SupervisedPCA")),
    "lfda": ReducerEntry(
        "LFDA", _of("kdrbench.reduction:LFDA"), {"n_neighbors": (3, 7, 15), "shrinkage": (None, "auto", 0.1)}
    ),
    "kernel_discriminant": ReducerEntry(
        "Kernel discriminant analysis",
        _of("kdrbench.reduction:KernelDiscriminantAnalysis"),
        {"kernel_params": _MEDIANS, "regularization": (1e-5, 1e-3, 1e-1)},
    ),
    "supervised_umap": ReducerEntry(
        "Supervised UMAP",
        _of("kdrbench.reduction:SupervisedUMAP"),
        {"n_neighbors": (5, 15, 30), "target_weight": (0.25, 0.5, 0.75)},
        package="umap",
    ),
    "random_axes": ReducerEntry("Random axes", _of("kdrbench.reduction:RandomAxes"), supervised=False, control=True),
    "shuffled_lda": ReducerEntry("LDA on shuffled labels", _shuffled("lda"), control=True),
    "shuffled_kdr": ReducerEntry(
        "InterpretableKDR, Gaussian, on shuffled labels", _shuffled("kdr_gaussian"), control=True
    ),
}
