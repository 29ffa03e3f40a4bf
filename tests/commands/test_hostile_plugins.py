"""Plug-ins that fail or print where they are loaded: the command ends with a sentence."""

import pytest

from kdrbench.errors import InputError
from kdrbench.solvers import build_solver
from kdrbench.suite.conformance.subject import places_in
from support.own_methods import SOLVER

BAD_CONSTRUCTOR = SOLVER.replace("    step: float", "    def __post_init__(self): raise SystemExit\n    step: float")


@pytest.mark.parametrize("text", [f"raise SystemExit\n{SOLVER}", BAD_CONSTRUCTOR])
def test_what_is_no_exception_is_a_sentence_too(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(text)
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
