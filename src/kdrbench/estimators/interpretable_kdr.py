"""Interpretable kernel dimension reduction as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kdrbench.blas import one_blas_thread
from kdrbench.estimators.common import VERBOSE, LinearMap, grouped_loadings
from kdrbench.estimators.definitions import Bandwidth, Count, Offset, Options, Positive
from kdrbench.estimators.fitting import N_JOBS, learn
from kdrbench.estimators.inputs import accepts_sparse, projected
from kdrbench.estimators.targets import AUTO, TARGETS
from kdrbench.extras import needed_for
from kdrbench.kernels import Combination, Kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms import PARADIGMS
from kdrbench.parameters import COUNT, Either, Instance, OneOf, check_parameters, optional
from kdrbench.solvers.geometry.certificate import Certificate

_SOLVER = Instance((str, Mapping), "a name or a dict of options")
_CLASS_WEIGHT = optional(Either((OneOf(("balanced",)), Instance((Mapping,), "a dict of weights by label"))))

# Attributes that not every fit sets.
_OF_CLUSTERS = ("labels_", "embedding_", "history_", "_projected")
_OPTIONAL = ("classes_", "target_type_", "objective_lost_", *_OF_CLUSTERS)


def _clusters(estimator: Any) -> bool:
    return bool(estimator.paradigm != "supervised")


@dataclass(repr=False, eq=False)
class InterpretableKDR(LinearMap, BaseEstimator):  # type: ignore[misc]
    """Project features so that a kernel of the projection says as much as possible about labels or clusters.

    Solves max_W Tr(Gamma K_XW) over W'W = I with K_ij = f(beta_ij), the diagonal of K dropped; for class labels
    Gamma = H Y Y' H with Y one-hot. The features are taken as they are: scale them first, for instance by
    ``StandardScaler``.

    Parameters
    ----------
    n_components : int, {"n_classes", "eigengap", "auto"} or None
        Number q of components, 1 <= q <= n_features. ``n_classes`` (or ``None``): the number of classes, clusters or
        continuous target columns, at most the rank of the features. ``eigengap``: the largest gap in the spectrum of
        Phi_0. ``auto``: the first components of that many which together have 95 % of what they explain
        (``explained_objective_ratio_``), learned again.
    max_features : int or None
        Most features that have weight, for sparse components: W then has at most that many rows that are not 0, and
        W'W = I still. Features are left out, half at a time, of which sum_c s_c W_jc^2 is least, s_c the component's
        share of the objective; W is learned again from the others, with the same kernel (recursive feature elimination
        [2]_). ``objective_lost_`` is the price.
    kernel : str or kernel
        ``gaussian`` (``rbf``), ``polynomial`` (``poly``), ``linear``, ``squared``, ``multiquadric``, ``rbf_relative``
        or ``combination``; or an object such as :class:`kdrbench.kernels.UserKernel`.
    sigma, gamma : float, str or None
        A Gaussian's bandwidth, or gamma = 1 / (2 sigma^2). ``"median"`` is the median distance of the samples, exact up
        to 5000 of them, beyond within some 1e-4 unless ``"exact median"`` is asked for. ``"projected"`` (the default of
        supervised learning) is sqrt(q/d) times it, what distances of projected samples are about, and for more than
        four components q/(2 sqrt(d)) times it, at most the median; ``"0.5 projected"`` and ``"0.1 median"`` are shares.
        The default of clusters is ``"median"``.
    degree, gamma, coef0 : int, float, float or None
        Of a polynomial, (gamma x'y + coef0)^degree; by default 3, 1 / n_components and 1.
    kernel_params : dict or None
        Options of the family by their own names, beside or instead of these: ``offset``, ``scale``, ``neighbour``. A
        combination's ``{"members": [...], "weights": "alignment"}`` learns its weights from the labels.
    paradigm : {"supervised", "unsupervised", "semi_supervised", "alternative"}
        What is learned from: y holds class labels (one column or several) or continuous targets; nothing; labels of
        some samples, or expert scores; or labellings that the clusters shall differ from.
    target : {"auto", "classes", "continuous"}
        What y is. ``auto``: real numbers that are no integers are a continuous target, text and integers are classes;
        but whole numbers of more than 20 different values are classes only as codes 0, 1, ... or 1, 2, ... without a
        gap, of two samples each on average, and there is a warning, as that is a guess. Semi-supervised, labels -1,
        NaN and ``None`` mean unknown; other real numbers, several columns, and all by ``continuous``, are scores.
    class_weight : {"balanced"}, dict or None
        Weights of the samples of a class: ``balanced`` n / (k n_class), or a dict by label. They multiply
        ``sample_weight``.
    n_clusters, mu : int, float or None
        Number of clusters (``alternative``: by default that of the first labelling), and how much weighs what is known.
        Where ``paradigm="supervised"``, ``n_clusters`` is ignored, so that a search may change ``paradigm`` alone.
    paradigm_params : dict or None
        Supervised: ``target_kernel`` of continuous y, by default a Gaussian of median bandwidth. Others: ``degrees``,
        ``centred``, ``rule``, ``tolerance``, ``max_rounds``, ... of :class:`kdrbench.paradigms.Alternation`.
    solver : str or dict
        A name of ``kdrbench list solvers``, by default ``ism_converged`` (certified to first and second order), or a
        file of one's own; or a method with options: ``{"method": "ism_safeguarded", "portfolio": 20}`` chooses the best
        of twenty starts. How rounds of a clustering end is said by ``paradigm_params`` alone.
    start : {"surrogate", "completed", "identity", "random", "multistart"}, array (n_components, n_features) or None
        Starting point: eigenvectors of Phi_0, those within its rank and random ones, the first axes, a draw from
        ``random_state``, the best of ``n_init`` starts (Phi_0's and random ones), or orthonormal rows such as another
        fit's ``components_``. ``None`` is what the solver's name says, else ``surrogate``, and for ``alternative`` the
        best of four starts.
    n_init : int
        Starts of ``multistart``.
    tol : float or None
        The solver's tolerance: relative stationarity, or for ``ism`` the change of the eigenvalues. ``None`` is the
        solver's own. With ``None`` a fit to labels or targets by the default solver with a kernel of differences, but
        for ``squared``, ends as well where F is flat: if q (d - q) > 400, once F(W) - F(0) has grown by at most 1e-5 of
        itself over five steps. On 2000 samples of MNIST (d = 633, q = 10) with a Gaussian it then takes 6 s instead of
        64 s, for F 1 % lower and the same accuracy of neighbours. ``tol=1e-6`` continues until W is stationary.
        ``result_.message`` says what ended the fit.
    max_iter : int or None
        Most iterations of the solver, in each round of a clustering; ``None`` is the solver's own.
    random_state : int, RandomState or None
        Used by random starts and portfolios. An integer also deals the groups that estimate a median.
    evaluation : dict or None
        How the kernel's sums may be evaluated (:class:`kdrbench.evaluation.Evaluation`): ``evaluator``, ``tolerance``
        (0: exact; 1e-3 is quick for large Gaussian problems, where it changes ``objective_`` by some 1e-8; it is the
        default from 5000 samples, or 2000 to cluster, unless ``tol`` is given, 1e-5 from 20,000 with labels, and other
        kernels of differences are then in single precision), ``memory_mib``, ``scheduler`` (of a Dask cluster),
        ``compiled`` (machine code of numba: where that is installed, the default from 5000 samples but for clusterings
        by a Gaussian).
        ``objective_`` and ``certificate_`` are exact all the same, or of a Gaussian from 20,000 samples on accurate to
        1e-7 of the trace of the kernel matrix.
    n_jobs : int or None
        Threads that work side by side; ``None`` is 1, -1 all cores.
    verbose : bool or int
        Whether a line on standard error says how far the fit is: samples, iteration, objective, stationarity, time and
        time left. It is kept up to date on a terminal, and elsewhere written every five seconds; 2: at each iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows W'; the entries say how the original features combine. Of an array of float32 they are
        float32, and so is what ``transform`` makes of one; the solve is in float64 all the same.
    n_components_ : int
        Their number q, as it was asked for or chosen.
    objective_ : float
        F(W) = Tr(Gamma K), the papers' cost with the opposite sign.
    n_iter_ : int
        Iterations of the solver, over all rounds of a clustering.
    status_, certificate_, result_ :
        How the solver ended, what is proved of the solution, and the whole result (``result_.evaluation`` says how the
        problem was evaluated, and why). For a clustering the certificate is about the problem of the last round. It is
        computed when first asked for (or pickled) where it takes all pairs of samples or q (d - q) > 400, unless the
        kernel is linear or squared. Until then the model holds the features; more than 2^20 entries, of which it makes
        no copy, must not be changed.
    labels_, embedding_, history_ :
        Of clusterings: the clusters, their spectral embedding (n_samples x n_clusters), the objective of each round.
    explained_objective_ratio_ : ndarray of shape (n_components,)
        What each component adds to F(W) of those before it, as a share of F(W) - F(0); 0 where it adds nothing. It is
        computed as the certificate is; not for samples that are streamed.
    objective_lost_ : float
        How much less F(W) is than with all features; only where ``max_features`` is given.
    rank_, constant_features_ :
        Dimension of the span of the features, in which the components lie: a feature that does not vary, here listed by
        its place, has no weight, and features that determine each other share theirs (weights of least norm). Of more
        components than that, the last ones are outside the span and mean nothing.
    kernel_ :
        The kernel with its bandwidth or weights; an ``EstimatedGaussian`` has the standard error of its bandwidth.
    target_type_ : {"classes", "continuous"}
        How y was taken, scores as continuous; not where nothing is learned from y.
    classes_ (one column of labels only), n_features_in_, feature_names_in_ : the labels seen, and as in scikit-learn.

    References
    ----------
    .. [1] Wu, Miller, Chang, Sznaier, Dy, "Solving Interpretable Kernel Dimensionality Reduction", NeurIPS 2019.
    .. [2] Guyon, Weston, Barnhill, Vapnik, "Gene selection for cancer classification using support vector machines",
       Machine Learning 46, 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kdrbench.estimators import InterpretableKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> model = InterpretableKDR(n_components=4, sigma="median").fit(StandardScaler().fit_transform(X), y)
    >>> round(-model.objective_, 2)
    -1628.14
    """

    n_components: int | str | None = None
    _: KW_ONLY
    max_features: Count = None
    kernel: str | Kernel | Combination = "gaussian"
    sigma: Bandwidth = None
    gamma: Positive = None
    degree: Count = None
    coef0: Offset = None
    kernel_params: Options = None
    paradigm: Annotated[str, PARADIGMS] = "supervised"
    n_clusters: Count = None
    mu: Positive = None
    paradigm_params: Options = None
    target: Annotated[str, TARGETS] = AUTO
    class_weight: Annotated[Any, _CLASS_WEIGHT] = None
    solver: Annotated[str | Mapping[str, Any], _SOLVER] = "ism_converged"
    start: str | ArrayLike | None = None
    n_init: Annotated[int, COUNT] = 10
    tol: Positive = None
    max_iter: Count = None
    random_state: Any = None
    evaluation: Options = None
    n_jobs: Annotated[int | None, N_JOBS] = None
    verbose: Annotated[bool | int, VERBOSE] = False

    def fit(self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None) -> InterpretableKDR:
        """Learn the projection from X (n_samples x n_features) and y, whose meaning is the paradigm's.

        X may be larger than memory: see :func:`kdrbench.samples.samples_of`. A tensor X stays on its device, and sums
        over samples are taken there, in float64, without ``n_jobs``; supervised learning only. Sparse X stays sparse:
        class labels with a linear, squared, polynomial or Gaussian kernel only.

        ``sample_weight`` are n numbers v >= 0 for supervised learning, of which only the ratios matter for W:
        F(W) = sum_{i != j} v_i v_j (y_i - m)'(y_j - m) K_ij with m = sum_i v_i y_i / sum_i v_i. Whole numbers mean
        repeated samples, whose F has as well the pairs of copies of one sample, sum_i v_i (v_i - 1) |y_i - m|^2 K_ii:
        a constant for kernels of differences, so that W is the same. For linear and polynomial kernels it is another.

        Raises ``ValueError`` for bad parameters, NaN, input that the kernel cannot take, or fewer than two classes;
        warns with ``ConvergenceWarning`` when the solver ended before its tolerance.
        """
        check_parameters(self)
        for attribute in (*_OPTIONAL, "_scaled_names"):
            self.__dict__.pop(attribute, None)
        # Threads of BLAS would wait for those of ``n_jobs``, or for other processes.
        with one_blas_thread():
            learn(self, X, y, sample_weight)
        return self

    @available_if(_clusters)  # type: ignore[untyped-decorator]
    def fit_predict(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Return the clusters of the samples, ``fit(X, y).labels_``; there is none for supervised learning."""
        return np.asarray(self.fit(X, y).labels_)

    @available_if(_clusters)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> NDArray[Any]:
        """Return for each sample the cluster of the nearest training sample, both projected."""
        from sklearn.neighbors import KNeighborsClassifier

        check_is_fitted(self)
        nearest = KNeighborsClassifier(1).fit(self._projected, self.labels_)
        return np.asarray(nearest.predict(self.transform(X)))

    @property
    def certificate_(self) -> Certificate:
        """What is proved of the solution; ``ValueError`` if the features were changed before it was first asked for."""
        check_is_fitted(self)
        certificate: Certificate = self._on_demand.certificate()
        return certificate

    @property
    def explained_objective_ratio_(self) -> FloatArray:
        """The share of each component in the objective; ``ValueError`` as ``certificate_``."""
        check_is_fitted(self)
        if not self._on_demand.has_shares:
            raise AttributeError("shares of the objective need an array in memory: samples were streamed or sparse")
        shares = self._on_demand.shares()
        return np.pad(shares, (0, len(self.components_) - len(shares)))

    def loadings_frame(
        self, groups: Mapping[str, Sequence[str]] | None = None, *, feature_names: Sequence[str] | None = None
    ) -> Any:
        """Return W as a frame of pandas, n_features x n_components, with the names of the features and components.

        ``groups`` maps names to features, such as the indicators of one column, that get one row together: the roots of
        the sums of their squares. ``feature_names`` are by default those of the frame that was fitted. Behind steps
        that make arrays, give those of the ``pipeline``: ``pipeline[:-1].get_feature_names_out()``.

        Raises ``InputError`` unless each feature has a name, and as :class:`kdrbench.displays.LoadingsDisplay` does for
        ``groups``.
        """
        check_is_fitted(self)
        with needed_for("loadings_frame"):
            import pandas as pd
        if feature_names is None:
            scaled = getattr(self, "_scaled_names", [f"x{place}" for place in range(self.n_features_in_)])
            feature_names = getattr(self, "feature_names_in_", scaled)
        loadings, names = grouped_loadings(self.components_, feature_names, {} if groups is None else groups)
        return pd.DataFrame(loadings.T, index=names, columns=self.get_feature_names_out())

    def transform(self, X: Any) -> Any:
        """Return X W: of a Dask array a lazy one, of chunks a generator, of a tensor one on its device."""
        check_is_fitted(self)
        with one_blas_thread():
            return projected(self, X, self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # What clusters with the help of y cannot be fitted without, as scikit-learn fits its clusterers.
        tags.estimator_type = "clusterer" if self.paradigm == "unsupervised" else None
        tags.target_tags.required = self.paradigm != "unsupervised"
        tags.target_tags.one_d_labels = tags.target_tags.two_d_labels = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = accepts_sparse(self)
        return tags
