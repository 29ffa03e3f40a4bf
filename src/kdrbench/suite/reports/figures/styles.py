"""How methods look in all figures: one colour, line and symbol each, the same wherever they are drawn.

A converged variant has its method's colour, and so have both from a reference: in thin, dotted lines. There are fewer
colours than methods, so the colours come round again with other lines and symbols; no two methods that are named here
look alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from kdrbench.suite.reports.figures.chart import COLOURS, Line, Symbol
from kdrbench.suite.reports.records import REFERENCE, Config
from kdrbench.suite.reports.tables.labels import CONVERGED, stem_of

# Of converged variants that leave saddles, beside those that do not.
_ESCAPING = (Line.LONG_DASHED, Symbol.STAR)
# Of each round of the colours: line and symbol of a method, then of its converged variant.
_ROUNDS = (
    ((Line.SOLID, Symbol.DOT), (Line.DASHED, Symbol.SQUARE)),
    ((Line.DOTTED, Symbol.TRIANGLE), (Line.DASH_DOT, Symbol.DIAMOND)),
    ((Line.LONG_DASHED, Symbol.PENTAGON), (Line.LONG_DASH_DOT, Symbol.STAR)),
    ((Line.TWO_DASHES, Symbol.HEXAGON), (Line.DASH_TWO_DOTS, Symbol.TRIANGLE_DOWN)),
)
# Of each of these lines that of the same method from a reference.
_OF_REFERENCE = {
    Line.SOLID: Line.DOTS,
    Line.DASHED: Line.TWO_DOTS,
    Line.DOTTED: Line.THREE_DOTS,
    Line.DASH_DOT: Line.FOUR_DOTS,
    Line.LONG_DASHED: Line.RARE_DOTS,
    Line.LONG_DASH_DOT: Line.LONG_DOTS,
    Line.TWO_DASHES: Line.RARE_LONG_DOTS,
    Line.DASH_TWO_DOTS: Line.UNEQUAL_DOTS,
}
_BLUE, _RED, _GREEN, _PURPLE, _ORANGE, _SKY, _BLACK = range(len(COLOURS))
# Round and colour of all solvers of config.yaml, those that a configuration does not define included: a record beside
# it may have them. What shares a colour is akin. Controls are none of the bright ones.
_SOLVERS = {
    "ism": (0, _BLUE),
    "dg": (0, _RED),
    "sm": (0, _GREEN),
    "gm": (0, _PURPLE),
    "cg": (0, _ORANGE),
    "lbfgs": (1, _ORANGE),
    "scipy": (2, _ORANGE),
    "ism_2018": (0, _SKY),
    "ism_10": (1, _BLUE),
    "ism_published_1_d": (2, _BLUE),
    "ism_random": (3, _BLUE),
    "ism_published": (3, _SKY),
    "dg_10": (1, _RED),
    "dg_greedy": (3, _RED),
    "sm_10": (1, _GREEN),
    "gm_10": (1, _PURPLE),
    "random": (1, _BLACK),
    "shuffled_labels": (2, _BLACK),
    "first_axes": (1, _SKY),
    "principal_axes": (2, _SKY),
    "discriminant_axes": (3, _BLACK),
}
# These are never beside the solvers above.
_LOW_RANK = {
    "burg": (0, _BLUE),
    "von_neumann": (0, _RED),
    "von_neumann_trace": (1, _RED),
    "definite_boost": (0, _GREEN),
    "definite_boost_exact": (1, _GREEN),
    "definite_boost_own_range": (2, _GREEN),
}
_KERNELS = {
    "gaussian": _BLUE,
    "polynomial": _RED,
    "linear": _GREEN,
    "squared": _PURPLE,
    "multiquadric": _ORANGE,
    "gaussian_polynomial": _SKY,
}


_NOTE = (
    "Thin dotted lines are methods of a reference, in the colour of the method: their times, those of "
    "another machine, are not shown."
)
# The solver whose projections are shown.
_SHOWN = "ism_converged"


@dataclass(frozen=True)
class Style:
    """``colour`` counts through :data:`kdrbench.suite.reports.figures.chart.COLOURS`."""

    colour: int
    line: Line
    symbol: Symbol


def styles_of(solvers: Iterable[str]) -> dict[str, Style]:
    """Return the style of each solver, or method of low-rank kernels, by its name in the configuration.

    Those of the user's own take the places that are left, in the order they come: give all that the configuration
    defines, in its order, and a solver defined last changes no other's style. When no place is left the places come
    again from the first.
    """
    names = list(solvers)
    places: dict[str, tuple[int, int]] = _SOLVERS | _LOW_RANK
    free = [place for place in product(range(len(_ROUNDS)), range(len(COLOURS))) if place not in _SOLVERS.values()]
    unplaced = [name for name in dict.fromkeys(stem_of(name) for name in names) if name not in places]
    places |= {name: free[count % len(free)] for count, name in enumerate(unplaced)}
    return {name: _style(name, places[stem_of(name)]) for name in names}


def note_of_reference(solvers: Iterable[str]) -> str:
    """Return what a caption says where methods of a reference are drawn; empty where none is."""
    return f" {_NOTE}" if any(name.endswith(REFERENCE) for name in solvers) else ""


def kernel_colours(kernels: Iterable[str]) -> dict[str, int]:
    """Return the colour of each kernel; the user's own have what those beside them leave, in the order they come."""
    names = list(kernels)
    colours = {name: _KERNELS[name] for name in names if name in _KERNELS}
    free = [colour for colour in range(_BLACK) if colour not in colours.values()] or [_BLACK]
    uncoloured = [name for name in names if name not in colours]
    return colours | {name: free[count % len(free)] for count, name in enumerate(uncoloured)}


def shown_solver(experiment: Config) -> str:
    """Return the solver whose projections are shown: converged ISM, or the first where the experiment lacks it."""
    solvers = list(experiment["solvers"])
    return _SHOWN if _SHOWN in solvers else str(solvers[0])


def _style(name: str, place: tuple[int, int]) -> Style:
    if name.endswith(REFERENCE):
        own = _style(name.removesuffix(REFERENCE), place)
        return Style(own.colour, _OF_REFERENCE[own.line], own.symbol)
    number, colour = place
    plain, converged = _ROUNDS[number]
    looks = {"": plain, CONVERGED: converged}
    return Style(colour, *looks.get(name.removeprefix(stem_of(name)).lstrip("_"), _ESCAPING))
