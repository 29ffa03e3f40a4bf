"""Learners by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast

from kdrbench.errors import InputError, unknown_name
from kdrbench.metric_learning.dne import DNE
from kdrbench.metric_learning.learner import Learner
from kdrbench.metric_learning.lmnn import LMNN
from kdrbench.metric_learning.nca import NCA

LEARNERS: Mapping[str, type[NCA | LMNN | DNE]] = {"nca": NCA, "lmnn": LMNN, "dne": DNE}


def build_learner(learner: object, options: Mapping[str, Any] | None = None) -> Learner:
    """Return the learner of a name with its options, or an object with ``fit`` as it is.

    Raises ``InputError`` for an unknown name or option, an object without ``fit``, or options of an object.
    """
    if isinstance(learner, str):
        if learner not in LEARNERS:
            raise InputError(unknown_name("learner", learner, sorted(LEARNERS)))
        given = _checked(learner, {} if options is None else options)
        return LEARNERS[learner](**given)
    if isinstance(learner, type) or not callable(getattr(learner, "fit", None)):
        raise InputError(f"a learner must be one of {', '.join(LEARNERS)} or an object with fit; got {learner!r}")
    if options:
        raise InputError("options belong to a learner's name; a learner object has its own")
    return cast("Learner", learner)


def _checked(learner: str, options: object) -> Mapping[str, Any]:
    allowed = [field.name for field in fields(LEARNERS[learner])]
    if not isinstance(options, Mapping):
        raise InputError(f"options of a learner must be None or a dict, got {options!r}")
    for option in options:
        if option not in allowed:
            raise InputError(unknown_name(f"option of learner {learner!r}:", option, allowed))
    return options
