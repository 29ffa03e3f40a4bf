"""Parameters of tests: products of which a part is made every day, and tables of cases by section."""

from itertools import product

import pytest


def crossed(firsts, seconds, of_first, of_second):
    """Return all pairs of values; those with neither of the values named are marked ``whole``.

    Where a test's code path is decided by each value alone, a column and a row of the table meet all of them. The rest
    is made by ``make whole``.
    """
    assert set(of_first) <= set(firsts), f"{of_first} are not all among {firsts}"
    assert set(of_second) <= set(seconds), f"{of_second} are not all among {seconds}"
    return [
        pytest.param(first, second, marks=() if first in of_first or second in of_second else pytest.mark.whole)
        for first, second in product(firsts, seconds)
    ]


def by_section(cases, section=lambda path: path.partition(".")[0]):
    """Return the cases of a table as parameters of a test, those of one section together.

    ``section`` names the section of a case's first value, by default the first key of a path.
    """
    groups = {}
    for case in cases:
        groups.setdefault(section(case[0]), []).append(case)
    return [pytest.param(group, id=name) for name, group in groups.items()]
