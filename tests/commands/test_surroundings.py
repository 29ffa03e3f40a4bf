"""`kdrbench list`, `kdrbench doctor`, `kdrbench status`, and what the shell completes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from kdrbench.datasets import load_registry
from kdrbench.solvers.registry import NAMED
from kdrbench.suite.cli import main
from kdrbench.suite.commands import doctor as doctor_module
from kdrbench.suite.commands.doctor import Answer
from kdrbench.suite.engine.record import append_records
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.reports.progress import losing_lines
from kdrbench.suite.systems.ikdr.controls import LosingCell
from support.configs import table_4_config
from support.made_up import record

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
    (tmp_path / "pdflatex").write_text("#!/bin/sh\necho a TeX of sorts\n")
    (tmp_path / "pdflatex").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = kdrbench("doctor", "--json")
    assert done.exit_code == 0, done.output
    said = {one["what"]: one for one in json.loads(done.output)}
    assert said["TeX"]["found"] == "a TeX of sorts"
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


def completed(*words, incomplete=""):
    found = ShellComplete(main, {}, "kdrbench", "_KDRBENCH_COMPLETE").get_completions(list(words), incomplete)
    return [item.value for item in found if item.type == "plain"]


def test_names_are_completed(tmp_path):
    assert completed("run", incomplete="wi") == ["wine"]
    assert completed("run", "wine", incomplete="gau") == ["gaussian"]
    assert completed("run", "wine", "gaussian", incomplete="ism_c") == ["ism_converged"]
    assert completed("check", incomplete="lm") == ["lmnn"]
    assert "doctor" in completed(incomplete="d")
    (tmp_path / "ikdr.csv").write_text("experiment,dataset,kernel,method,run\ne,wine,gaussian,ism,0\n")
    trick = "experiment,dataset,learner,variant,run\nkpca,wine,dne,plain,3\n"
    (tmp_path / "kpca_trick.csv").write_text(trick)
    folder = ["--results", str(tmp_path)]
    assert completed("compare", *folder, incomplete="i") == ["ism"]
    assert completed("show", *folder, incomplete="e") == ["e/wine/gaussian/ism/0"]
    assert completed("show", *folder, incomplete="k") == ["kpca/wine/3/dne/plain"]
    assert completed("show", "--results", str(tmp_path / "none"), incomplete="e") == []


def test_the_shell_is_given_a_script():
    # Run as a module the program would have another name.
    done = subprocess.run(
        [Path(sys.executable).parent / "kdrbench"],
        env=os.environ | {"_KDRBENCH_COMPLETE": "bash_source"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_KDRBENCH_COMPLETE=bash_complete" in done.stdout


def test_each_command_explains_itself():
    for command in ["run", "list", "data", "compare", "show", "status", "doctor", "new", "check"]:
        done = kdrbench(command, "--help")
        assert done.exit_code == 0
        assert len(done.output.splitlines()) > 5


def test_help_does_not_load_what_it_does_not_need():
    code = "import sys; from kdrbench.suite.cli import main; main(['run', '--help'], standalone_mode=False); "
    code += "print(sorted({'numpy', 'scipy', 'sklearn', 'pandas', 'snakemake'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_status_counts_and_lists_losers():
    cell = LosingCell("e", "wine", "gaussian", "mine", "random", "cost", -1.0, -2.0, 10)
    assert losing_lines([]) == []
    first, second = losing_lines([cell])
    assert first == "worse than a random projection: 1 cell"
    assert second.startswith("  e/wine/gaussian/mine: cost -1 is worse than -2 of the random projection 'random'")


def test_the_status_names_who_loses(tmp_path):
    config = table_4_config()
    config["experiments"]["table4_supervised"] |= {
        "datasets": ["wine"],
        "kernels": ["gaussian"],
        "solvers": ["ism", "dg", "random"],
        "baselines": [],
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    costs = {"ism": -3.0, "dg": -1.0, "random": -2.0}
    for batch in load_grid(config).batches():
        method = batch.cell[-1]
        columns = {"cost": costs[method], "definition_sha256": batch.definition_sha256}
        rows = [record("wine", method, number, experiment=batch.experiment, **columns) for number in batch.runs]
        append_records(tmp_path / "runs" / f"{batch.path}.jsonl", rows)
    done = kdrbench("status", "--results", tmp_path)
    assert done.exit_code == 0, done.output
    *_, count, cell = done.output.splitlines()
    assert count == "worse than a random projection: 1 cell"
    assert cell.startswith("  table4_supervised/wine/gaussian/dg: cost -1 is worse than -2")
