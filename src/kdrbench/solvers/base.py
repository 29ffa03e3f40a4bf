"""The contract of a solver, its result, the one public entry ``solve``, and solving in the row space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, ClassVar, NamedTuple, Protocol, cast

import numpy as np

from kdrbench.errors import InputError
from kdrbench.kernels.family import FloatArray
from kdrbench.parameters import COUNT, FLAG, POSITIVE, OneOf, check_parameters
from kdrbench.problems import PassStoppedError, Problem, TraceObjective
from kdrbench.solvers.geometry.stiefel import feasibility_error
from kdrbench.solvers.monitor import Iterate, Monitor, MonitorProxy, SolveMonitor
from kdrbench.status import BY_METHODS, Status

__all__ = ["Solver", "SolverOutcome", "SolverResult", "Status", "solve"]

# Of a rival: best effort to a common accuracy, or the defaults of its paper or its authors' code.
VARIANTS = OneOf(("converged", "published"))
# Rounding of a few hundred orthogonalisations stays far below this; a larger error is a solver's fault.
FEASIBILITY_BOUND = 1e-10


# The message where q = d, for which there is nothing to solve.
SQUARE = "a square projection spans everything: any W is optimal"


class SolverOutcome(NamedTuple):
    """What a solver hands back; ``message`` says in words why it ended.

    ``lowest`` is the tangent (d x q, norm 1) along which it has found the smallest curvature of F at the projection, if
    it has looked: a certificate then begins with it.
    """

    projection: FloatArray
    status: Status
    message: str
    lowest: FloatArray | None = None


@dataclass(frozen=True)
class SolverResult:
    """A finished solve: orthonormal ``projection`` (d x q), status, iterations, oracle calls, message.

    ``evaluation`` says how the problem was evaluated, and why. ``lowest`` is the outcome's.
    """

    projection: FloatArray
    status: Status
    iterations: int
    counters: dict[str, int]
    message: str
    evaluation: str
    lowest: FloatArray | None = None


class Solver(Protocol):
    """A method with its options; ``requires`` names the oracles it calls.

    A class may also set ``monotone = True``: F never falls, which `kdrbench check` then verifies. ``own_rule`` says in
    words by which rule it says converged, where that is not stationarity to 1e-6. ``control = True`` says that it does
    not try to maximise F; reports load no solver of the user's own, so that they compare such a control with others.
    ``imports`` names the modules that it loads when it is first used; ``exploration`` is the solver with which a
    converging alternation begins, itself if there is none.
    """

    requires: ClassVar[frozenset[str]]

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Maximise from ``start``, looping as ``while monitor.keep_going(W)``."""


def solve(
    solver: Solver, problem: Problem, start: FloatArray | Callable[[], FloatArray], monitor: Monitor
) -> SolverResult:
    """Run ``solver`` on ``problem`` and return its checked result.

    ``start`` is an orthonormal d x q array, or a function that makes one (its cost is then inside the
    monitored time). The monitor decides when to stop beyond the solver's own rule: between iterates, and inside
    long passes over the data, after which the last iterate is the result. A solver that keeps checkpoints continues
    from the monitor's, as if it had never been interrupted.

    Raises ``InputError`` for what is no :class:`.Problem` or lacks an oracle the solver requires, or when the start or
    the solver's result is not a finite, orthonormal d x q array.
    """
    check_oracles(solver, problem)
    monitor.begin()
    first = start() if callable(start) else start
    check_projection("start", first, problem.n_features)
    tracked = SolveMonitor(monitor, problem.counters)
    problem.report, problem.observer = monitor.progress, getattr(monitor, "observe", None)
    try:
        outcome = solver.run(problem, first, cast(Monitor, tracked))
    except PassStoppedError:
        outcome = SolverOutcome(tracked.latest(first), monitor.stop_status, monitor.stop_message)
    finally:
        problem.report = problem.observer = None
    monitor.end()
    name, allowed = type(solver).__name__, dict.fromkeys((*BY_METHODS, monitor.stop_status))
    if not isinstance(outcome, SolverOutcome):
        raise InputError(f"run of {name} must return a SolverOutcome, got {type(outcome).__name__}")
    if not isinstance(outcome.status, Status) or outcome.status not in allowed:
        text = str(outcome.status)
        hint = f"; write kdrbench.solvers.Status.{text.upper()}, not a text" if text in allowed else ""
        raise InputError(f"{name} ended with status {text!r}; allowed: {', '.join(allowed)}{hint}")
    check_projection("result", outcome.projection, problem.n_features, first.shape[1])
    if outcome.lowest is not None and outcome.lowest.shape != outcome.projection.shape:
        raise InputError(f"lowest has shape {outcome.lowest.shape}, but the projection {outcome.projection.shape}")
    monitor.accept(outcome.projection)
    return SolverResult(
        projection=outcome.projection,
        status=outcome.status,
        iterations=monitor.iterations,
        counters=asdict(problem.counters),
        message=outcome.message,
        evaluation=problem.explain(first.shape[1]),
        lowest=outcome.lowest,
    )


def objective_of(problem: Problem) -> TraceObjective:
    """Return the samples, kernel and Gamma of a problem; ``InputError`` where it does not show them."""
    objective = getattr(problem, "objective", None)
    if not isinstance(objective, TraceObjective):
        raise InputError(f"this solver looks at the samples, which {type(problem).__name__} does not show")
    return objective


def check_oracles(solver: Solver, problem: Problem) -> None:
    """Raise ``InputError`` unless it is a :class:`.Problem` that has the oracles which the solver requires."""
    # A proxy of a problem has what that has.
    if not hasattr(problem, "in_row_space"):
        raise InputError(f"a problem is a class derived from kdrbench.problems.Problem, got {type(problem).__name__}")
    missing = [name for name in sorted(solver.requires) if not _has_oracle(problem, name)]
    if missing:
        raise InputError(
            f"{type(solver).__name__} needs the oracle {' and '.join(missing)}, which {type(problem).__name__} "
            "does not offer; choose another solver"
        )


def _has_oracle(problem: Problem, name: str) -> bool:
    oracle = getattr(problem, name, None)
    return callable(oracle) and getattr(oracle, "__func__", None) is not getattr(Problem, name, None)


def check_projection(role: str, projection: FloatArray, n_features: int, n_components: int | None = None) -> None:
    """Raise ``InputError`` unless ``projection`` is a finite n_features x q array with orthonormal columns.

    q is ``n_components`` if that is given.
    """
    shape = getattr(projection, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != n_features or shape[1] < 1:
        given = type(projection).__name__ if shape is None else f"shape {shape}"
        raise InputError(f"the {role} must be {n_features} x q with q >= 1, got {given}")
    if projection.shape[1] > n_features:
        raise InputError(
            f"cannot project {n_features} features to {projection.shape[1]} components; "
            f"the number of components must be between 1 and {n_features}"
        )
    if n_components is not None and projection.shape[1] != n_components:
        raise InputError(f"the {role} has {projection.shape[1]} components, {n_components} were asked for")
    if not np.isfinite(projection).all():
        raise InputError(f"the {role} holds NaN or infinite values")
    error = feasibility_error(projection)
    if error > FEASIBILITY_BOUND:
        raise InputError(
            f"the {role} is not orthonormal: |W'W - I| = {error:.1e} exceeds {FEASIBILITY_BOUND:.0e}; "
            "orthonormalise it, as by numpy.linalg.qr(W)[0]"
        )


def run_in_row_space(
    run: Callable[[Problem, FloatArray, Monitor], SolverOutcome], problem: Problem, start: FloatArray, monitor: Monitor
) -> SolverOutcome:
    """Return what ``run`` finds, in fewer coordinates where that is worth it; the monitor sees W all the same."""
    reduced = problem.in_row_space(start)
    if reduced is None:
        return run(problem, start, monitor)
    smaller, space = reduced
    lifting = cast(Monitor, _LiftingMonitor(monitor, space.lift))
    outcome = run(smaller, space.lower(start), lifting)
    lowest = None if outcome.lowest is None else space.lift(outcome.lowest)
    return outcome._replace(projection=space.lift(outcome.projection), lowest=lowest)


class _LiftingMonitor(MonitorProxy):
    """Shows iterates in the original coordinates; they are lifted only when the monitor evaluates them."""

    def __init__(self, monitor: Monitor, lift: Callable[[FloatArray], FloatArray]) -> None:
        super().__init__(monitor)
        self._lift = lift

    def keep_going(self, iterate: Iterate) -> bool:
        return self._monitor.keep_going(lambda: self._lift(iterate() if callable(iterate) else iterate))

    def accept(self, projection: FloatArray) -> None:
        self._monitor.accept(self._lift(projection))


class Options:
    """The options of a solver, a frozen dataclass, checked by what it declares."""

    def __post_init__(self) -> None:
        check_parameters(self, "solver option")


@dataclass(frozen=True)
class Rival(Options):
    """A search from a start, and on from saddles with ``escape``.

    Options are the relative stationarity and the number of iterations that end it. Published variants leave no saddles.
    Iterations are counted from each saddle. Raises ``InputError`` for values that are not allowed.
    """

    tolerance: Annotated[float, POSITIVE] = 1e-6
    max_iterations: Annotated[int, COUNT] = 10_000
    escape: Annotated[bool, FLAG] = False
    requires: ClassVar[frozenset[str]] = frozenset({"value", "gradient"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.escape and not self._may_escape():
            raise InputError(
                f"solver option escape of {type(self).__name__} belongs to the converged variant; a published variant "
                "that leaves saddles would not be as published"
            )
        if self.escape:
            # Imported before a clock starts.
            from kdrbench.solvers.newton import ORACLES

            object.__setattr__(self, "requires", type(self).requires | ORACLES)

    def _may_escape(self) -> bool:
        return getattr(self, "variant", "converged") == "converged"

    def run(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Search from ``start`` (d x q) until W is stationary, and on from saddles where that is requested."""
        if start.shape[0] == start.shape[1]:
            return SolverOutcome(start, Status.CONVERGED, SQUARE)
        if self.escape:
            from kdrbench.solvers.newton import run_escaping

            return run_escaping(lambda point: self._search(problem, point, monitor), problem, start, monitor)
        return self._search(problem, start, monitor)

    def _search(self, problem: Problem, start: FloatArray, monitor: Monitor) -> SolverOutcome:
        """Search from ``start`` until W is stationary or a limit is reached."""
        raise NotImplementedError
