"""What an estimator's parameters say about threads, memory and approximations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joblib import effective_n_jobs

from kdrbench.errors import InputError, is_whole, unknown_name
from kdrbench.evaluation import Evaluation

_ALLOWED = ("evaluator", "tolerance", "memory_mib")


def evaluation_of(options: Mapping[str, Any] | None, n_jobs: int | None) -> Evaluation:
    """Return the evaluation that ``options`` and ``n_jobs`` (scikit-learn's meaning) ask for.

    Raises ``InputError`` for an unknown option, or values that are not allowed.
    """
    if options is not None and not isinstance(options, Mapping):
        raise InputError(f"evaluation must be None or a dict of options, got {options!r}")
    for name in options or {}:
        if name not in _ALLOWED:
            raise InputError(unknown_name("option of evaluation", name, list(_ALLOWED)))
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise InputError(f"n_jobs must be None or an integer other than 0 (-1: all cores), got {n_jobs!r}")
    return Evaluation(**(options or {}), threads=effective_n_jobs(1 if n_jobs is None else int(n_jobs)))
