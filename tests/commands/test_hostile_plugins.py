"""Plug-ins that end the process they are loaded in, never end, or print: the command ends with a sentence."""

import os

import pytest

from kdrbench.errors import InputError
from kdrbench.solvers import build_solver
from kdrbench.suite.conformance.subject import places_in, try_apart
from kdrbench.suite.systems.registry import build_system
from support.command_line import kdrbench
from support.own_methods import DATA, SOLVER
from support.small_grid import Workflow


@pytest.mark.whole
@pytest.mark.attack("stranger: plug-in that ends its process")
@pytest.mark.parametrize("statement", ["import sys; sys.exit(0)", "import os; os._exit(0)", "raise KeyboardInterrupt"])
def test_snakemake_ends_with_a_sentence(tmp_path, statement):
    workflow = Workflow(tmp_path / "here")
    (workflow.folder / "bad.py").write_text(f"{statement}\n{SOLVER}")
    done = workflow.run("--quiet", "rules", "--until", "run_batch", solvers={"bad": {"method": "bad.py"}})
    assert done.returncode == 1
    assert "bad.py" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (workflow.folder / "results").exists()


@pytest.mark.attack("stranger: plug-in that ends its process")
def test_data_that_end_the_process_are_named(tmp_path, monkeypatch):
    ends = "        __import__('os')._exit(0)\n"
    (tmp_path / "bad.py").write_text(DATA.replace("        labels =", f"{ends}        labels ="))
    monkeypatch.chdir(tmp_path)
    done = kdrbench("run", "bad.py", "gaussian", "ism")
    assert done.exit_code == 2
    assert "one of the plug-ins 'bad.py' ended the process with exit code 0 when it was asked for" in done.stderr


# Each is one statement, executed when the file is imported, in the body of its class, or in its constructor.
PLACES = {
    "import": lambda text: f"{text}\n{SOLVER}",
    "class body": lambda text: SOLVER.replace("    step: float", f"    {text}\n    step: float"),
    "constructor": lambda text: SOLVER.replace(
        "    step: float", f"    def __post_init__(self):\n        {text}\n\n    step: float"
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_exception_is_a_sentence_too(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(PLACES[place]("raise SystemExit"))
    with pytest.raises(InputError, match=r"'bad.py' cannot be (loaded|built with these options): SystemExit"):
        build_solver({"method": "bad.py"})


def test_a_message_that_is_not_ours_is_one_short_printable_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text("raise ValueError('\\x1b[31m' + 10**6 * 'a' + '\\nsecond')")
    with pytest.raises(InputError) as caught:
        build_solver({"method": "bad.py"})
    assert str(caught.value) == f"solver method 'bad.py' cannot be loaded: ValueError: \\x1b[31m{'a' * 280}..."


def test_what_a_plug_in_prints_goes_to_the_error_output(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loud.py").write_text("print('loud')\n" + SOLVER)
    build_solver({"method": "loud.py"})
    assert capsys.readouterr() == ("", "loud\n")


def test_a_system_whose_constructor_fails_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "system.py").write_text(
        "from kdrbench.suite.systems.low_rank.system import LowRankSystem\n\n\nclass Mine(LowRankSystem):\n"
        "    def __init__(self):\n        raise SystemExit(0)\n"
    )
    with pytest.raises(InputError, match=r"system 'system.py' cannot be built: SystemExit: 0"):
        build_system("system.py")


def test_an_import_that_never_ends_is_ended(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text("while True:\n    pass\n")
    with pytest.raises(InputError, match=r"plug-in 'bad.py' did not end within 0.5 s when it was loaded"):
        try_apart(lambda: build_solver({"method": "bad.py"}), ["bad.py"], 0.5)


def test_without_plug_ins_nothing_is_tried(monkeypatch):
    monkeypatch.setattr(os, "fork", None)
    try_apart(lambda: None, [])


def test_the_plug_ins_of_a_configuration_are_found():
    config = {
        "datasets": {"d": {"loader": "a.py"}, 3: None},
        "solvers": {"s": {"method": "b.py:C"}, "t": {"method": "ism"}, "u": {"method": 7}},
        "kernels": {"k": {"members": [{"family": "m:K"}, {"family": "gaussian"}, "x.py"]}},
        "experiments": {"e": {"learners": ["nca", "l.py"], "title": "a: b.py", "system": "s.py"}},
    }
    assert places_in(config) == ["a.py", "b.py:C", "m:K", "l.py", "s.py"]
    assert places_in([config, None]) == places_in(config)
    assert places_in(None) == []
