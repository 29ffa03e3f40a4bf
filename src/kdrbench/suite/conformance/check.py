"""What is asked of plug-ins of every kind, one check after the other.

One check in a process of its own: a plug-in that hangs, dies or changes the process spoils nothing else.
"""

from __future__ import annotations

import inspect
import json
import os
import pickle
import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from importlib import import_module
from pathlib import Path
from traceback import walk_tb
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdrbench.errors import KdrbenchError, counted, in_words
from kdrbench.kernels.family import FloatArray
from kdrbench.suite.conformance.subject import KINDS, Subject
from kdrbench.suite.engine.isolation import processes
from kdrbench.suite.engine.isolation.guardian import Exit
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import SupervisionError, report_of


class Fault(Exception):  # noqa: N818 - it is what is found, not an error of the check
    """What is wrong with a plug-in, and what to do."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(what)
        self.what, self.advice = what, advice


class Check(NamedTuple):
    """One question; ``ask`` raises :class:`Fault` or anything else where the answer is no.

    ``advice`` is for what else is raised, unless by the plug-in's own lines.
    """

    name: str
    ask: Callable[[], None]
    advice: str


@dataclass(frozen=True)
class Finding:
    """The answer to one check; ``fault`` and ``advice`` are empty where all is well."""

    check: str
    fault: str = ""
    advice: str = ""

    def __str__(self) -> str:
        """Return the finding as lines for a terminal."""
        return f"{self.check}: {self.fault}\n    {self.advice}" if self.fault else f"{self.check}: well"


N_SAMPLES, N_FEATURES, N_CLASSES = 40, 6, 3
_OWN_GENERATOR = "draw random numbers from numpy.random.default_rng(self.seed), with an option `seed: int = 0`"


def features_and_labels() -> tuple[FloatArray, NDArray[np.int64]]:
    """Return three overlapping classes of 40 samples, centred, and their codes; the same every time."""
    labels = np.arange(N_SAMPLES) % N_CLASSES
    features = np.random.default_rng(0).standard_normal((N_SAMPLES, N_FEATURES)) + 0.7 * labels[:, None]
    return features - features.mean(axis=0), labels


def some_projection(n_features: int, n_components: int) -> FloatArray:
    """Return an orthonormal array that is no stationary point of anything; the same every time."""
    columns = np.random.default_rng(1).standard_normal((n_features, n_components))
    return np.ascontiguousarray(np.linalg.qr(columns)[0])


Arrays = tuple[NDArray[Any], ...]


class Contract(ABC):
    """What is asked of the plug-in at a ``place`` with ``options``, which is built and put to work for each check.

    ``checks`` are those of its kind by name, each a method ``_check_NAME``, with their advice; ``late`` are modules
    that methods of the suite import late: here once, not in the process of each check.
    """

    checks: ClassVar[Mapping[str, str]]
    late: ClassVar[tuple[str, ...]] = ()
    _common: ClassVar[Mapping[str, str]] = {
        "determinism": _OWN_GENERATOR,
        "inputs": "work on copies of the arrays you are given",
        "global state": "leave the process as it is",
        "pickle": "keep all that matters in the options",
    }

    def __init__(self, place: str, options: Mapping[str, Any]) -> None:
        self.place, self.options = place, options

    @abstractmethod
    def _build(self) -> Any: ...

    def _inputs(self) -> Arrays:
        return features_and_labels()

    @abstractmethod
    def _work(self, plugin: Any, arrays: Arrays) -> Arrays: ...

    def all_checks(self) -> list[Check]:
        """Return the checks of its kind, then those of every kind, which suppose that the work itself goes well."""
        checks = {**self.checks, **self._common}
        return [Check(name, getattr(self, f"_check_{name.lower().replace(' ', '_')}"), checks[name]) for name in checks]

    def _checked(self, method: str, *arguments: str) -> Any:
        """Return the plug-in: its options must be sound, and its method take the arguments by position."""
        plugin, listed = self._build(), ", ".join(arguments)
        check_options(type(plugin))
        try:
            inspect.signature(getattr(plugin, method)).bind(*arguments)
        except TypeError as error:
            raise Fault(
                f"{method} cannot be called with {listed}: {error}", f"write def {method}(self, {listed})"
            ) from error
        return plugin

    def _check_determinism(self) -> None:
        _seed_all(1)
        plugin = self._build()
        first = self._work(plugin, self._inputs())
        again = self._work(plugin, self._inputs())
        _seed_all(2)
        reseeded = self._work(self._build(), self._inputs())
        if not _same(first, again):
            raise Fault(
                "the same object gives another result the second time",
                "keep nothing between calls; seed generators of random numbers in each",
            )
        if not _same(first, reseeded):
            raise Fault("the result depends on the seed of a global generator", _OWN_GENERATOR)

    def _check_inputs(self) -> None:
        arrays = self._inputs()
        self._work(self._build(), arrays)
        for number, (array, before) in enumerate(zip(arrays, self._inputs(), strict=True), start=1):
            if not np.array_equal(array, before):
                raise Fault(
                    f"it changes array {number} of those it is given, of shape {array.shape}",
                    "work on a copy: write `x = x.copy()`, or `x = x + y` in place of `x += y`",
                )

    def _check_global_state(self) -> None:
        before = {name: read() for name, (read, _) in _STATE.items()}
        # Workers that others have started end when they like.
        environment, others = dict(os.environ), processes.descendants()
        self._work(self._build(), self._inputs())
        if left := processes.forks_left(others):
            raise Fault(f"it left {counted(left, 'process', 'processes')} behind", _LEFT)
        for name, (read, advice) in _STATE.items():
            if read() != before[name]:
                raise Fault(f"it changes {name} of the whole process", advice)
        # The first work has imported what is imported late, and libraries may set variables when that is done.
        os.environ.clear()
        os.environ.update(environment)
        self._work(self._build(), self._inputs())
        if changed := {name for name, _ in os.environ.items() ^ environment.items()}:
            raise Fault(
                f"it changes {', '.join(sorted(changed))} in os.environ",
                "threads and limits are the bench's business; pass settings on as arguments",
            )

    def _check_pickle(self) -> None:
        plugin = self._build()
        advice = "keep plain values as options; make functions, files and locks where they are used"
        try:
            copy = pickle.loads(pickle.dumps(plugin))  # noqa: S301 - made here
        except Exception as error:
            raise Fault(f"it cannot be pickled ({in_words(error)})", advice) from error
        if not _same(self._work(plugin, self._inputs()), self._work(copy, self._inputs())):
            raise Fault("a copy from a pickle gives another result", "keep all that matters in the options")


def _seed_all(seed: int) -> None:
    # The global ones on purpose: results must not depend on them.
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


def _same(first: Arrays, second: Arrays) -> bool:
    return len(first) == len(second) and all(map(np.array_equal, first, second))


# What a plug-in must leave as it is, by name: how it is read, and what to do instead of changing it.
_STATE: dict[str, tuple[Callable[[], Any], str]] = {
    "numpy.random": (lambda: pickle.dumps(np.random.get_state()), _OWN_GENERATOR),  # noqa: NPY002
    "random": (random.getstate, _OWN_GENERATOR),
    "numpy.seterr": (np.geterr, "write `with numpy.errstate(...):`"),
    "numpy.printoptions": (lambda: repr(np.get_printoptions()), "write `with numpy.printoptions(...):`"),
    "the working directory": (os.getcwd, "leave it as it is"),
}


def check_options(plugin: Any) -> None:
    """Raise :class:`Fault` unless a class is a frozen dataclass of options that a configuration can hold."""
    if not plugin.__dataclass_params__.frozen:
        raise Fault(
            f"{plugin.__name__} is a dataclass that can be changed; what one run leaves in it the next one finds",
            "write @dataclass(frozen=True), and keep what changes in local variables",
        )
    for option in fields(plugin):
        if option.default is MISSING and option.default_factory is MISSING:
            raise Fault(f"the option {option.name} has no default", f"write {option.name}: <type> = <value>")
        try:
            json.dumps(option.default if option.default_factory is MISSING else None)
        except (TypeError, ValueError) as error:
            raise Fault(
                f"the option {option.name} has the default {option.default!r}, which no configuration can hold",
                "let options be numbers, words, true or false, None, or lists of these",
            ) from error


_MEMORY_MIB = 4096.0
# How a check's process ended, and what to do about it; and about an exception of the plug-in's own lines.
_ENDINGS = {
    Exit.TIME_LIMIT: (
        "did not end within {seconds:g} s",
        "let it end: bound its loops, and let a solver ask monitor.keep_going in each; if it is only slow, give more "
        "seconds with --time-limit",
    ),
    Exit.MEMORY_LIMIT: (
        f"took more than {_MEMORY_MIB:g} MiB",
        "let it keep less: a check gives it some tens of samples",
    ),
    Exit.SIGNALLED: (
        "ended the process by signal {code}",
        "look at compiled code that it calls, and at what kills processes: the check did not",
    ),
    Exit.EXITED: (
        "ended the process with exit code {code}",
        "raise an exception where something is wrong, and leave the process to go on",
    ),
}
_RAISED = "correct that line: what the check gave it is sound"
_LEFT = "wait for each process that it starts, let no child return from its work, and end no process of others"
_OWN = Path(__file__).resolve().parents[2]


def ask_apart(check: Check, time_limit_s: float) -> Finding:
    """Return what the check finds; not to end within the limit is a fault as well."""
    try:
        ending, answer = report_of(lambda: _ask(check), Limits(time_limit_s, _MEMORY_MIB))
    except SupervisionError:
        return Finding(check.name, "its processes could not be watched to their end", _LEFT)
    if answer is not None:
        return Finding(check.name, *answer)
    words, advice = _ENDINGS[ending.end]
    return Finding(check.name, f"it {words.format(seconds=time_limit_s, code=ending.code)}", advice)


def _ask(check: Check) -> tuple[str, str]:
    process = os.getpid()
    try:
        check.ask()
    except Fault as fault:
        return fault.what, fault.advice
    except KdrbenchError as error:
        return str(error), check.advice
    except BaseException as error:
        line = _line_of(error)
        return f"it raised {in_words(error)}{line}", _RAISED if line else check.advice
    finally:
        processes.end_unless(process)
        sys.stdout.flush()
    return "", ""


def _line_of(error: BaseException) -> str:
    """Return the line of the plug-in's own file, which is the last one that is not a library's."""
    own = ""
    for frame, line in walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if not name.startswith(("<", str(_OWN))) and "site-packages" not in name:
            own = f" (line {line} of {Path(name).name})"
    return own


def check(subject: Subject, time_limit_s: float = 60.0) -> Iterator[Finding]:
    """Yield what each check of the subject finds, each in a process of its own and within ``time_limit_s``.

    The second check lets the plug-in work for the first time. Where it or the API is at fault, the others would only
    say so again and are left out.
    """
    contract = contract_of(subject)
    for module in contract.late:
        import_module(module)
    for number, one in enumerate(contract.all_checks()):
        finding = ask_apart(one, time_limit_s)
        yield finding
        if finding.fault and number < 2:
            return


def contract_of(subject: Subject) -> Contract:
    """Return the contract of the subject's kind, of which nothing has been asked yet."""
    contracts = import_module("kdrbench.suite.conformance.contracts")
    contract: type[Contract] = getattr(contracts, KINDS[subject.kind].contract)
    return contract(subject.place, subject.options)
