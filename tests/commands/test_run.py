"""`kdrbench run`: one cell, as the workflow runs it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from kdrbench.errors import InputError
from kdrbench.solvers.registry import NAMED, method_of
from kdrbench.suite.commands.options import read_options
from kdrbench.suite.commands.run import _in_words, cell_config
from kdrbench.suite.experiments.config import load_grid
from support import command_line
from support.own_methods import write_all
from support.products import by_section

ROOT = Path(__file__).parents[2]
SETTINGS = {"components": None, "time_limit": 5.0, "memory_limit": None, "folds": None, "unsupervised": False}
SETTINGS |= {"seed": 0, "options": {}, "kernel_options": {}}


@pytest.fixture(autouse=True)
def own_cores(tmp_path_factory, monkeypatch):
    """Let no timed batch of another checkout make a run wait: the locks of cores are in the temporary folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("tmp")))


kdrbench = partial(command_line.kdrbench, "run")


@pytest.mark.slow("the command for one run")
def test_a_cell_is_run_and_said_in_words():
    done = kdrbench("wine", "gaussian", "ism_converged", "--components", "4")
    assert done.exit_code == 0, done.output
    # The cost of ISM+'s Table 5, which the README prints too.
    assert "converged - relative stationarity" in done.stdout
    assert "cost -1628.13" in done.stdout
    assert re.search(r"iterations in \S+ s, first solve \(warm median \S+ s of \d+ repeats\)", done.stdout)
    assert "lowest cost" in done.stderr or "starting" in done.stderr


@pytest.mark.whole
def test_a_published_rule_that_ends_early_has_not_converged():
    done = kdrbench("wine", "gaussian", "ism", "--components", "4")
    assert done.stdout.startswith("stopped by its own rule, not converged to 1e-06 - eigenvalues settled"), done.output


@pytest.mark.slow("the command for one run, with the user's files")
def test_own_files_are_run_over_folds_and_printed_as_json(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_all(tmp_path)
    words = ["my_data.py", "my_kernel.py", "my_solver.py", "--folds", "2", "--json", "--option", "step=0.25"]
    done = kdrbench(*words)
    assert done.exit_code == 0, done.output
    records = [json.loads(line) for line in done.stdout.splitlines()]
    axes = [(one["dataset"], one["kernel"], one["method"], one["run"]) for one in records]
    assert axes == [("my_data", "my_kernel", "my_solver", 0), ("my_data", "my_kernel", "my_solver", 1)]
    assert {(one["message"], one["n_components"], one["n_test"]) for one in records} == {("five steps", 3, 30)}
    left = {f"my_{name}.py" for name in ("data", "kernel", "learner", "solver")}
    assert {path.name for path in tmp_path.glob("*")} == left


@pytest.mark.whole
@pytest.mark.parametrize("word", ["wine.csv:species", pytest.param("my_data.csv", marks=pytest.mark.whole)])
def test_a_table_of_ones_own_is_run_by_its_name(tmp_path, monkeypatch, word):
    monkeypatch.chdir(tmp_path)
    target = word.rpartition(":")[2] if ":" in word else "class"
    lines = [f"{number % 7},{number % 5},{'ab'[number % 2]}" for number in range(20)]
    (tmp_path / word.partition(":")[0]).write_text("\n".join([f"x,y,{target}", *lines]) + "\n")
    done = kdrbench(word, "gaussian", "ism", "--json")
    assert done.exit_code == 0, done.output
    row = json.loads(done.stdout)
    name = "wine_own" if word.startswith("wine") else "my_data"
    assert (row["dataset"], row["n_features"], row["status"]) == (name, 2, "converged")


def test_a_column_that_a_table_lacks_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_data.csv").write_text("x,y,species\n1,2,a\n")
    done = kdrbench("my_data.csv:specie", "gaussian", "ism")
    assert done.exit_code == 2
    assert "my_data.csv: target: unknown column 'specie'" in done.stderr
    assert "Did you mean 'species'?" in done.stderr


@pytest.mark.filterwarnings("default")
def test_options_of_a_table_are_words_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_data.csv").write_text(",x,y,class\n" + "".join(f"{n},{n % 7},{n % 5},{n % 2}\n" for n in range(20)))
    words = ["my_data.csv", "linear", "principal_axes", "--data-option", "decimal=,", "--data-option", "drop=[y]"]
    done = kdrbench(*words, "--json")
    assert json.loads(done.stdout.splitlines()[-1])["n_features"] == 1, done.output
    assert "kdrbench: my_data.csv: the column without a name numbers or names the rows, and is left out" in done.stderr
    refused = kdrbench("wine", "linear", "ism", "--data-option", "drop=[y]")
    assert "--data-option is for data of your own, not for 'wine'" in refused.stderr


@pytest.mark.whole
def test_a_solver_that_fails_is_said_and_ends_with_1(monkeypatch):
    # The job is a process of its own.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")]))
    done = kdrbench("wine", "linear", "support.misbehaving:Raises", "--time-limit", "5")
    assert done.exit_code == 1
    assert "failed - ZeroDivisionError: the step length is 0/0" in done.stdout


FAULTS = [
    (["wines", "gaussian", "ism"], "unknown data set 'wines'. Did you mean 'wine'.*One of your own is named path"),
    (["wine", "gausian", "ism"], "unknown kernel family 'gausian'"),
    (["wine", "gaussian", "ism", "--option", "tol=1"], "unknown option of solver method 'ism': 'tol'"),
    (["wine", "gaussian", "ism", "--option", "start=rndom"], "^kdrbench: --option start is 'rndom'; it must be one of"),
    (["wine", "gaussian", "ism", "--config", "none.yaml"], "there is no configuration none.yaml"),
    (["no.py", "gaussian", "ism"], "cannot be loaded: there is no file no.py"),
    (["wine", "gaussian", "ism", "--components", "99"], "^kdrbench: --components is 99; data set 'wine' has 13"),
    (["wine", "gaussian", "ism", "--folds", "200"], "^kdrbench: --folds is 200; the largest class of data"),
    (["wine", "gaussian", "ism", "--time-limit", "1e300"], "^kdrbench: --time-limit is 1e.300; it must be"),
    (["wine", "gaussian", "ism", "--kernel-option", "a=1"], "^kdrbench: --kernel-option: unknown option of"),
    (["wine", "gaussian", "ism", "--option", "tolerance=-1"], "^kdrbench: --option: solver option tolerance"),
    (["wine", "gaussian", "imm"], "^kdrbench: unknown solver 'imm'. Did you mean 'ism'"),
    (["wine", "gaussian", "ism", "--folds", "2", "--unsupervised"], "--folds and --unsupervised exclude each"),
    (["wine", "gaussian", "ism", "--folds", "1"], "Invalid value for '--folds': 1 is not in the range x>=2"),
    (["wine", "gaussian", "ism", "--folds", "two"], "Invalid value for '--folds': 'two' is not a valid integer"),
    (["wine", "gaussian", "ism", "--time-limit", "inf"], "'--time-limit': inf is not a finite number"),
]


@pytest.mark.parametrize("cases", by_section(FAULTS, lambda words: " ".join(words[3:4]) or "axes"))
def test_what_must_be_corrected_is_one_sentence_and_2(cases):
    for words, message in cases:
        done = kdrbench(*words)
        assert done.exit_code == 2
        assert re.search(message, done.stderr), done.stderr


CONFIGS = [
    ("limits: {times: 1}", "unknown key in limits: 'times'. Did you mean 'time_s'"),
    ("limits: {time_s: -1}", "^kdrbench: config: limits.time_s is -1; it must be greater than 0"),
    ("solver: {}", "unknown key: 'solver'. Did you mean 'solvers'"),
    ("solvers: {other: {method: ism, tolerence: 1}}", "solvers.other: unknown option .* Did you mean"),
    ("solvers: 3", "^kdrbench: config: solvers is 3; it must be of type object"),
    ("kernels: {gaussian: {bandwidth: 1}}", "^kdrbench: config: the key 'family' is missing in kernels.gaussian"),
]


@pytest.mark.parametrize(("text", "message"), CONFIGS)
def test_a_configuration_is_checked_as_the_workflow_does(tmp_path, text, message):
    (tmp_path / "mine.yaml").write_text(text)
    done = kdrbench("wine", "gaussian", "ism", "--config", tmp_path / "mine.yaml")
    assert done.exit_code == 2
    assert re.search(message, done.stderr), done.stderr


def test_a_run_without_a_result_is_said_without_empty_numbers():
    blank = dict.fromkeys(["cost", "quality", "iterations", "time_s", "stationarity", "feasibility", "repeats"])
    row = blank | {"run": 0, "split": "none", "status": "failed", "message": "ended by SIGKILL", "optimality": ""}
    row |= {"quality_metric": "nmi", "n_constant_features": 0}
    assert _in_words(row) == "failed - ended by SIGKILL; it left no result"
    first = row | {"cost": -1.0, "iterations": 1, "time_s": 0.5, "split": "folds"}
    assert _in_words(first) == "fold 0: failed - ended by SIGKILL\n  cost -1, 1 iteration in 0.5 s, first solve"
    assert "\n  2 features without variation" in _in_words(first | {"n_constant_features": 2})
    assert "training error 0.01" in _in_words(first | {"quality": 0.01, "quality_metric": "error"})


def at_work(process):
    """Whether a process is there and no zombie, which waits for nothing but init."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.whole
@pytest.mark.attack("run: ended by a signal")
@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(number, marks=pytest.mark.whole) for number in (signal.SIGINT, signal.SIGHUP))],
    ids=lambda number: number.name,
)
def test_an_ended_command_leaves_nothing_running(tmp_path, number):
    words = ["run", "wine", "gaussian", "support.misbehaving:NeverEnds", "--time-limit", "60"]
    with subprocess.Popen(
        [sys.executable, "-m", "kdrbench", *words],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")]), "TMPDIR": str(tmp_path)},
        # Tests may have been started by nohup, whose children HUP does not end.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        for line in process.stderr:
            if "lowest cost" in line:
                break
        children = psutil.Process(process.pid).children(recursive=True)
        assert children
        process.send_signal(number)
        said = process.stderr.read()
    assert "Traceback" not in said
    assert process.returncode != 0
    give_up = time.monotonic() + 20
    while (left := [child for child in children if at_work(child)]) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not left
    assert not list(tmp_path.glob("kdrbench-run-*"))


def test_words_become_the_configuration_of_a_cell():
    options = {"options": {"max_iterations": 3, "start": "random"}, "kernel_options": {"degree": 2}}
    settings = SETTINGS | options | {"folds": 10}
    config = cell_config("wine", "polynomial", "dg", settings)
    assert config["solvers"]["dg"] == {**NAMED["dg"], "max_iterations": 3, "start": "random"}
    assert config["kernels"]["polynomial"] == {"family": "polynomial", "degree": 2}
    assert config["limits"] == {"time_s": 5.0, "memory_mib": 4096}
    (batch,) = load_grid(config).batches()
    definition = batch.definition
    assert (definition["method"], definition["start"]) == (method_of(config["solvers"]["dg"]), "random")
    assert (definition["n_components"], batch.runs) == (3, tuple(range(10)))
    # Names mean first what the configuration says, and limits are those of options, then of the configuration.
    own = {"solvers": {"mine": {"method": "dg", "max_iterations": 9}}, "limits": {"time_s": 9.0, "memory_mib": 512}}
    own |= {"kernels": {"cubic": {"family": "polynomial", "degree": 3, "constant": 2.0}}}
    config = cell_config(
        "wine", "cubic", "mine", settings | {"components": 2}, own | {"datasets": {"wine": {"loader": "my.py"}}}
    )
    assert config["solvers"]["mine"] == {"method": "dg", "max_iterations": 3, "start": "random"}
    assert config["kernels"]["cubic"] == {"family": "polynomial", "degree": 2, "constant": 2.0}
    assert config["limits"] == {"time_s": 5.0, "memory_mib": 512}
    assert config["datasets"]["wine"] == {"loader": "my.py"}


def test_options_are_read_as_what_they_look_like():
    words = ("a=1", "b=1e-3", "c=true", "d=word", "e=[1, 2]", "f=a=b", "g=null")
    read = read_options(words)
    assert read == {"a": 1, "b": 1e-3, "c": True, "d": "word", "e": [1, 2], "f": "a=b", "g": None}
    assert isinstance(read["a"], int)
    with pytest.raises(InputError, match="an option is written name=value, got '=3'"):
        read_options(("=3",))
