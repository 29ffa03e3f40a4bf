"""What an estimator has learned, as pictures: scikit-learn's Display classes, which need matplotlib to plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import orth
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from kdrbench.errors import InputError
from kdrbench.estimators.common import grouped_loadings
from kdrbench.estimators.targets import AUTO, CLASSES, CONTINUOUS, TARGETS, is_continuous, plain_values, present_values
from kdrbench.extras import needed_for
from kdrbench.inference.refits import seed_of, with_target_of
from kdrbench.inference.resampling import (
    SCHEMES,
    encoded,
    feature_names,
    projection_of,
    refitted_projections,
    turned_to,
)
from kdrbench.kernels.family import FloatArray
from kdrbench.palette import COLOURS
from kdrbench.parameters import COUNT, FRACTION, Either, Instance, OneOf, check_value, optional, whole

__all__ = ["EmbeddingDisplay", "LoadingsDisplay"]

# Another one for each neighbour, so that a picture can be read without colours.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_COLOURS = (*COLOURS, "#8C8C8C", "#6A3D9A", "#8B4513", "#A6D854")
_SIZE = (6.0, 4.4)
_BINS = 30
_LINES = ("-", "--", ":", "-.")
_ORTHONORMAL = 1e-6
# Readable upper limit of components side by side.
_MOST_COMPONENTS = 3
_GROUPS = optional(Either((OneOf(("columns",)), Instance((Mapping,), "a dict of lists of names"))))


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
        alone = "y" if self._is_scale else "samples"
        self.ax_.set(xlabel=f"component {first + 1}", ylabel=f"component {second + 1}" if count > 1 else alone)
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


def principal_rows(components: FloatArray) -> FloatArray:
    """Return orthonormal rows as they are, and others rotated to orthogonal ones, the longest first."""
    gram = components @ components.T
    if np.abs(gram - np.eye(len(gram))).max() <= _ORTHONORMAL:
        return components
    _, lengths, right = np.linalg.svd(components, full_matrices=False)
    return np.asarray(lengths[:, None] * right)


class LoadingsDisplay:
    """Loadings of features on components as points, with intervals over resamples; the heaviest features first.

    Made by :meth:`from_estimator`, or from arrays.

    Parameters
    ----------
    loadings : array of shape (n_components, n_features)
        ``components_`` of an estimator: how features combine.
    feature_names : list of str or None
        Names of the features; ``None``: x0, x1, ...
    resampled : array of shape (n_resamples, n_components, n_features) or None
        The same of fits on resamples, aligned with ``loadings``.
    shares : array of shape (n_components,) or None
        How much components count for the weight of a feature, such as shares of the objective; ``None``: all alike.
    groups : dict of lists of str or None
        Features that are shown as one, by the name it gets: their loading is the root of the sum of their squares.

    Attributes
    ----------
    loadings, feature_names, resampled :
        Those given, with one feature for each group.
    overlaps : ndarray of shape (n_resamples,)
        |V V_r'|_F^2 / q of each resample, V and V_r orthonormal bases of the spaces that rows span: the mean squared
        cosine of their principal angles. 1 is the same space, and a random one has q / n_features on average.
    ax_, figure_ :
        matplotlib's axes and figure, after ``plot``.
    """

    def __init__(
        self,
        *,
        loadings: ArrayLike,
        feature_names: Any = None,
        resampled: ArrayLike | None = None,
        shares: ArrayLike | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.loadings = np.asarray(loadings, dtype=np.float64)
        if self.loadings.ndim != 2 or not self.loadings.size:
            raise InputError(f"loadings must be n_components x n_features, got shape {self.loadings.shape}")
        count = self.loadings.shape[1]
        names = [f"x{number}" for number in range(count)] if feature_names is None else list(map(str, feature_names))
        self.resampled = np.empty((0, *self.loadings.shape)) if resampled is None else np.asarray(resampled)
        if self.resampled.shape[1:] != self.loadings.shape:
            raise InputError(
                f"resampled must be n_resamples x {self.loadings.shape[0]} x {count}, got {self.resampled.shape}"
            )
        basis = orth(self.loadings.T)
        overlaps = [np.sum((orth(again.T).T @ basis) ** 2) / basis.shape[1] for again in self.resampled]
        self.overlaps: FloatArray = np.array(overlaps)
        self.resampled, _ = grouped_loadings(self.resampled, names, groups or {})
        self.loadings, self.feature_names = grouped_loadings(self.loadings, names, groups or {})
        rows = len(self.loadings)
        self.shares = np.ones(rows) if shares is None else np.asarray(shares, dtype=np.float64)
        if self.shares.shape != (rows,) or not (self.shares >= 0.0).all() or not np.isfinite(self.shares).all():
            raise InputError(f"shares must be {rows} finite numbers >= 0, one for each component, got {self.shares}")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        n_resamples: int = 50,
        resampling: str = "bootstrap",
        random_state: Any = None,
        n_jobs: int | None = None,
        groups: Mapping[str, Sequence[str]] | str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Plot the loadings of an estimator whose ``transform`` is linear, and how stable they are.

        Components of an ``InterpretableKDR`` count by their ``explained_objective_ratio_``, those of a ``PCA`` by their
        ``explained_variance_ratio_``, and those of other estimators alike, or by their lengths.

        The rows C_r of a resample are aligned with C by the orthogonal Q that minimises |Q C_r - C|_F, since only their
        space, or distances, are learned; rows that are not orthonormal are first rotated to their principal axes.

        Parameters
        ----------
        estimator : estimator, Pipeline or search
            Fitted, or else a copy is fitted on X and y. Of a pipeline the steps before its predictor are shown, for the
            features as they leave the first steps that take columns one by one: scaled, or as indicators. All are
            fitted again on each resample. Of a search, what it has chosen is fitted again, without choosing again each
            time: intervals leave out how far the choice itself is due to chance.
        X, y, n_resamples :
            Samples, and the number of resamples; 0 for none.
        resampling, random_state, n_jobs :
            ``scheme`` and others of :func:`kdrbench.inference.bootstrap_angles`, whose resamples are the same.
        groups : {"columns"}, dict of lists of str or None
            As for the display; ``columns``: what the first steps have made of one column of X, such as its indicators.
        ax, options :
            As for :meth:`plot`.

        Raises ``InputError`` for an estimator that is no linear map.
        """
        check_value("groups", groups, _GROUPS)
        check_value("n_resamples", n_resamples, whole(0))
        check_value("resampling", resampling, SCHEMES)
        try:
            check_is_fitted(estimator)
        except NotFittedError:
            estimator = clone(estimator).fit(X, y)
        mapping = mapping_of(getattr(estimator, "best_estimator_", estimator))
        parts = encoded(mapping, X, feature_names(X, estimator))
        rows = projection_of(parts.model, parts.features).T
        reference = principal_rows(rows)
        last = parts.model[-1] if hasattr(parts.model, "steps") else parts.model
        shares = getattr(last, "explained_objective_ratio_", getattr(last, "explained_variance_ratio_", None))
        if isinstance(groups, str):
            made = {name: np.flatnonzero(parts.sources == place) for place, name in enumerate(parts.given_names)}
            groups = {name: [parts.names[place] for place in places] for name, places in made.items() if len(places)}
        seed = seed_of(random_state)
        subject = with_target_of(mapping, y)
        refits = refitted_projections(
            subject, X, y, parts, n_resamples=n_resamples, scheme=resampling, seed=seed, n_jobs=n_jobs
        )
        aligned = [turned_to(columns, reference.T).T for columns in refits]
        return cls(
            loadings=reference,
            feature_names=parts.names,
            resampled=np.reshape(aligned, (n_resamples, *reference.shape)),
            shares=shares if reference is rows else None,
            groups=groups,
        ).plot(ax, **options)

    def intervals(self, confidence_level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends of percentile intervals, each n_components x n_features.

        Raises ``InputError`` without resamples.
        """
        check_value("confidence_level", confidence_level, FRACTION)
        if not len(self.resampled):
            raise InputError("intervals need resamples; give n_resamples > 0")
        tail = 0.5 * (1.0 - confidence_level)
        lower, upper = np.quantile(self.resampled, [tail, 1.0 - tail], axis=0)
        return lower, upper

    def plot(
        self, ax: Any = None, *, components: Any = None, max_features: int = 15, confidence_level: float = 0.95
    ) -> Self:
        """Draw the ``components`` (by default the first three) of the ``max_features`` heaviest features.

        A feature's weight is the root of the sum of its squared loadings over the components shown, times their
        ``shares``: the feature of a component that explains nothing is not the heaviest one.
        """
        check_value("max_features", max_features, COUNT)
        count = len(self.loadings)
        shown = range(min(count, _MOST_COMPONENTS)) if components is None else list(components)
        for component in shown:
            check_value("a component", component, whole(0, count - 1, f"n_components - 1 = {count - 1}"))
        shares = self.shares[shown] if self.shares[shown].any() else np.ones(len(shown))
        weights = shares @ self.loadings[shown] ** 2
        heaviest = np.argsort(-weights, kind="stable")[:max_features]
        self.ax_ = axes_for(ax, type(self).__name__, (6.4, 1.4 + 0.3 * len(heaviest)))
        self.figure_ = self.ax_.figure
        self.ax_.axvline(0.0, color="0.4", linewidth=0.8)
        bounds = self.intervals(confidence_level) if len(self.resampled) else None
        for number, component in enumerate(shown):
            offset = 0.5 * (number - 0.5 * (len(shown) - 1)) / max(len(shown), 2)
            heights, style = np.arange(len(heaviest)) + offset, looks(number)
            if bounds is not None:
                # A percentile interval need not hold the value itself.
                self.ax_.hlines(heights, *(bound[component, heaviest] for bound in bounds), colors=style["color"])
            label, options = str(component + 1), {"linestyle": "none", "markersize": 5, **style}
            self.ax_.plot(self.loadings[component, heaviest], heights, label=label, **options)
        self.ax_.set_yticks(range(len(heaviest)), [self.feature_names[feature] for feature in heaviest])
        self.ax_.set_ylim(len(heaviest) - 0.5, -0.5)
        if bounds is None:
            self.ax_.set_xlabel("loading")
        else:
            share = f"{confidence_level:.0%} of {len(self.resampled)} resamples"
            overlap = f"overlap with their spaces: {np.median(self.overlaps):.2f} (median; 1 if equal)"
            self.ax_.set_xlabel(f"loading, with the range of {share}\n{overlap}")
        if len(heaviest) < self.loadings.shape[1]:
            self.ax_.set_ylabel(f"{len(heaviest)} heaviest of {self.loadings.shape[1]} features")
        self.ax_.grid(axis="y", alpha=0.25)
        if len(shown) > 1:
            above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": len(shown)}
            self.ax_.legend(title="component", frameon=False, **above)
        return self
