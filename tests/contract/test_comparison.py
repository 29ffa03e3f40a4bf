"""What the contract of results accepts and refuses: differences, raised revisions, edits of what no canary executes."""

import ast

import pytest

from contract.canary import values_of
from contract.comparison import Measured, Present, compare, is_same
from contract.reached import fingerprint
from contract.speed import slower

SOLVER, KERNEL = "solver/ism", "kernel/linear"


def present(cost=1.0, unreached=(("kdrbench.a:f", "hash"),), **revisions):
    """What a run finds: a canary of a solver on a kernel, and a function that only the kernel's module imports."""
    named = {name.replace("__", "/"): revision for name, revision in revisions.items()}
    canaries = {"both": Measured((SOLVER, KERNEL), {"cost": cost}), "kernel": Measured((KERNEL,), {"trace": 2.0})}
    return Present(canaries, dict(unreached), named, {"kdrbench.a:f": (KERNEL,)})


STORED = present().to_store({})


def failing(now, stored=STORED):
    verdict = compare(stored, now)
    return verdict.faults, verdict.due


EDITED = (("kdrbench.a:f", "another"),)
DIFFERS = "canary 'both' differs: cost: 1.0 is now 1.1"
EDIT = "kdrbench.a:f, which no canary executes, was edited"
UPDATE = "make contract UPDATE=1 stores it"


@pytest.mark.parametrize(
    ("changes", "faults", "due"),
    [
        ({}, [], []),
        ({"cost": 1.0 + 5e-10}, [], []),
        ({"unreached": ()}, [], []),
        ({"cost": 1.1}, [f"{DIFFERS}. Undo it, or raise numbers of {SOLVER} or {KERNEL} in kdrbench.revisions"], []),
        ({"solver__ism": 2}, [f"numbers of {SOLVER} is raised to 2, but none of its canaries differs"], []),
        ({"cost": 1.1, "solver__ism": 2}, [], [f"{DIFFERS}; {SOLVER} raised: {UPDATE}"]),
        ({"solver__imc": 2}, ["REVISIONS names 'solver/imc', a component that no canary has"], []),
        ({"unreached": EDITED}, [f"{EDIT}. Undo it, or raise numbers of {KERNEL} in kdrbench.revisions"], []),
        ({"unreached": EDITED, "kernel__linear": 2}, [], [f"{EDIT}; {KERNEL} raised: {UPDATE}"]),
    ],
)
def test_a_change_is_refused_or_due_unless_it_is_explained(changes, faults, due):
    assert failing(present(**changes)) == (faults, due)


def test_an_update_is_accepted_and_no_revision_is_lowered():
    stored = (now := present(cost=1.1, solver__ism=2)).to_store(STORED)
    assert failing(now, stored) == ([], [])
    assert "solver/ism was 2 and is 1; revisions only rise" in failing(present(cost=1.1), stored)[0][0]


def test_a_raise_of_another_component_explains_no_difference():
    canaries = {**present(cost=1.1).canaries, "other": Measured(("solver/dg",), {"cost": 3.0})}
    stored = Present(canaries | present().canaries, {}).to_store({})
    faults, due = failing(Present(canaries, {}, {"solver/dg": 2}), stored)
    assert (len(faults), due) == (2, [])


def test_what_is_new_or_gone_is_due_to_be_stored():
    now = present(unreached=(("kdrbench.a:f", "hash"), ("kdrbench.a:g", "new")))
    more = Measured((KERNEL,), {"trace": 2.0})
    further = Measured((KERNEL,), {"trace": 2.0, "rank": 1})
    verdict = compare(STORED, Present({"kernel": further, "new": more}, now.unreached))
    assert verdict.faults == []
    assert verdict.due == [
        f"canary 'new' is new: {UPDATE}",
        f"canary 'both' is gone: {UPDATE}",
        f"canary 'kernel' has further numbers: {UPDATE}",
    ]
    assert verdict.notes == ["no canary executes kdrbench.a:g, which is not stored"]


def test_numbers_near_zero_are_judged_by_their_natural_size():
    assert is_same([1e-14, 1.0], [-1e-14, 1.0])
    assert not is_same([0.1, 1.0], [0.1 + 1e-8, 1.0])
    assert not is_same(3, 4)
    assert not is_same("converged", "stalled")
    assert not is_same(1.0, None)


def test_any_entry_of_an_array_changes_its_numbers():
    import numpy as np

    array = np.arange(1.0, 7.0).reshape(2, 3)
    swapped = array[:, ::-1].copy()
    assert values_of({"it": array})["it norm"] == values_of({"it": swapped})["it norm"]
    assert not is_same(values_of({"it": array})["it sum"], values_of({"it": swapped})["it sum"])


FUNCTION = '''
def scaled(values: list, factor: float = 2.0) -> list:
    """Words."""
    if not values:
        raise ValueError(f"no values: {values}")
    product: list = [factor * one for one in values]
    return product
'''


def of(text):
    return fingerprint(ast.parse(text).body[0])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Words."""', '"""Other words."""'),
        ("no values: {values}", "nothing"),
        ("values: list,", "values,"),
        ("product", "result"),
        ("    if not", "    # A comment.\n    if not"),
    ],
)
def test_words_annotations_and_local_names_are_no_edit(old, new):
    assert of(FUNCTION.replace(old, new)) == of(FUNCTION)


@pytest.mark.parametrize(
    ("old", "new"), [("2.0", "3.0"), ("factor *", "factor /"), ("not values", "values"), ("ValueError", "KeyError")]
)
def test_other_values_operators_and_errors_are_edits(old, new):
    assert of(FUNCTION.replace(old, new)) != of(FUNCTION)


def test_a_component_is_slower_by_the_median_of_its_canaries():
    components = {"one": (SOLVER, KERNEL), "two": (SOLVER,), "three": (SOLVER,)}
    assert slower({"one": 1.0, "two": 1.2, "three": 1.3}, components) == {SOLVER: 1.2}
