"""Learners by name: those of this package, and the user's own (see :mod:`kdrbench.plugins`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast

from kdrbench.errors import InputError
from kdrbench.methods import build_method, is_own, unknown_method
from kdrbench.metric_learning.dne import DNE
from kdrbench.metric_learning.learner import Learner
from kdrbench.metric_learning.lmnn import LMNN
from kdrbench.metric_learning.nca import NCA
from kdrbench.parameters import check_names

# What a learner's class must have.
CONTRACT = ("fit",)
LEARNERS: Mapping[str, type[NCA | LMNN | DNE]] = {"nca": NCA, "lmnn": LMNN, "dne": DNE}


def build_learner(learner: object, options: Mapping[str, Any] | None = None) -> Learner:
    """Return the learner of a name with its options, or an object with ``fit`` as it is.

    A name may also be a file, ``module:Class`` or an entry point's name, for a learner of the user's own: a dataclass
    of its options.

    Raises ``InputError`` for an unknown name or option, an object without ``fit``, or options of an object.
    """
    if isinstance(learner, str):
        if learner in LEARNERS:
            checked = _checked(learner, {} if options is None else options)
            return LEARNERS[learner](**checked)
        return _build_own(learner, {} if options is None else options)
    if isinstance(learner, type):
        name = learner.__name__
        raise InputError(f"a learner must be an object or a name, and {name} is a class; write {name}()")
    if not callable(getattr(learner, "fit", None)):
        raise InputError(f"a learner must be one of {', '.join(LEARNERS)} or an object with fit; got {learner!r}")
    if options:
        raise InputError("options belong to a learner's name; a learner object has its own")
    return cast("Learner", learner)


def _build_own(learner: str, options: Mapping[str, Any]) -> Learner:
    if not is_own("learner", learner, LEARNERS):
        raise InputError(unknown_method("learner", "learner", learner, LEARNERS))
    return cast("Learner", build_method("learner", {"method": learner, **options}, {}, CONTRACT))


def _checked(learner: str, options: object) -> Mapping[str, Any]:
    allowed = [field.name for field in fields(LEARNERS[learner])]
    if not isinstance(options, Mapping):
        raise InputError(f"options of a learner must be None or a dict, got {options!r}")
    check_names(f"option of learner {learner!r}:", options, allowed)
    return options
