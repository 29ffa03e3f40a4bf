"""Plug-ins that end the process they are loaded in: every command ends with a sentence, never with exit code 0."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kdrbench.conformance.trial import places_in, try_apart
from kdrbench.errors import InputError
from kdrbench.solvers import build_solver
from kdrbench.stages.registry import build_stage
from support.own_methods import DATA, SOLVER
from support.small_grid import Workflow

BIN = Path(sys.executable).parent
# What ends a process, or tries to: each as one statement.
ENDINGS = [
    "import sys; sys.exit(0)",
    "import os; os._exit(0)",
    "raise SystemExit",
    "raise KeyboardInterrupt",
    "raise GeneratorExit",
    "class Rude(BaseException): __str__ = None\n{0}raise Rude",
    "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "import os, sys; os.execv(sys.executable, [sys.executable, '-c', ''])",
    "import os\n{0}if os.fork(): os._exit(0)",
]
PLACES = {"import": "", "class body": "    ", "constructor": "        "}


def ending(statement, place):
    """A solver that executes the statement when it is imported, in its class's body, or in its constructor."""
    indented = PLACES[place] + statement.format(PLACES[place])
    if place == "import":
        return f"{indented}\n{SOLVER}"
    if place == "class body":
        return SOLVER.replace("    step: float", f"{indented}\n    step: float")
    return SOLVER.replace("    step: float", f"    def __post_init__(self):\n{indented}\n\n    step: float")


def command(folder, *words):
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(
        [*map(str, words)], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode != 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert "bad.py" in done.stderr + done.stdout, done.stderr
    return done


@pytest.mark.whole
@pytest.mark.attack("stranger: plug-in that ends its process")
def test_no_command_ends_well_when_a_plug_in_ends_it(tmp_path, attack_rng):
    for place in PLACES:
        statement = ENDINGS[attack_rng.integers(len(ENDINGS))]
        (tmp_path / "bad.py").write_text(ending(statement, place))
        command(tmp_path, BIN / "kdrbench", "check", "bad.py", "--time-limit", "20")
        done = command(tmp_path, BIN / "kdrbench", "run", "wine", "gaussian", "bad.py")
        assert done.returncode == 2


@pytest.mark.attack("stranger: plug-in that ends its process")
@pytest.mark.parametrize("statement", ["import sys; sys.exit(0)", "import os; os._exit(0)", "raise KeyboardInterrupt"])
def test_snakemake_does_not_end_well_either(tmp_path, statement):
    workflow = Workflow(tmp_path / "here")
    (workflow.folder / "bad.py").write_text(ending(statement, "import"))
    done = workflow.run("--quiet", "rules", "--until", "freeze_config", solvers={"bad": {"method": "bad.py"}})
    assert done.returncode == 1
    assert "bad.py" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (workflow.folder / "results").exists()


@pytest.mark.attack("stranger: plug-in that ends its process")
def test_data_that_end_the_process_when_they_are_loaded_are_named(tmp_path):
    ends = "        __import__('os')._exit(0)\n"
    (tmp_path / "bad.py").write_text(DATA.replace("        labels =", f"{ends}        labels ="))
    done = command(tmp_path, BIN / "kdrbench", "run", "bad.py", "gaussian", "ism")
    assert "one of the plug-ins 'bad.py' ended the process with exit code 0 when it was asked for" in done.stderr


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("statement", [one for one in ENDINGS if "exit(0)" not in one.replace("sys.exit(0)", "")][:2])
def test_what_is_no_exception_is_a_sentence_too(tmp_path, monkeypatch, statement, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(ending(statement, place))
    with pytest.raises(InputError, match=r"'bad.py' cannot be (loaded|built with these options): SystemExit"):
        build_solver({"method": "bad.py"})


def test_a_message_that_is_not_ours_is_one_short_printable_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(ending("raise ValueError('\\x1b[31m' + 10**6 * 'a' + '\\nsecond')", "import"))
    with pytest.raises(InputError) as caught:
        build_solver({"method": "bad.py"})
    assert str(caught.value) == f"solver method 'bad.py' cannot be loaded: ValueError: \\x1b[31m{'a' * 280}..."


def test_what_a_plug_in_prints_is_not_mixed_with_what_a_program_reads(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loud.py").write_text("print('loud')\n" + SOLVER)
    build_solver({"method": "loud.py"})
    assert capsys.readouterr() == ("", "loud\n")


def test_a_system_whose_constructor_fails_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "system.py").write_text(
        "from kdrbench.stages.low_rank.stage import LowRankStage\n\n\nclass Mine(LowRankStage):\n"
        "    def __init__(self):\n        raise SystemExit(0)\n"
    )
    with pytest.raises(InputError, match=r"system 'system.py' cannot be built: SystemExit: 0"):
        build_stage("system.py")


def test_an_import_that_never_ends_is_ended(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text("while True:\n    pass\n")
    with pytest.raises(InputError, match=r"plug-in 'bad.py' did not end within 0.5 s when it was loaded"):
        try_apart(lambda: build_solver({"method": "bad.py"}), ["bad.py"], 0.5)


def test_without_plug_ins_nothing_is_tried(monkeypatch):
    monkeypatch.setattr(os, "fork", None)
    try_apart(lambda: None, [])


def test_what_a_configuration_names_is_found_whatever_else_it_holds():
    config = {
        "datasets": {"d": {"loader": "a.py"}, 3: None},
        "solvers": {"s": {"method": "b.py:C"}, "t": {"method": "ism"}, "u": {"method": 7}},
        "kernels": {"k": {"members": [{"family": "m:K"}, {"family": "gaussian"}, "x.py"]}},
        "experiments": {"e": {"learners": ["nca", "l.py"], "title": "a: b.py", "system": "s.py"}},
    }
    assert places_in(config) == ["a.py", "b.py:C", "m:K", "l.py", "s.py"]
    assert places_in([config, None]) == places_in(config)
    assert places_in(None) == []
