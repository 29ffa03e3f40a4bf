"""Revisions of the components that decide results: two integers each, raised by hand where results change.

A component is named by its kind and its registered name, such as ``solver/ism`` or ``kernel/gaussian``. ``numbers`` is
raised by a change of costs, qualities or iterations: rows of an earlier revision are then made again, unless an audit
has shown that theirs are the same. ``speed`` is raised by a change of times: times of an earlier revision are marked.
``make contract`` says where a revision has to be raised. The sources themselves decide nothing: an edit that changes no
result makes no row stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

# Components by kind: those of a registry have its names.
KINDS = (
    *("solver", "kernel", "evaluation", "paradigm", "rounds", "start", "baseline"),
    *("learner", "selection", "figure", "divergence", "projection", "boosting", "reducer"),
    *("splits", "referee", "judge", "atlas", "noise"),
)


class Revision(NamedTuple):
    """The revisions of a component's ``numbers`` and of its ``speed``."""

    numbers: int = 1
    speed: int = 1


FIRST = Revision()
# Those beyond the first, each with the reason why it was raised.
# The bandwidth of InterpretableKDR's Gaussians was the median distance of unprojected samples.
_PROJECTED = Revision(2)
# The bandwidth of InterpretableKDR's Gaussians was sqrt(q/d) times the median for more than four components, too.
_WIDER = Revision(4)
# Random starts of solvers begin on few of the samples.
_ON_FEW_SAMPLES = Revision(2)
REVISIONS: Mapping[str, Revision] = {
    "reducer/kdr_gaussian": _WIDER,
    "reducer/kdr_combination": _PROJECTED,
    "reducer/shuffled_kdr": _WIDER,
    "reducer/kdr_polynomial": _ON_FEW_SAMPLES,
    "start/portfolio": _ON_FEW_SAMPLES,
}


def revisions_of(components: Iterable[str]) -> dict[str, Revision]:
    """Return the present revisions of components, by name in alphabetical order."""
    return {name: REVISIONS.get(name, FIRST) for name in sorted(set(components))}
