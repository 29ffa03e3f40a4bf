"""Paradigms as tasks for a solver: features and what is known of them, by names, as problems or clusterings.

Supervised learning maximises HSIC(XW, y) = Tr(K_XW H K_y H); what is known of samples, or to be avoided, are terms of a
clustering's objective.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.kernels import Combination, Kernel, build_kernel
from kdrbench.kernels.combination import has_constant_slope
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.alternation import ClusteringTask, MakeMonitor
from kdrbench.paradigms.embedding import Alternation, Guidance
from kdrbench.paradigms.reduced import Learned
from kdrbench.parameters import POSITIVE, OneOf, check_names, check_value
from kdrbench.problems import (
    Counters,
    FactoredGamma,
    Problem,
    TraceObjective,
    one_hot_columns,
    supervised_gamma,
    target_gamma,
)
from kdrbench.samples import Samples
from kdrbench.solvers import Solver, solve

Parameters = Mapping[str, Any]
_SETTINGS = frozenset(field.name for field in fields(Alternation))
# The parameters of each paradigm.
_ALLOWED: Mapping[str, frozenset[str]] = {
    "supervised": frozenset({"target_kernel"}),
    "unsupervised": _SETTINGS,
    "semi_supervised": _SETTINGS | {"mu"},
    "alternative": _SETTINGS | {"mu"},
}
PARADIGMS = OneOf(tuple(sorted(_ALLOWED)))


def supervised_problem(features: FloatArray, labels: ArrayLike, kernel: Kernel | Combination) -> Problem:
    """Return the problem max_W Tr(H Y Y' H K_XW) with the diagonal of K dropped.

    ``features`` is n x d (standardised by the caller), ``labels`` has n entries of any type, or n x m columns of
    them: Y holds the one-hot columns of all.

    Source: NeurIPS 2019, Eq. 2.
    """
    return build_problem(TraceObjective(features, kernel, supervised_gamma(labels)))


def expert_scores(scores: ArrayLike, mu: float = 1.0) -> Guidance:
    """Return + mu HSIC(XW, scores) with the linear kernel on the scores: mu Tr(S' H K_XW H S).

    ``scores`` is n x m (or n entries), a column for each question an expert answered; NaN where there is no answer.
    A column is centred over its answers, and samples without one get 0: they say nothing. Columns are not scaled, so
    their units and mu together set how much they weigh against the embedding, whose columns have length one.

    Source: NeurIPS 2019, section 2 (semi-supervised learning).

    Raises ``InputError`` unless mu is finite and positive, scores are numbers in at most two dimensions, and each
    column has two different answers.
    """
    try:
        columns = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"expert scores must be numbers, with NaN where there is none: {error}") from error
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or columns.size == 0 or np.isinf(columns).any():
        raise InputError(f"expert scores must be n entries or n x m finite numbers or NaN; got shape {columns.shape}")
    answers = ~np.isnan(columns)
    for place, (column, answered) in enumerate(zip(columns.T, answers.T, strict=True)):
        if not answered.any() or np.ptp(column[answered]) == 0.0:
            raise InputError(f"column {place} of the expert scores has no two different answers")
    means = np.nanmean(columns, axis=0)
    check_value("mu", mu, POSITIVE)
    return Guidance(float(mu), np.where(answers, columns - means, 0.0), with_degrees=False)


def given_labellings(labels: ArrayLike, mu: float = 1.0) -> Guidance:
    """Return - mu Tr(Y' N' K_XW N Y) for the one-hot columns Y of one or several labellings (n x m).

    Clusters then differ from each of them. Y is not scaled: its columns have length sqrt(n / k) where those of the
    embedding have length one.

    Source: Wu et al., AISTATS 2018, Eq. 4, in the form of their code.

    Raises ``InputError`` unless mu is finite and positive, and as :func:`kdrbench.problems.one_hot_columns`.
    """
    check_value("mu", mu, POSITIVE)
    return Guidance(-float(mu), one_hot_columns(labels))


@dataclass
class SupervisedTask:
    """Gamma is fixed: one solve."""

    features: FloatArray | Samples
    gamma: FactoredGamma
    n_classes: int
    evaluation: Evaluation = field(default_factory=Evaluation)
    # The problem of the last kernel: what made the start serves the solve.
    _last: tuple[Kernel | Combination, Problem] | None = field(default=None, init=False, repr=False)

    @property
    def alignment_target(self) -> FloatArray | None:
        """The factor of Gamma, where no weight is negative."""
        if (self.gamma.weights < 0).any():
            return None
        return self.gamma.factor * np.sqrt(self.gamma.weights)

    def first_problem(self, kernel: Kernel | Combination) -> Problem:
        """Return the problem, the same one for the same kernel."""
        if self._last is None or self._last[0] is not kernel:
            objective = TraceObjective(self.features, kernel, self.gamma)
            self._last = (kernel, build_problem(objective, self.evaluation))
        return self._last[1]

    def learn(self, kernel: Kernel | Combination, solver: Solver, start: FloatArray, monitor: MakeMonitor) -> Learned:
        """Solve it."""
        problem = self.first_problem(kernel)
        problem.counters = Counters()
        result = solve(solver, problem, start, monitor())
        value = problem.fresh().value(result.projection)
        return Learned(result.projection, value, result.status, result.message, problem, result)


# What is to be learned from given samples, whatever the kernel, the start and the solver.
Task = SupervisedTask | ClusteringTask


def learn_from_all(
    task: Task,
    kernel: Kernel | Combination,
    solver: Solver,
    starts: Iterable[FloatArray],
    monitor: MakeMonitor,
    *,
    rough: bool = False,
    on_some: bool = False,
) -> tuple[Learned, list[Learned]]:
    """Return what the best of these starts leads to, and all that were compared, by falling objective.

    Equals are in the order of their starts. With ``rough`` the starts of a clustering compete by solves that end far
    from stationary, and the best W goes on. With ``on_some``, where samples are many, they compete so on some of them.
    """
    points = list(starts)
    if not points:
        raise InputError("at least one start is needed")
    # Beside other starts a solver needs none of its own.
    chosen = getattr(solver, "alone", solver) if len(points) > 1 else solver
    if isinstance(task, ClusteringTask) and len(points) > 1:
        tried = getattr(chosen, "rough", chosen)
        compared = _rough_outcomes(task, kernel, tried, points, monitor, on_all=rough, on_some=on_some)
        if compared:
            return task.learn(kernel, chosen, compared[0].projection, monitor, resumed=True), compared
    compared = _by_objective(task.learn(kernel, chosen, start, monitor) for start in points)
    return compared[0], compared


def _rough_outcomes(
    task: ClusteringTask,
    kernel: Kernel | Combination,
    solver: Solver,
    starts: Sequence[FloatArray],
    monitor: MakeMonitor,
    *,
    on_all: bool,
    on_some: bool,
) -> list[Learned]:
    """Return what rough solves from the starts lead to, by falling objective; nothing where none are asked for.

    On all samples, only the better half of the starts goes on after a round, if Phi is not constant. Measured: of 13
    fits by multiquadrics none ends lower for it, beyond 1e-6, and 5 end higher.
    """
    some = task.of_some_samples(kernel) if on_some else None
    if some is None and not on_all:
        return []
    task, kernel = some or (task, kernel)
    if some is not None or has_constant_slope(kernel):
        return _by_objective(task.learn(kernel, solver, start, monitor) for start in starts)
    begun = _by_objective(task.learn(kernel, solver, start, monitor, max_rounds=1) for start in starts)
    better = [outcome.projection for outcome in begun[: -(-len(begun) // 2)]]
    return _by_objective(task.learn(kernel, solver, start, monitor, resumed=True) for start in better)


def _by_objective(outcomes: Iterable[Learned]) -> list[Learned]:
    return sorted(outcomes, key=lambda outcome: -outcome.objective)


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
    if not isinstance(parameters, Mapping):
        raise InputError(f"parameters of a paradigm must be a dict, got {parameters!r}")
    check_names(f"parameter of paradigm {paradigm!r}:", parameters, sorted(_ALLOWED[paradigm]))
    if known is None and paradigm != "unsupervised":
        raise InputError(f"paradigm {paradigm!r} requires y to be passed, but the target y is None")
    task: Task
    if paradigm == "supervised":
        task = _supervised(features, known, parameters)
    else:
        task = _clustering(paradigm, cast("FloatArray", features), known, parameters)
    return replace(task, evaluation=evaluation or Evaluation())


def _supervised(features: FloatArray | Samples, known: Any, parameters: Parameters) -> SupervisedTask:
    target_kernel = parameters.get("target_kernel")
    if target_kernel is None:
        labels = np.asarray(known)
        gamma = supervised_gamma(labels)
        return SupervisedTask(features, gamma, len(np.unique(labels if labels.ndim == 1 else labels[:, 0])))
    targets = np.asarray(known, dtype=np.float64)
    columns = targets[:, None] if targets.ndim == 1 else targets
    try:
        kernel = build_kernel(target_kernel, columns, columns.shape[1])
    except InputError as error:
        raise type(error)(f"target_kernel, the kernel of y: {error}") from error
    if isinstance(kernel, Combination):
        raise InputError("target_kernel must be a single kernel, not a combination")
    return SupervisedTask(features, target_gamma(targets, kernel), columns.shape[1])


def _clustering(paradigm: str, features: FloatArray, known: Any, parameters: Parameters) -> ClusteringTask:
    """Return an alternation with what is known as a term of its objective."""
    mu, settings = parameters.get("mu", 1.0), {name: value for name, value in parameters.items() if name != "mu"}
    guidance: tuple[Guidance, ...] = ()
    if paradigm == "unsupervised":
        # The papers' form: degrees in the embedding only.
        settings = {"degrees": "embedding", **settings}
    elif paradigm == "semi_supervised":
        guidance = (expert_scores(known, mu),)
    else:
        guidance, labels = (given_labellings(known, mu),), np.asarray(known)
        settings = {"n_clusters": len(np.unique(labels if labels.ndim == 1 else labels[:, 0])), **settings}
    if "n_clusters" not in settings:
        raise InputError("this paradigm needs its number of clusters: give n_clusters, an integer >= 2")
    return ClusteringTask(features, Alternation(**settings), guidance)
