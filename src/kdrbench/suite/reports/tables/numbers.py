"""Numbers as plain text: means with spread, durations, percentages."""

from __future__ import annotations

import math
from collections.abc import Callable

PLUS_MINUS = "\u00b1"
# Beyond these, powers and squares of doubles overflow or vanish.
_LARGEST, _SMALLEST = 1e150, 1e-150
# What differs by less of its size does so by rounding.
_ROUNDING = 1e-9
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "m"), (1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


def duration(mean_s: float, std_s: float | None = None) -> str:
    """Return seconds in the largest unit not above the mean: ``2.1ms \u00b1 0.3ms``, ``4.5m``, ``-3d``."""
    if not _is_plain(mean_s, std_s):
        return f"{_digits(mean_s, std_s)} s"
    if mean_s < 0:
        return f"-{duration(-mean_s, std_s)}"
    size, unit = next((pair for pair in _UNITS if mean_s >= pair[0]), _UNITS[-1])
    text = f"{_significant(mean_s / size, 3)}{unit}"
    return text if std_s is None else f"{text} {PLUS_MINUS} {_significant(std_s / size, 2)}{unit}"


def _fixed(places: int, scale: float = 1.0, unit: str = "") -> Callable[..., str]:
    """Return what prints a mean and its spread with as many decimals, in a unit of ``scale``."""

    def shown(mean: float, std: float | None = None) -> str:
        text = f"{scale * mean:.{places}f}{unit}"
        return text if std is None else f"{text} {PLUS_MINUS} {scale * std:.{places}f}{unit}"

    return shown


# Shares as ``97.2% \u00b1 3.7%`` and, as the KPCA trick prints accuracies, ``0.97 \u00b1 0.02``; agreements between 0
# and 1 as ``0.878``; large counts as ``354 \u00b1 12``.
percentage, share, agreement, whole = _fixed(1, 100.0, "%"), _fixed(2), _fixed(3), _fixed(0)


def count(mean: float, std: float | None = None) -> str:
    """Return how many, with one decimal where runs differ: ``4``, ``1.9 \u00b1 0.3``."""
    return f"{mean:.0f}" if not std else f"{mean:.1f} {PLUS_MINUS} {std:.1f}"


def gap(mean: float, std: float | None = None) -> str:
    """Return a relative distance in two digits, ``2.3e-4``; what is below 1e-12 is rounding and counts as 0."""
    del std
    return "0" if mean < 1e-12 else f"{mean:.1e}".replace("e-0", "e-").replace("e+00", "")


def quantity(mean: float, std: float | None = None) -> str:
    """Return a number rounded to two digits of its spread: ``-1311 \u00b1 26``, ``(-1.894 \u00b1 0.054)e6``.

    A spread below 1e-9 of the number is rounding, and printed as 0 beside five digits.
    """
    if not _is_plain(mean, std):
        return _digits(mean, std)
    if std is None:
        power = _powers(mean)[1]
        text = _significant(mean / 10.0**power, 5)
        return f"{text}e{power}" if power else text
    spread = std if std > _ROUNDING * abs(mean) else 0.0
    return _with_places_of(spread, mean, f" {PLUS_MINUS} ", (mean, spread))


def interval(low: float, high: float) -> str:
    """Return the ends of an interval to two digits of its half width: ``-1329 to -1293``, ``(-1.948 to -1.840)e6``.

    They have the places that :func:`quantity` gives the number between them. Where the ends differ by less than 1e-9 of
    their size, by rounding alone, they have five digits.
    """
    largest = max(abs(low), abs(high))
    if not _is_plain(low, high):
        return f"{_digits(low, None)} to {_digits(high, None)}"
    half = (high - low) / 2
    return _with_places_of(half if half > _ROUNDING * largest else 0.0, largest, " to ", (low, high))


def _powers(value: float) -> tuple[int, int]:
    """Return the exponent of a number's first digit, and the power of ten that is taken out of it in print."""
    exponent = math.floor(math.log10(abs(value))) if value else 0
    return exponent, exponent if exponent >= 6 or exponent < -3 else 0


def _with_places_of(spread: float, size: float, between: str, pair: tuple[float, float]) -> str:
    """Return two numbers to two digits of a spread, without one to five of a ``size`` whose power is taken out."""
    exponent, power = _powers(size)
    places = 1 - math.floor(math.log10(spread / 10.0**power)) if spread else 4 - exponent + power
    text = between.join(f"{number / 10.0**power:.{max(0, places)}f}" for number in pair)
    return f"({text})e{power}" if power else text


def rounded(value: float, digits: int) -> float | None:
    """Return the number in ``digits`` significant digits; ``None`` for what is not finite."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def brief(value: float, digits: int) -> float | int | None:
    """Return the same, but whole numbers as they are and without a point."""
    return int(value) if value.is_integer() and abs(value) < 1e15 else rounded(value, digits)


def _is_plain(*values: float | None) -> bool:
    """Return whether numbers can be printed with powers of ten taken out."""
    return all(not value or _SMALLEST < abs(value) < _LARGEST for value in values)


def _digits(mean: float, std: float | None) -> str:
    return f"{mean:.4g}" if std is None else f"{mean:.4g} {PLUS_MINUS} {std:.2g}"


def _significant(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
