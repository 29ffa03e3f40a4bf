"""The sentence on a solver of the user's own: how often it reaches the best known cost, beside the best other.

A solver is the user's own where its method is no registered one. Where none is, but the methods of a reference are
beside the runs, the solvers of the user's own runs that are no controls are.
"""

from __future__ import annotations

from collections.abc import Collection

from kdrbench.errors import counted
from kdrbench.solvers.registry import METHODS
from kdrbench.suite.findings.pairwise import Matrix, Standing, factor
from kdrbench.suite.reports.records import REFERENCE, Config, controls_of
from kdrbench.suite.reports.tables.labels import method_in_text

# Ratios of times nearer to 1 than this are not called quicker or slower.
_SAME_TIME = 1.05


def own_solvers(name: str, config: Config) -> list[str]:
    """Return the solvers of the user's own in an experiment."""
    solvers = list(config["experiments"][name].get("solvers", ()))
    mine = [solver for solver in solvers if not solver.endswith(REFERENCE)]
    definitions = config.get("solvers", {})
    own = [solver for solver in mine if definitions.get(solver, {}).get("method", "ism") not in METHODS]
    return own or ([] if len(mine) == len(solvers) else [one for one in mine if one not in controls_of(name, config)])


def own_sentence(matrix: Matrix, own: Collection[str]) -> str:
    """Return a sentence on each of the user's own solvers that was run; empty without any."""
    return " ".join(_sentence(one, matrix, own) for one in matrix.overall if one.solver in own)


def _sentence(mine: Standing, matrix: Matrix, own: Collection[str]) -> str:
    reached = f"{method_in_text(mine.solver)} reaches the best known cost in {mine.fine} of {counted(mine.runs, 'run')}"
    others = [one for one in matrix.overall if one.solver not in own]
    if not others:
        return f"{reached}."
    parts = [reached, _beside(mine, others[0])]
    # Times of a reference, those of another machine, are compared with none.
    timed = [one for one in others if one.fine_ratio is not None]
    if mine.fine_ratio is not None and timed:
        rival = next((one for one in timed if one.solver == others[0].solver), timed[0])
        name = "" if rival is others[0] else f" than {method_in_text(rival.solver)}"
        parts.append(_speed(mine.fine_ratio / (rival.fine_ratio or 1.0), name))
    return f"{', '.join(parts)}{' (times were disturbed)' if matrix.disturbed and len(parts) > 2 else ''}."


def _beside(mine: Standing, rival: Standing) -> str:
    name = method_in_text(rival.solver)
    if mine.share == rival.share:
        return f"level with {name}"
    return f"{'more' if mine.share > rival.share else 'less'} often than {name} ({rival.fine} of {rival.runs})"


def _speed(ratio: float, than: str) -> str:
    if 1.0 / _SAME_TIME < ratio < _SAME_TIME:
        return f"as fast{than.replace(' than', ' as')}"
    return f"{factor(max(ratio, 1.0 / ratio))} times {'slower' if ratio > 1.0 else 'faster'}{than}"
