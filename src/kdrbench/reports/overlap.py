"""A test of whether two methods differ on random splits of one data set, whose training sets overlap."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def corrected_t_p(differences: ArrayLike, test_share: float) -> float | None:
    """Return the two-sided p of a mean of differences over J random splits; ``None`` for fewer than two.

    ``test_share`` is n_test / n_train. The variance of the mean is (1/J + n_test/n_train) s^2: training sets of one
    data set overlap, and a plain paired test finds too many differences.

    Source: Nadeau and Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
    """
    from scipy.stats import t

    values = np.asarray(differences, dtype=float)
    if len(values) < 2:
        return None
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if spread == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    statistic = abs(mean) / (spread * np.sqrt(1.0 / len(values) + test_share))
    return float(2.0 * t.sf(statistic, len(values) - 1))
