"""Paradigms by name: features and what is known of them become a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation
from kdrbench.kernels import Combination, resolve_kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.alternation import Alternation
from kdrbench.paradigms.supervision import expert_scores, given_labellings
from kdrbench.paradigms.task import ClusteringTask, SupervisedTask, Task
from kdrbench.parameters import OneOf, check_names, check_value
from kdrbench.problems import supervised_gamma, target_gamma
from kdrbench.samples import Samples

Parameters = Mapping[str, Any]


def build_task(
    paradigm: str,
    parameters: Parameters,
    features: FloatArray | Samples,
    known: ArrayLike | None,
    *,
    evaluation: Evaluation | None = None,
) -> Task:
    """Return the task of a paradigm on ``features`` (n x d), ``known`` being what is known of the samples.

    - ``supervised``: class labels, n or n x m; with ``target_kernel`` (a kernel family or definition) continuous
      targets;
    - ``unsupervised``: nothing; ``n_clusters`` must be given;
    - ``semi_supervised``: expert scores, n or n x m, NaN for none; ``n_clusters`` must be given, ``mu`` weighs;
    - ``alternative``: one or several labellings to differ from; ``n_clusters`` is the first one's number of classes if
      not given, ``mu`` weighs.

    The last three take the settings of :class:`Alternation` as well. ``evaluation`` says how problems and kernel
    matrices may be evaluated.

    Raises ``InputError`` for an unknown paradigm or parameter, or one that is missing.
    """
    check_value("paradigm", paradigm, PARADIGMS)
    build, allowed = _BUILDERS[paradigm]
    if not isinstance(parameters, Mapping):
        raise InputError(f"parameters of a paradigm must be a dict, got {parameters!r}")
    check_names(f"parameter of paradigm {paradigm!r}:", parameters, sorted(allowed))
    if known is None and paradigm != "unsupervised":
        raise InputError(f"paradigm {paradigm!r} requires y to be passed, but the target y is None")
    return replace(build(features, known, parameters), evaluation=evaluation)


def _supervised(features: FloatArray | Samples, known: Any, parameters: Parameters) -> SupervisedTask:
    target_kernel = parameters.get("target_kernel")
    if target_kernel is None:
        labels = np.asarray(known)
        gamma = supervised_gamma(labels)
        return SupervisedTask(features, gamma, len(np.unique(labels if labels.ndim == 1 else labels[:, 0])))
    targets = np.asarray(known, dtype=np.float64)
    columns = targets[:, None] if targets.ndim == 1 else targets
    kernel = resolve_kernel(target_kernel, columns, columns.shape[1])
    if isinstance(kernel, Combination):
        raise InputError("target_kernel must be a single kernel, not a combination")
    return SupervisedTask(features, target_gamma(targets, kernel), columns.shape[1])


def _unsupervised(features: FloatArray, known: Any, parameters: Parameters) -> ClusteringTask:
    # The papers' form: degrees in the embedding only.
    return ClusteringTask(features, _alternation({"degrees": "embedding", **parameters}))


def _semi_supervised(features: FloatArray, known: Any, parameters: Parameters) -> ClusteringTask:
    guidance = expert_scores(known, parameters.get("mu", 1.0))
    return ClusteringTask(features, _alternation(parameters), (guidance,))


def _alternative(features: FloatArray, known: Any, parameters: Parameters) -> ClusteringTask:
    guidance = given_labellings(known, parameters.get("mu", 1.0))
    labels = np.asarray(known)
    n_classes = len(np.unique(labels if labels.ndim == 1 else labels[:, 0]))
    return ClusteringTask(features, _alternation({"n_clusters": n_classes, **parameters}), (guidance,))


def _alternation(parameters: Parameters) -> Alternation:
    if "n_clusters" not in parameters:
        raise InputError("this paradigm needs its number of clusters: give n_clusters, an integer >= 2")
    return Alternation(**{name: value for name, value in parameters.items() if name != "mu"})


_SETTINGS = frozenset(field.name for field in fields(Alternation))
_BUILDERS: dict[str, tuple[Callable[[Any, Any, Parameters], SupervisedTask | ClusteringTask], frozenset[str]]] = {
    "supervised": (_supervised, frozenset({"target_kernel"})),
    "unsupervised": (_unsupervised, _SETTINGS),
    "semi_supervised": (_semi_supervised, _SETTINGS | {"mu"}),
    "alternative": (_alternative, _SETTINGS | {"mu"}),
}
PARADIGMS = OneOf(tuple(sorted(_BUILDERS)))
