"""Declared parameters: what each constraint allows, and the words of its error."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

from kdrbench.errors import InputError, unknown_name
from kdrbench.estimators import DNE, LMNN, NCA, AlignedKernel, InterpretableKDR, KPCATrick, LowRankKernelLearner
from kdrbench.parameters import (
    COUNT,
    FLAG,
    FRACTION,
    NOT_NEGATIVE,
    OPTIONS,
    POSITIVE,
    POSITIVE_OR_INFINITE,
    Either,
    Instance,
    Interval,
    OneOf,
    check_parameters,
    check_value,
    constraint_of_default,
    constraints_of,
    optional,
    whole,
)

NAMES = OneOf(("slow", "fast"))
CASES = [
    (
        POSITIVE,
        [1, 0.5, np.float32(2.0), np.int64(3)],
        [0, -1.0, np.nan, np.inf, True, "1", None],
        "a finite number > 0",
    ),
    (NOT_NEGATIVE, [0, 2.5], [-1e-9], "a finite number >= 0"),
    (POSITIVE_OR_INFINITE, [np.inf, 1], [0.0, np.nan, -np.inf], "a number > 0 or inf"),
    (FRACTION, [0.5], [0.0, 1.0], "a number > 0 and < 1"),
    (Interval(0.0, 1.0), [0, 1], [1.1], "a number >= 0 and <= 1"),
    (COUNT, [1, np.int32(7)], [0, 1.0, True, "1"], "an integer >= 1"),
    (whole(2, 5), [2, 5], [1, 6], "an integer between 2 and 5"),
    (whole(1, 9, "the 9 samples"), [9], [10], "an integer between 1 and the 9 samples"),
    (Interval(-np.inf, whole=True, but_zero=True), [-1, 4], [0, 1.5], "an integer other than 0"),
    (FLAG, [True, False], [1, 0, "yes", None], "True or False"),
    (OneOf((True, False, "auto")), [True, "auto"], [1, "always"], "True, False or 'auto'"),
    (optional(COUNT), [None, 3], [0, "3"], "None or an integer >= 1"),
    (optional(OPTIONS), [None, {}], [[1]], "None or a dict of options"),
    (Either((NAMES, COUNT), or_none=True), [None, "slow", 2], [0, 2.5], "None, one of slow, fast, or an integer >= 1"),
    (constraint_of_default(1.5), [1, 2.5], ["2", True], "of type float"),
    (constraint_of_default(True), [True], [1], "of type bool"),
]


@pytest.mark.parametrize(("constraint", "allowed", "refused", "words"), CASES, ids=[case[3] for case in CASES])
def test_each_constraint_allows_what_its_words_say(constraint, allowed, refused, words):
    assert constraint.words == words
    for value in allowed:
        check_value("x", value, constraint)
    for value in refused:
        with pytest.raises(InputError) as caught:
            check_value("x", value, constraint)
        assert str(caught.value) == f"x must be {words}, got {value!r}"


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"unknown option speed 'fats'\. Did you mean 'fast'\? Allowed: slow, fast\.$"):
        check_value("option speed", "fats", NAMES)
    with pytest.raises(InputError, match=r"'fats'\. .* Also allowed: None, an integer >= 1\."):
        check_value("option speed", "fats", Either((NAMES, COUNT), or_none=True))


def test_a_class_in_place_of_an_object_is_named_as_such():
    with pytest.raises(InputError, match="x must be a Path, got the class Path; give an object of it"):
        check_value("x", Path, Instance((Path,), "a Path"))
    # Instances of numbers are no truth values.
    assert not Instance((int,), "an integer").allows(True)


def test_the_nearest_name_comes_before_a_list_that_is_not_long():
    columns = [f"column {number}" for number in range(50)]
    names = [*columns[:25], "Species", *columns[25:]]
    said = unknown_name("column", "species ", names)
    assert said.startswith("unknown column 'species '. Did you mean 'Species'? Allowed: ")
    listed, more = said.removesuffix(" more.").split("Allowed: ")[1].split(", and ")
    assert "Species" in listed.split(", ")
    assert len(listed.split(", ")) + int(more) == 51
    assert len(listed) < 120
    # Names that begin so come before others that are as near.
    said = unknown_name("figure", "mine_cost", ["mine_scatter", "mine_cost_against_time", "x"])
    assert said.startswith("unknown figure 'mine_cost'. Did you mean 'mine_cost_against_time'?")
    # Where no name is near all are listed, as long as a reader would look through them.
    assert unknown_name("column", "?", names) == f"unknown column '?'; allowed: {', '.join(names)}."
    assert unknown_name("column", "?", [str(number) for number in range(300)]).endswith(", and 240 more.")
    assert unknown_name("column", "?", []) == "unknown column '?'; allowed: ."
    assert unknown_name("column", "?", ["", "a"]) == "unknown column '?'; allowed: '', a."


def test_a_dataclass_declares_with_the_types_of_its_fields():
    @dataclass
    class Base:
        step: Annotated[float, POSITIVE] = 1.0
        note: str = ""

    @dataclass
    class Derived(Base):
        cap: Annotated[int, COUNT] = 3

    assert constraints_of(Derived) == {"step": POSITIVE, "cap": COUNT}
    check_parameters(Derived(2.0, "any", 4), "option")
    for step, said in ((0, "got 0"), ("1e-3", "got '1e-3'; YAML reads 1e-3 as text: write 1.0e-3")):
        with pytest.raises(InputError, match=f"option step must be a finite number > 0, {said}$"):
            check_parameters(Derived(step=step), "option")


def test_estimators_declare_parameters_with_allowed_defaults():
    for estimator in (DNE, LMNN, NCA, AlignedKernel, InterpretableKDR, KPCATrick, LowRankKernelLearner):
        declared = constraints_of(estimator)
        assert declared
        assert set(declared) <= set(estimator().get_params())
        check_parameters(estimator())
