"""Faults of plug-ins are found, and what comes with kdrbench has none."""

import re
import subprocess

import pytest

from kdrbench.baselines import BASELINES
from kdrbench.errors import InputError
from kdrbench.kernels import FAMILIES
from kdrbench.metric_learning import LEARNERS
from kdrbench.solvers import CONTROLS, SOLVERS
from kdrbench.suite.conformance import Subject, check, find_subject
from kdrbench.suite.conformance.check import ask_apart, contract_of
from support.own_methods import DATA, KERNEL, LEARNER, SOLVER, write_all

FIRST = "        projection = start\n"
ASKS = """            if not monitor.keep_going(projection):
                return SolverOutcome(projection, monitor.stop_status, monitor.stop_message)
"""
NEVER_ASKS = SOLVER.replace(ASKS, "")
NO_ANSWER = SOLVER.replace(ASKS, "            monitor.keep_going(projection)\n")
BASELINE = """
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kdrbench.baselines import BaselineTask


@dataclass(frozen=True)
class Guess:
    task: ClassVar[BaselineTask] = BaselineTask.CLASSIFICATION
    imports: ClassVar[tuple[str, ...]] = ()

    def fit(self, features, labels, n_components, rng):
        return Guessed(labels, rng)


class Guessed:
    def __init__(self, labels, rng):
        self.labels, self.rng = labels, rng

    def predict(self, features):
        return self.rng.choice(self.labels, len(features))
"""


def written(folder, kind, text):
    path = folder / "plugin.py"
    path.write_text(text)
    return Subject(kind, f"{path}:Guess" if kind == "baseline" else str(path))


def finding(name, subject, time_limit_s=20.0):
    """Return what the check of this name finds."""
    return ask_apart(next(one for one in contract_of(subject).all_checks() if one.name == name), time_limit_s)


def changed(text, old, new):
    assert old in text
    return text.replace(old, new)


MONOTONE = "step: float = 0.5\n    monotone: ClassVar[bool] = True\n"
VECTORS = "projection = vectors[:, ::-1][:, : start.shape[1]].copy()"
OUTCOME = 'SolverOutcome(projection, Status.CONVERGED, "five steps")'
RULE = '    own_rule: ClassVar[str] = "five steps"\n'
KEEPS_CODE = "    def __post_init__(self):\n        object.__setattr__(self, 'f', lambda: 0)\n\n    def run"


def first(lines):
    return FIRST, f"{FIRST}        {lines}\n"


SOLVER_FAULTS = [
    ("API", ("@dataclass(frozen=True)", "@dataclass"), "can be changed", "write @dataclass.frozen=True."),
    ("API", ('{"surrogate"}', '{"third"}'), "needs the oracle third", "oracles are value, gradient"),
    ("API", ("start, monitor)", "start)"), "run cannot be called with problem, start", "def run.self, problem"),
    ("API", ("step: float = 0.5", "step: float"), "__init__.. missing 1 required|do.* not take", "extending"),
    ("feasibility", ("].copy()", "].copy() * 2"), "iterate 1 is not orthonormal", "orthonormalise"),
    ("feasibility", (OUTCOME, "None"), "run of Mine must return a SolverOutcome, got NoneType", "^return SolverO"),
    ("feasibility", (OUTCOME, OUTCOME.replace("projection", "None")), "6 x q .* got NoneType", "^return SolverO"),
    ("feasibility", ("Status.CONVERGED", '"stalled"'), "write kdrbench.solvers.Status.STALLED", "^return SolverO"),
    ("feasibility", ('"five steps")', '"")'), "the outcome has no message", "say why it ended"),
    ("feasibility", ("Status.CONVERGED", '"fine"'), "ended with status 'fine'; allowed: converged", "Status"),
    ("feasibility", ("range(5)", "range(1 // 0)"), "ZeroDivisionError: .* .line 18 of plugin.py.", "correct that line"),
    ("limits", (FIRST, FIRST + "        monitor.keep_going(start)\n" * 6), "continues after keep_going", "leave"),
    ("limits", ("monitor.stop_status", "Status.CONVERGED"), "stopped it, and its status is 'converged'", "stop_st"),
    ("convergence", (RULE, ""), r"it says converged at relative stationarity \d.\de-0[1-5] with", "own_rule: ClassVar"),
    ("determinism", ("].copy()", "].copy() * np.random.choice([-1.0, 1.0])"), "global generator|second time", "rng"),
    ("inputs", first("start[:] = start[:, ::-1].copy()"), "it changes array 1", "work on a copy"),
    ("global state", first("np.random.rand()"), "changes numpy.random", "default_rng"),
    ("global state", first("np.seterr(all='ignore')"), "changes numpy.seterr", "errstate"),
    ("global state", first("__import__('os').environ['A'] = '1'"), "changes A in os.environ", "bench"),
    ("global state", first("__import__('os').chdir('/')"), "the working directory", "leave it"),
    ("global state", first("__import__('os').fork(), __import__('os').fork()"), r"left \d processes behind", "child"),
    ("pickle", ("    def run", KEEPS_CODE), "pickle", "plain values"),
    ("monotone", (VECTORS, VECTORS.replace("[:, ::-1]", "")), "is monotone, and F falls from", "accept a step only"),
]


SILENT = NEVER_ASKS.replace(FIRST, FIRST + "        monitor.keep_going(start)\n")
RARELY = SOLVER.replace(FIRST, FIRST + "        for _ in range(150):\n            problem.surrogate(start)\n")
KEEPS = (
    SOLVER.replace("    step: float", "    kept: ClassVar[list] = []\n    step: float")
    .replace(FIRST, "        self.kept.append(0)\n" + FIRST)
    .replace("range(5)", "range(len(self.kept))")
)


OBEDIENCE_FAULTS = [
    ("limits", NEVER_ASKS, "^it never asks monitor.keep_going"),
    ("limits", NO_ANSWER, "^it continues after keep_going has answered"),
    ("limits", SILENT, "^it calls oracles 5 times after keep_going"),
    ("limits", RARELY, "^it calls oracles 150 times without asking"),
    ("determinism", KEEPS, "^the same object gives another result the second time"),
]


@pytest.mark.parametrize(
    ("line", "limit_s", "fault", "advice"),
    [
        ("while True: pass", 0.5, "it did not end within 0.5 s", "let it end"),
        ("os._exit(3)", 20.0, "it ended the process with exit code 3", "raise an exception"),
        ("os.kill(os.getpid(), 11)", 20.0, "it ended the process by signal 11", "look at compiled code"),
    ],
)
def test_a_solver_that_hangs_or_dies_is_a_finding(tmp_path, line, limit_s, fault, advice):
    text = f"import os\n{changed(SOLVER, *first(line))}"
    found = finding("feasibility", written(tmp_path, "solver", text), limit_s)
    assert (found.fault, found.advice[: len(advice)]) == (fault, advice)


KERNEL_FAULTS = [
    ("API", ("pairing: ClassVar[Pairing] = Pairing.DIFFERENCE", "other: int = 0"), "it lacks pairing", "extending"),
    ("API", ("= Pairing.DIFFERENCE", '= "difference"'), "pairing is 'difference'", "Pairing.DIFFERENCE"),
    ("values", ("return 1 / (1 + beta / self.scale)", "return 1.0"), r"to one of shape \(\)", "elementwise"),
    ("values", ("return 1 / (1 + beta / self.scale)", "return 1 / (beta - beta[1, 2])"), "not finite at beta", "limit"),
    ("derivatives", ("-1 / self.scale /", "-1 /"), "derivative is not the derivative of value: at beta", "once more"),
    ("derivatives", ("2 / self.scale**2", "1 / self.scale**2"), "second_derivative is not the derivative of", "derive"),
    ("values", ("return 1 / (1", "beta += 1\n        return 1 / (1"), "changes the array it is", "copy"),
]


RETURNS = "return Guessed"
OTHER_FAULTS = [
    ("metric-learner", LEARNER, "API", ("features, labels)", "features)"), "fit cannot be called with features"),
    ("metric-learner", LEARNER, "map", ("return np.linalg", "return [0] or np.linalg"), "must return a map of shape"),
    ("metric-learner", LEARNER, "map", ("* self.share", "* np.nan"), "a map that is not finite"),
    ("metric-learner", LEARNER, "inputs", ("return np", "features -= 1\n        return np"), "it changes array 1"),
    ("dataset", DATA, "API", ("load(self)", "load(self, name)"), "missing 1 required|load cannot be called"),
    ("dataset", DATA, "values", ("+ labels[:, None], labels", ""), "must return .features, labels."),
    ("dataset", DATA, "values", ("% 3", "% 59"), "a class has a single sample"),
    ("dataset", DATA, "values", ("return rng", "return np.nan * rng"), "NaN or infinite"),
    ("dataset", DATA, "determinism", ("default_rng(0)", "default_rng(np.random.randint(9**9))"), "the second time"),
    ("baseline", BASELINE, "API", ("n_components, rng)", "rng)"), "fit cannot be called"),
    ("baseline", BASELINE, "labels", ("len(features))", "3)"), r"gives labels of shape \(3,\) to 40 samples"),
    ("baseline", BASELINE, "labels", ("len(features))", "len(features)) + 9"), "gives labels that there are not"),
    ("baseline", BASELINE, "inputs", (RETURNS, f"labels[:] = 0\n        {RETURNS}"), "it changes array 2"),
]


CASES = [
    *(
        ("solver", SOLVER.replace("step: float = 0.5\n", MONOTONE) if one[0] == "monotone" else SOLVER, *one)
        for one in SOLVER_FAULTS
    ),
    *(("solver", text, name, ("", ""), fault, "") for name, text, fault in OBEDIENCE_FAULTS),
    *(("kernel", KERNEL, *one) for one in KERNEL_FAULTS),
    *((*one, "") for one in OTHER_FAULTS),
]


@pytest.mark.parametrize(("kind", "text", "name", "edit", "fault", "advice"), CASES, ids=range(len(CASES)))
def test_a_fault_is_found_with_advice(tmp_path, kind, text, name, edit, fault, advice):
    found = finding(name, written(tmp_path, kind, changed(text, *edit)))
    assert re.search(fault, found.fault)
    assert found.advice
    assert re.search(advice, found.advice)


def test_a_sound_baseline_passes_every_check(tmp_path):
    # A process that others have started ends meanwhile.
    with subprocess.Popen("true"):
        for one in contract_of(written(tmp_path, "baseline", BASELINE)).all_checks():
            one.ask()


def test_checks_end_where_the_api_is_at_fault(tmp_path):
    (found,) = check(written(tmp_path, "solver", changed(SOLVER, "requires:", "needs:")))
    assert (found.check, "it lacks requires" in found.fault) == ("API", True)


def test_paths_and_names_say_what_kind_they_are(tmp_path):
    paths = write_all(tmp_path)
    for name, kind in {"solver": "solver", "kernel": "kernel", "data": "dataset", "learner": "metric-learner"}.items():
        assert find_subject(str(paths[name])).kind == kind
    for name, kind in {"ism": "solver", "gaussian": "kernel", "wine": "dataset", "nca": "metric-learner"}.items():
        assert find_subject(name).kind == kind
    assert find_subject("svm").kind == "baseline"
    assert find_subject("support.misbehaving:Lies").kind == "solver"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (None, "imm", "unknown name 'imm'.*Did you mean 'ism'.*path/to/file.py"),
        ("x = 1", "plugin.py", "holds nothing that looks like a plug-in: a solver has run"),
        (SOLVER + KERNEL, "plugin.py", "may be a solver or a kernel; say which with --kind"),
    ],
)
def test_what_is_no_plug_in_or_several_is_said(tmp_path, monkeypatch, text, place, message):
    monkeypatch.chdir(tmp_path)
    if text:
        (tmp_path / "plugin.py").write_text(text)
    with pytest.raises(InputError, match=message):
        find_subject(place)


def test_only_a_solver_that_says_it_is_monotone_is_asked(tmp_path):
    def names(text):
        return [one.name for one in contract_of(written(tmp_path, "solver", text)).all_checks()]

    assert "monotone" not in names(SOLVER)
    assert "monotone" in names(changed(SOLVER, "step: float = 0.5\n", MONOTONE))


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
    for one in contract_of(Subject(kind, name)).all_checks():
        one.ask()


@pytest.mark.parametrize(
    ("kind", "file"), [("solver", "solver"), ("kernel", "kernel"), ("dataset", "data"), ("metric-learner", "learner")]
)
def test_plug_ins_from_files_pass_every_check(kind, file, tmp_path):
    faults = [finding.fault for finding in check(Subject(kind, str(write_all(tmp_path)[file])))]
    assert (set(faults), len(faults) >= 6) == ({""}, True)
