"""What the contract of results accepts and refuses: differences and raised revisions."""

import numpy as np
import pytest

from contract.canary import values_of
from contract.comparison import Measured, Present, compare, is_same

SOLVER, KERNEL = "solver/ism", "kernel/linear"


def present(cost=1.0, **revisions):
    """What a run finds: a canary of a solver on a kernel, and one of the kernel."""
    named = {name.replace("__", "/"): revision for name, revision in revisions.items()}
    canaries = {"both": Measured((SOLVER, KERNEL), {"cost": cost}), "kernel": Measured((KERNEL,), {"trace": 2.0})}
    return Present(canaries, named)


STORED = present().to_store({})


def failing(now, stored=STORED):
    verdict = compare(stored, now)
    return verdict.faults, verdict.due


def test_equal_results_pass_and_rounding_is_no_difference():
    assert failing(present()) == ([], [])
    assert failing(present(cost=1.0 + 5e-10)) == ([], [])


def test_a_difference_without_a_raise_fails_and_names_the_components():
    (fault,), due = failing(present(cost=1.1))
    assert "'both' differs: cost: 1.0 is now 1.1" in fault
    assert f"raise numbers of {SOLVER} or {KERNEL}" in fault
    assert not due


def test_a_raise_without_a_difference_fails():
    (fault,), due = failing(present(solver__ism=2))
    assert fault == f"numbers of {SOLVER} is raised to 2, but none of its canaries differs"
    assert not due


def test_a_raise_of_another_component_does_not_explain_a_difference():
    canaries = {**present(cost=1.1).canaries, "other": Measured(("solver/dg",), {"cost": 3.0})}
    stored = Present(canaries | present().canaries).to_store({})
    faults, due = failing(Present(canaries, {"solver/dg": 2}), stored)
    assert len(faults) == 2
    assert not due


def test_a_difference_with_a_raise_asks_for_an_update_and_passes_after_it():
    now = present(cost=1.1, solver__ism=2)
    faults, due = failing(now)
    assert not faults
    assert due == [f"canary 'both' differs: cost: 1.0 is now 1.1; {SOLVER} raised: make contract UPDATE=1 stores it"]
    assert failing(now, now.to_store(STORED)) == ([], [])


def test_a_revision_is_not_lowered():
    stored = present(cost=1.1, solver__ism=2).to_store(STORED)
    assert "solver/ism was 2 and is 1; revisions only rise" in failing(present(cost=1.1), stored)[0][0]


def test_a_component_that_no_canary_has_is_refused_in_the_revisions():
    assert failing(present(solver__imc=2))[0] == ["REVISIONS names 'solver/imc', a component that no canary has"]


@pytest.mark.parametrize("other", ["new", "both"])
def test_new_and_missing_canaries_are_due_to_be_stored(other):
    now = present()
    changed = {name: canary for name, canary in now.canaries.items() if name != other} | {"new": now.canaries["kernel"]}
    faults, due = failing(Present(changed))
    assert not faults
    assert len(due) == (1 if other == "new" else 2)


def test_a_further_number_of_a_canary_is_due_to_be_stored():
    now = present()
    more = Measured((KERNEL,), {"trace": 2.0, "rank": 1})
    assert failing(Present(now.canaries | {"kernel": more})) == (
        [],
        ["canary 'kernel' has further numbers: make contract UPDATE=1 stores it"],
    )


def test_numbers_near_zero_are_judged_by_their_natural_size():
    assert is_same([1e-14, 1.0], [-1e-14, 1.0])
    assert not is_same([0.1, 1.0], [0.1 + 1e-8, 1.0])
    assert not is_same(3, 4)
    assert not is_same("converged", "stalled")
    assert not is_same(1.0, None)


def test_any_entry_of_an_array_changes_its_numbers():
    array = np.arange(1.0, 7.0).reshape(2, 3)
    swapped = array[:, ::-1].copy()
    assert values_of({"it": array})["it norm"] == values_of({"it": swapped})["it norm"]
    assert not is_same(values_of({"it": array})["it sum"], values_of({"it": swapped})["it sum"])
