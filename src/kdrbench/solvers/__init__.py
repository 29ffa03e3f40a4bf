"""How F(W) = Tr(Gamma K_XW) is maximised over W'W = I; one solver a file."""

from kdrbench.solvers.base import Solver, SolverOutcome, SolverResult, Status, solve
from kdrbench.solvers.monitor import MOST_ITERATIONS, Monitor, WatchedMonitor
from kdrbench.solvers.registry import CONTROLS, SOLVERS, STARTS, build_solver, eigengap_components, make_start

__all__ = [
    "CONTROLS",
    "MOST_ITERATIONS",
    "SOLVERS",
    "STARTS",
    "Monitor",
    "Solver",
    "SolverOutcome",
    "SolverResult",
    "Status",
    "WatchedMonitor",
    "build_solver",
    "eigengap_components",
    "make_start",
    "solve",
]
