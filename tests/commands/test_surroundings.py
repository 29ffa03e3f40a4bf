"""`kdrbench list`, `kdrbench doctor`, `kdrbench status`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kdrbench.datasets import load_registry
from kdrbench.solvers.registry import NAMED
from kdrbench.suite.cli import main
from kdrbench.suite.commands import doctor as doctor_module
from kdrbench.suite.commands.doctor import Answer

ROOT = Path(__file__).parents[2]


def kdrbench(*words, **options):
    return CliRunner().invoke(main, [*map(str, words)], **options)


def test_list_names_everything_with_a_line_on_each():
    said = json.loads(kdrbench("list", "--json", "--config", ROOT / "config.yaml").output)
    assert list({**said["solvers"], **said["controls"]}) == list(NAMED)
    assert list(said["datasets"]) == list(load_registry())
    assert said["metric-learners"].keys() == {"nca", "lmnn", "dne"}
    assert said["experiments"]["table4_supervised"].startswith("Supervised IKDR")
    assert all(words for kind in said.values() for words in kind.values())


def test_list_prints_the_kinds_that_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = kdrbench("list", "controls", "experiments")
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[0] == "controls:"
    assert lines[-2:] == ["experiments:", "  none"]
    assert "  random             start_alone, start random: The start, as it is." in lines


def test_an_unknown_kind_is_answered_with_the_nearest_one():
    done = kdrbench("list", "solver")
    assert (done.exit_code, "Did you mean 'solvers'?" in done.stderr) == (2, True)


def test_doctor_ends_with_1_only_for_what_is_needed(monkeypatch):
    def answers(*made):
        monkeypatch.setattr(doctor_module, "QUESTIONS", (lambda: iter(made),))
        return kdrbench("doctor")

    well = Answer("TeX", True, "there")
    without, broken = Answer("conda", False, "no conda", "get it"), Answer("mirror", False, "no folder", "set it", True)
    assert answers(well, without).exit_code == 0
    done = answers(well, without, broken)
    assert done.exit_code == 1
    assert done.output.splitlines() == [
        "well     TeX: there",
        "without  conda: no conda",
        "         get it",
        "BROKEN   mirror: no folder",
        "         set it",
    ]


@pytest.mark.whole
def test_doctor_looks_at_what_is_here(tmp_path, monkeypatch):
    monkeypatch.setenv("KDRBENCH_MIRROR", str(tmp_path))
    (tmp_path / "conda").write_text("#!/bin/sh\necho a conda of sorts\n")
    (tmp_path / "conda").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = kdrbench("doctor", "--json")
    assert done.exit_code == 0, done.output
    said = {one["what"]: one for one in json.loads(done.output)}
    assert said["conda"]["found"] == "a conda of sorts"
    assert (said["git"]["works"], said["git"]["found"]) == (False, "no git on the PATH")
    assert said["mirror"]["found"] == f"{tmp_path} (a folder)"
    assert said["packages of the library"]["works"]
    assert all(one["to_do"] for one in said.values() if not one["works"])


def test_a_mirror_that_is_not_there_is_broken(tmp_path, monkeypatch):
    monkeypatch.setenv("KDRBENCH_MIRROR", str(tmp_path / "gone"))
    monkeypatch.setattr(doctor_module, "QUESTIONS", (doctor_module._data,))
    done = kdrbench("doctor")
    assert done.exit_code == 1
    assert f"BROKEN   mirror: {tmp_path / 'gone'} (no folder)" in done.output
