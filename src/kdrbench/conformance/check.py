"""All checks of one plug-in, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from kdrbench.conformance.apart import ask_apart
from kdrbench.conformance.findings import Check, Finding
from kdrbench.conformance.kernel import kernel_checks
from kdrbench.conformance.others import baseline_checks, data_checks, learner_checks
from kdrbench.conformance.solver import solver_checks
from kdrbench.conformance.subject import Subject

_CHECKS: dict[str, Callable[[str, Mapping[str, Any]], list[Check]]] = {
    "solver": solver_checks,
    "kernel": kernel_checks,
    "dataset": data_checks,
    "baseline": baseline_checks,
    "metric-learner": learner_checks,
}
# What methods of the suite import late: once here, not in the process of each check.
_LATE = {
    "dataset": ("sklearn.datasets",),
    "metric-learner": ("scipy.optimize", "sklearn.neighbors"),
    "baseline": ("sklearn.cluster", "sklearn.decomposition", "sklearn.discriminant_analysis", "sklearn.svm"),
    "solver": ("pymanopt.manifolds", "pymanopt.optimizers"),
}


def check(subject: Subject, time_limit_s: float = 60.0) -> Iterator[Finding]:
    """Yield what each check of the subject finds, each in a process of its own and within ``time_limit_s``.

    The second check lets the plug-in work for the first time. Where it or the API is at fault, the others would only
    say so again and are left out.
    """
    _load_late_imports(subject)
    for number, one in enumerate(_CHECKS[subject.kind](subject.place, subject.options)):
        finding = ask_apart(one, time_limit_s)
        yield finding
        if finding.fault and number < 2:
            return


def _load_late_imports(subject: Subject) -> None:
    for module in _LATE.get(subject.kind, ()):
        import_module(module)
