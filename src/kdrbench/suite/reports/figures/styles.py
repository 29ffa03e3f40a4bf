"""How methods look in all figures: one colour, line and symbol each, the same wherever they are drawn.

A converged variant has its method's colour. There are fewer colours than methods, so the colours come round again with
other lines and symbols; no two methods that are named here look alike. A method of a reference has the colour and
symbol of its method, and a thin line of dots, or of dashes and dots.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from kdrbench.suite.reports.declared import declared
from kdrbench.suite.reports.figures.chart import BLACK, COLOURS, Line
from kdrbench.suite.reports.records import REFERENCE
from kdrbench.suite.reports.tables.labels import is_converged, stem_of

_LOOKS = declared("names")["looks"]


@dataclass(frozen=True)
class Style:
    """``colour`` counts through :data:`kdrbench.suite.reports.figures.chart.COLOURS`."""

    colour: int
    line: str
    symbol: str


def styles_of(solvers: Iterable[str]) -> dict[str, Style]:
    """Return the style of each solver, or method of low-rank kernels, by its name in the configuration.

    Those of the user's own take the places that are left, in the order they come: give all that the configuration
    defines, in its order, and a solver defined last changes no other's style. When no place is left the places come
    again from the first.
    """
    names = list(solvers)
    places: dict[str, Any] = _LOOKS["solvers"] | _LOOKS["low_rank"]
    taken = list(map(tuple, _LOOKS["solvers"].values()))
    free = [place for place in product(range(len(_LOOKS["rounds"])), range(len(COLOURS))) if place not in taken]
    unplaced = [name for name in dict.fromkeys(stem_of(name) for name in names) if name not in places]
    places |= {name: free[count % len(free)] for count, name in enumerate(unplaced)}
    return {name: _style(name, places[stem_of(name)]) for name in names}


def note_of_reference(solvers: Iterable[str]) -> str:
    """Return what a caption says where methods of a reference are drawn; empty where none is."""
    return f" {declared('words')['reference']}" if any(name.endswith(REFERENCE) for name in solvers) else ""


def kernel_colours(kernels: Iterable[str]) -> dict[str, int]:
    """Return the colour of each kernel; the user's own have what those beside them leave, in the order they come."""
    names = list(kernels)
    colours = {name: _LOOKS["kernels"][name] for name in names if name in _LOOKS["kernels"]}
    free = [colour for colour in range(BLACK) if colour not in colours.values()] or [BLACK]
    uncoloured = [name for name in names if name not in colours]
    return colours | {name: free[count % len(free)] for count, name in enumerate(uncoloured)}


def _style(name: str, place: tuple[int, int]) -> Style:
    if name.endswith(REFERENCE):
        dots = Line.DASH_AND_DOT if is_converged(name) else Line.DOTS
        return replace(_style(name.removesuffix(REFERENCE), place), line=dots)
    number, colour = place
    variant = name.removeprefix(stem_of(name)).lstrip("_") or "plain"
    line, symbol = _LOOKS["rounds"][number].get(variant, _LOOKS["escaping"])
    return Style(colour, line, symbol)
