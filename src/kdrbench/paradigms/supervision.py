"""Supervised IKDR: max HSIC(XW, y) = Tr(K_XW H K_y H).

What is known of samples, or to be avoided, as terms of a clustering objective.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kdrbench.errors import InputError
from kdrbench.evaluation import build_problem
from kdrbench.kernels import Combination, Kernel
from kdrbench.kernels.family import FloatArray
from kdrbench.paradigms.form import Guidance
from kdrbench.parameters import POSITIVE, check_value
from kdrbench.problems import Problem, TraceObjective, one_hot_columns, supervised_gamma, target_gamma


def supervised_problem(features: FloatArray, labels: ArrayLike, kernel: Kernel | Combination) -> Problem:
    """Return the problem max_W Tr(H Y Y' H K_XW) with the diagonal of K dropped.

    ``features`` is n x d (standardised by the caller), ``labels`` has n entries of any type, or n x m columns of
    them: Y holds the one-hot columns of all.

    Source: NeurIPS 2019, Eq. 2.
    """
    return build_problem(TraceObjective(features, kernel, supervised_gamma(labels)))


def regression_problem(
    features: FloatArray, targets: FloatArray, kernel: Kernel | Combination, target_kernel: Kernel
) -> Problem:
    """Return the problem max_W Tr(H K_y H K_XW) with the diagonal of K dropped, for continuous targets.

    ``targets`` has n entries or n x m, ``target_kernel`` makes K_y of them as they are.

    Source: NeurIPS 2019, Eq. 2 with a kernel in place of one-hot labels.
    """
    return build_problem(TraceObjective(features, kernel, target_gamma(targets, target_kernel)))


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
    return Guidance(_positive(mu), np.where(answers, columns - means, 0.0), with_degrees=False)


def given_labellings(labels: ArrayLike, mu: float = 1.0) -> Guidance:
    """Return - mu Tr(Y' N' K_XW N Y) for the one-hot columns Y of one or several labellings (n x m).

    Clusters then differ from each of them. Y is not scaled: its columns have length sqrt(n / k) where those of the
    embedding have length one.

    Source: Wu et al., AISTATS 2018, Eq. 4, in the form of their code.

    Raises ``InputError`` unless mu is finite and positive, and as :func:`kdrbench.problems.one_hot_columns`.
    """
    return Guidance(-_positive(mu), one_hot_columns(labels))


def _positive(mu: float) -> float:
    check_value("mu", mu, POSITIVE)
    return float(mu)
