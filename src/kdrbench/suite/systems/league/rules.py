"""The rules by which methods play, and the names of the judges; what a configuration needs to know of the league.

Rules, as optimisation benchmarks have them:

``fixed``   the published or default parameters of the method.
``tuned``   the best of these and of the method's grid by an inner cross validation over the training rows. Candidates
            are scored by the mean of both accuracies; their time counts as the method's.
"""

from __future__ import annotations

from kdrbench.suite.engine.system import Config

FIXED, TUNED = "fixed", "tuned"
RULES = (FIXED, TUNED)
INNER_FOLDS = 3
# Columns of the scores, each higher where the projection is better, with their names in sentences.
JUDGES = {
    "knn_accuracy": "k-NN accuracy",
    "linear_accuracy": "linear accuracy",
    "distance_correlation": "distance correlation",
}
# The table of a tuned league beside the league with default parameters.
TUNING = "tuning"
# Two leagues with the same values of the first two have the same folds.
_SAME_FOLDS, _SHARED = ("folds", "most_rows"), ("datasets", "methods", "components")


def fixed_beside(config: Config, name: str) -> str | None:
    """Return the first league with default parameters that is run on the folds of the tuned league ``name``.

    ``None`` where there is none that shares a data set, a method and a number of components with it, or ``name`` is no
    tuned league.
    """
    experiments: Config = config["experiments"]
    tuned = experiments[name]
    if tuned.get("rules") != TUNED:
        return None
    other: str
    for other in config["run"]:
        fixed = experiments[other]
        if fixed.get("system") != "league":
            continue
        alike = fixed["rules"] == FIXED and all(fixed.get(key) == tuned.get(key) for key in _SAME_FOLDS)
        if alike and all(set(fixed[key]) & set(tuned[key]) for key in _SHARED):
            return other
    return None
