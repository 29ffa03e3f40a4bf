"""How many runs of a cell one job makes where ``folds_per_job`` is ``auto``.

Starting a job takes some seconds, so cheap runs share one; dear ones get a job each, so that they run side by side and
an interruption loses little. A run is reckoned at

    evaluations * pairs * (d + q) * 2 operations,   1e10 of them a second,

pairs being n^2, or n * d where the kernel is linear or squared, whose problems have exact factors; evaluations are
those that a method usually needs, to an order of magnitude (a method of the user's own counts as a rival). All runs of
a cell share a job if together they are reckoned to take at most five minutes. A wrong guess costs time, never a result.
"""

from __future__ import annotations

from kdrbench.bench.experiment import Config

AUTO = "auto"
_OPERATIONS_PER_S = 1e10
_JOB_S = 300.0
_FACTORED = ("linear", "squared")
_REFERENCE = 1.0
_RIVAL = 1000.0
_EVALUATIONS = {
    "ism": 10.0,
    "ism_safeguarded": 50.0,
    # Pairs one by one take some five hundred times longer than all together.
    "ism_2018": 5000.0,
}
# An alternation solves again in each of its rounds.
_ROUNDS = 5.0


def runs_per_job(
    asked: str | int, n_runs: int, n_samples: int, n_features: int, n_components: int, part: Config, paradigm: str
) -> int:
    """Return ``asked``, or what the rule of this module says for it where that is ``auto``.

    ``part`` holds ``solver_definition`` and ``kernel_definition`` of a batch, the latter empty for a reference.
    """
    if asked != AUTO:
        return int(asked)
    seconds = seconds_of_a_run(n_samples, n_features, n_components, part, paradigm)
    return n_runs if n_runs * seconds <= _JOB_S else 1


def seconds_of_a_run(n_samples: int, n_features: int, n_components: int, part: Config, paradigm: str) -> float:
    """Return about how long one run takes."""
    kernel = part["kernel_definition"].get("family")
    pairs = n_samples * (n_features if kernel in _FACTORED else n_samples)
    evaluations = _EVALUATIONS.get(part["solver_definition"]["method"], _RIVAL) if kernel else _REFERENCE
    if kernel and paradigm != "supervised":
        evaluations *= _ROUNDS
    return evaluations * 2.0 * pairs * (n_features + n_components) / _OPERATIONS_PER_S
