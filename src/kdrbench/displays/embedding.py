"""Samples where an estimator maps them, with the colours, symbols and axes of all displays."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from kdrbench.errors import InputError
from kdrbench.estimators.targets import AUTO, CLASSES, CONTINUOUS, TARGETS, is_continuous, plain_values, present_values
from kdrbench.extras import needed_for
from kdrbench.palette import COLOURS
from kdrbench.parameters import check_value, whole

# Another one for each neighbour, so that a picture can be read without colours.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_COLOURS = (*COLOURS, "#8C8C8C", "#6A3D9A", "#8B4513", "#A6D854")
_SIZE = (6.0, 4.4)
_BINS = 30
_LINES = ("-", "--", ":", "-.")


def looks(number: int) -> dict[str, str]:
    """Return colour and marker of the series with this number; 88 of them differ, the first eleven in colour."""
    return {"color": _COLOURS[number % len(_COLOURS)], "marker": MARKERS[number % len(MARKERS)]}


def axes_for(ax: Any, what: str, size: tuple[float, float]) -> Any:
    """Return ``ax``, or axes of a figure of this size in inches; ``what`` says in an error who needs matplotlib.

    Raises ``MissingPackageError`` where matplotlib is not installed.
    """
    with needed_for(f"{what}.plot"):
        import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


class EmbeddingDisplay:
    """Two components of mapped samples as points, or one component as a histogram, by class or target.

    Made by :meth:`from_estimator`, or from arrays.

    Parameters
    ----------
    embedding : array of shape (n_samples, n_components)
        Mapped samples.
    y : array of shape (n_samples,) or None
        Classes, each with a colour and a symbol, or continuous targets, on a scale of colours. ``None``: one colour.
    target : {"auto", "classes", "continuous"}
        What y is; ``auto``: as :class:`.InterpretableKDR` takes it.

    Attributes
    ----------
    ax_, figure_ :
        matplotlib's axes and figure, after ``plot``.
    """

    def __init__(self, *, embedding: ArrayLike, y: ArrayLike | None = None, target: str = AUTO) -> None:
        check_value("target", target, TARGETS)
        self.embedding = np.asarray(embedding)
        if self.embedding.ndim != 2 or not self.embedding.size:
            raise InputError(f"embedding must be n_samples x n_components, got shape {self.embedding.shape}")
        self.y = None if y is None else present_values(y)
        if self.y is not None:
            check_consistent_length(self.embedding, self.y)
            if self.y.ndim != 1:
                raise InputError(f"y must be one column of classes or targets, got shape {self.y.shape}")
        self._is_scale = self.y is not None and is_continuous(self.y, target)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, target: str = AUTO, ax: Any = None, **options: Any
    ) -> Self:
        """Map X by a fitted transformer and plot it; ``options`` are those of :meth:`plot`.

        ``target`` is what y is; ``auto``: of whole numbers what the estimator took its own y for.

        Of a pipeline that ends with a predictor, or a search that chose one, the steps before it map. Raises
        ``InputError`` for an estimator that maps no samples.
        """
        check_is_fitted(estimator)
        mapping = mapping_of(estimator)
        embedding = mapping.transform(X)
        embedding = embedding.to_numpy() if hasattr(embedding, "to_numpy") else embedding
        if target == AUTO and y is not None and _is_whole(plain_values(y)):
            steps = [step for _, step in getattr(mapping, "steps", [("", mapping)])]
            taken = [getattr(one, "target_type_", CLASSES if hasattr(one, "classes_") else AUTO) for one in steps]
            target = next((one for one in taken if one in (CLASSES, CONTINUOUS)), AUTO)
        return cls(embedding=embedding, y=y, target=target).plot(ax, **options)

    def plot(self, ax: Any = None, *, components: tuple[int, int] = (0, 1), **scatter_options: Any) -> Self:
        """Draw the two ``components``, on ``ax`` or a figure of its own; the only one, where there is but one.

        ``scatter_options`` are for matplotlib's ``scatter``. Raises ``InputError`` for components that do not exist.
        """
        count = self.embedding.shape[1]
        for component in components if count > 1 else ():
            check_value("a component", component, whole(0, count - 1, f"n_components - 1 = {count - 1}"))
        self.ax_ = axes_for(ax, type(self).__name__, _SIZE)
        self.figure_ = self.ax_.figure
        options = {"s": 22, "alpha": 0.8, "linewidths": 0, **scatter_options}
        first, second = components if count > 1 else (0, 0)
        across, up = self.embedding[:, first], self.embedding[:, second]
        self.ax_.set(xlabel=f"component {first + 1}", ylabel=f"component {second + 1}" if count > 1 else "samples")
        if self._is_scale:
            points = self.ax_.scatter(across, up if count > 1 else self.y, c=self.y, **{"cmap": "viridis", **options})
            self.figure_.colorbar(points, ax=self.ax_, label="y")
            return self
        names = [None] if self.y is None else np.unique(self.y)
        classes = [slice(None)] if self.y is None else [self.y == name for name in names]
        edges = np.histogram_bin_edges(across, bins=_BINS)
        for number, (name, chosen) in enumerate(zip(names, classes, strict=True)):
            if count > 1:
                self.ax_.scatter(across[chosen], up[chosen], label=name, **{**looks(number), **options})
            else:
                line = {"color": looks(number)["color"], "linestyle": _LINES[number % len(_LINES)], "linewidth": 1.8}
                self.ax_.hist(across[chosen], edges, histtype="step", label=name, **line)
        if self.y is not None:
            self.ax_.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return self


def _is_whole(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "iu" or (values.dtype.kind == "f" and bool((values == np.floor(values)).all()))


def mapping_of(fitted: Any) -> Any:
    """Return a fitted transformer, or the steps of a pipeline before its predictor; of a search those it has chosen.

    Raises ``InputError`` for an estimator that maps no samples.
    """
    chosen = fitted if hasattr(fitted, "transform") else getattr(fitted, "best_estimator_", fitted)
    if hasattr(chosen, "transform"):
        return chosen
    if len(getattr(chosen, "steps", ())) > 1:
        return chosen[:-1]
    raise InputError(
        f"{type(fitted).__name__} maps no samples: give a transformer, or a pipeline, whose steps before its predictor "
        "do"
    )
