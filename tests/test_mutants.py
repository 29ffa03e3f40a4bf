"""The command that changes modules: each switch makes one change, and no switch makes none."""

import ast
import sys
from types import ModuleType

import pytest

from mutants import Switched, drawn

SOURCE = '''
"""A docstring with 1 + 1."""

from __future__ import annotations

__all__ = ["clipped"]


def clipped(values: list[int], top: int = 3) -> list[int]:
    """Return the values below ``top``, less one where they are positive."""
    kept = []
    for value in values:
        if value < 0:
            raise ValueError(f"{value + 1} is negative")
        if value >= top:
            continue
        kept.append(value - 1)
    return kept
'''


@pytest.fixture
def switch(monkeypatch):
    module = ModuleType("mutant_switch")
    module.chosen = -1
    module.on = lambda number: number == module.chosen
    monkeypatch.setitem(sys.modules, "mutant_switch", module)
    return module


def switched(count=1000, seed=0):
    tree = ast.parse(SOURCE)
    n_places, mutants = drawn(tree, count, seed)
    labels = [f"{ast.unparse(node)} -> {text}" for node, text in mutants]
    return n_places, labels, ast.unparse(ast.fix_missing_locations(Switched(mutants, 0).visit(tree)))


def test_all_mutants_are_the_module_until_one_is_switched_on(switch):
    n_places, labels, text = switched()
    assert n_places == len(labels)
    results = []
    for switch.chosen in range(-1, len(labels)):
        found = {}
        exec(text, found)
        try:
            results.append(found["clipped"]([4, 0, 1, 2, 3, 5]))
        except ValueError:
            results.append("refused")
    assert results[0] == [-1, 0, 1]
    changed = [label for label, result in zip(labels, results[1:], strict=True) if result != results[0]]
    # Only where no value is negative does a change make no difference here: the condition never holds, or holds for -1.
    assert set(labels) - set(changed) <= {"value < 0 -> False", "0 -> -1", "value < 0 -> (value <= 0)"}
    for expected in ("kept.append(value - 1) -> pass", "value - 1 -> ((value) + (1))", "continue -> break"):
        assert expected in changed


def test_messages_are_left_alone_and_a_seed_draws_the_same_again():
    labels = switched()[1]
    assert not any("1 + 1" in label or "value + 1" in label or "clipped" in label or "int" in label for label in labels)
    assert switched(4, 1) == switched(4, 1)
    assert switched(4, 1)[1] != switched(4, 2)[1]
    assert len(switched(4, 1)[1]) == 4
