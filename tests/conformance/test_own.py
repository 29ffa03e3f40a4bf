"""What comes with kdrbench keeps its contracts."""

import pytest

from kdrbench.baselines import BASELINES
from kdrbench.kernels import FAMILIES
from kdrbench.metric_learning import LEARNERS
from kdrbench.solvers import CONTROLS, SOLVERS
from kdrbench.suite.conformance import Subject, check
from kdrbench.suite.conformance.check import all_checks
from support.own_methods import write_all

OWN = {
    "solver": [*SOLVERS, *CONTROLS],
    "kernel": [name for name in FAMILIES if name != "combination"],
    "metric-learner": LEARNERS,
    "baseline": sorted(BASELINES),
    "dataset": ["wine", "moons"],
}
# It takes some seconds, and its steps are those of ism.
WHOLE = {"ism_2018"}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, marks=pytest.mark.whole if name in WHOLE else ())
        for kind, names in OWN.items()
        for name in names
    ],
)
def test_own_plug_ins_keep_their_contract(kind, name):
    # In this process: what is known to be sound needs none of its own.
    for one in all_checks(Subject(kind, name)):
        one.ask()


@pytest.mark.parametrize(
    ("kind", "file"),
    [("solver", "solver"), ("kernel", "kernel"), ("dataset", "data"), ("metric-learner", "learner")],
)
def test_plug_ins_from_files_pass_every_check(kind, file, tmp_path):
    findings = list(check(Subject(kind, str(write_all(tmp_path)[file]))))
    assert [finding.fault for finding in findings] == [""] * len(findings)
    assert len(findings) >= 6
