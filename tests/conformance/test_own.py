"""What comes with kdrbench keeps its contracts."""

import pytest

from kdrbench.baselines import BASELINES
from kdrbench.conformance import Subject, check
from kdrbench.kernels import FAMILIES
from kdrbench.metric_learning import LEARNERS
from kdrbench.solvers import CONTROLS, SOLVERS
from support.own_methods import write_all

SINGLE_KERNELS = [name for name in FAMILIES if name != "combination"]


def faults(subject):
    return [str(finding) for finding in check(subject) if finding.fault]


@pytest.mark.parametrize("name", [*SOLVERS, *CONTROLS])
def test_solvers(name):
    assert not faults(Subject("solver", name))


@pytest.mark.parametrize("name", SINGLE_KERNELS)
def test_kernels(name):
    assert not faults(Subject("kernel", name))


@pytest.mark.parametrize("name", LEARNERS)
def test_metric_learners(name):
    assert not faults(Subject("metric-learner", name))


@pytest.mark.parametrize("name", sorted(BASELINES))
def test_baselines(name):
    assert not faults(Subject("baseline", name))


@pytest.mark.parametrize("name", ["wine", "moons"])
def test_data_sets(name):
    assert not faults(Subject("dataset", name))


@pytest.mark.parametrize(
    ("kind", "file"),
    [("solver", "solver"), ("kernel", "kernel"), ("dataset", "data"), ("metric-learner", "learner")],
)
def test_plug_ins_that_are_sound(kind, file, tmp_path):
    assert not faults(Subject(kind, str(write_all(tmp_path)[file])))
