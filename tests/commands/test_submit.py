"""`kdrbench submit`: an own solver run by fixed rules, packed with its file; and the hosted workflow that does it."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from kdrbench.suite.archive.layers import record_at
from kdrbench.suite.cli import main
from kdrbench.suite.commands.options import read_configs
from kdrbench.suite.experiments.config import load_grid
from support.own_methods import KERNEL, SOLVER

ROOT = Path(__file__).parents[2]
RULES = """
run: [tiny]
limits: {time_s: 5, memory_mib: 512}
experiments:
  tiny:
    title: "Two cells."
    paradigm: supervised
    datasets: [wine]
    kernels: [gaussian, linear]
    solvers: [ism_converged, random]
    components: {wine: 2}
    folds: 2
    start: surrogate
    timed: false
    runs_per_job: 2
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("config.rules.yaml").write_text(RULES)
    return tmp_path


def submit(solver, *words):
    return CliRunner().invoke(main, ["submit", solver, "--rules", "config.rules.yaml", *words])


@pytest.mark.slow("checks a solver and makes four runs")
def test_a_submission_holds_rows_with_their_origin_and_the_file():
    Path("mine.py").write_text(SOLVER)
    done = submit("mine.py")
    assert done.exit_code == 0, done.output
    assert "4 runs by the rules of config.rules.yaml: at most 0.333 minutes of the solver" in done.stdout
    assert re.search(r"^wine/linear/mine: 2 converged, mean cost -\S+, mean accuracy 0\.\d+$", done.stdout, re.M)
    assert "kdrbench pack submission-mine --out RECORD --layer 20" in done.stdout
    packed = record_at(Path("submission-mine"))
    readme = Path("submission-mine/README.md").read_text()
    assert readme.startswith("# The solver mine, submitted on 20")
    assert "kdrbench submit mine.py" in readme
    assert packed.content("others/submitted-mine.py").decode() == SOLVER
    assert (packed.config["name"], packed.manifest["experiments"]["tiny"]["rows"]) == ("rules", 4)
    assert packed.config["experiments"]["tiny"]["solvers"] == ["mine"]
    for made in (row.provenance for row in packed.rows("tiny", "ikdr")):
        assert made.machine == os.uname().nodename
        assert all((made.started_at, made.numpy_version, made.git_commit, made.env_id))
        assert '"solver/' in made.revisions
        assert not made.timed


@pytest.mark.parametrize(
    ("solver", "text", "message"),
    [
        ("ism", "", "a submission is a Python file of your own, not 'ism'; `kdrbench new solver` writes one"),
        ("absent.py", "", "there is no file absent.py"),
        ("kernel.py", KERNEL, "kernel.py holds a kernel, and only a solver can be submitted; `kdrbench new experiment"),
        ("random.py", SOLVER, "'random' is the name of a solver of kdrbench; rename the file"),
        (
            "mine.py",
            SOLVER.replace("frozen=True", "frozen=False"),
            "mine.py breaks its contract - API: Mine is a datacl",
        ),
    ],
)
def test_what_cannot_be_submitted_is_refused(folder, solver, text, message):
    if text:
        Path(solver).write_text(text)
    done = submit(solver)
    assert (done.exit_code, message in done.stderr) == (2, True), done.stderr
    assert {path.name for path in folder.iterdir()} <= {"config.rules.yaml", solver}


def test_a_submission_takes_at_most_fifteen_minutes():
    config = read_configs((ROOT / "config.yaml", ROOT / "config.submissions.yaml"))
    grid = load_grid(config | {"name": "submissions"})
    (experiment,) = grid.experiments
    runs = [run for batch in grid.batches() if batch.cell[-1] == "random" for run in batch.runs]
    assert len(runs) * grid.limits(experiment).time_s <= 14 * 60
    # Each cell has jobs of its own, whatever other solvers there are, and no times that would be compared.
    assert all(len(bundle.batches) == 1 for bundle in grid.bundles())
    assert not grid.timed(experiment)


def test_the_hosted_workflow_submits_each_changed_solver(folder):
    steps = yaml.safe_load((ROOT / ".github/workflows/submission.yml").read_text())["jobs"]["submit"]["steps"]
    (script,) = [step["run"] for step in steps if "kdrbench" in step.get("run", "")]
    program = folder / re.findall(r"^ *(\S*kdrbench) submit ", script, re.M)[0]
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$@" >> given\n')
    program.chmod(0o755)
    (folder / "submissions").mkdir()
    git = "git -c user.name=a -c user.email=a@b commit -qm one"
    before = f"git init -q; echo 1 | tee submissions/{{old,edited}}.py; git add submissions; {git}"
    after = (
        f"git update-ref refs/remotes/origin/main HEAD; echo 2 | tee submissions/{{edited,new}}.py; git add -A; {git}"
    )
    for commands in (before, after, script):
        subprocess.run(["bash", "-e", "-c", commands], check=True, env=os.environ | {"GITHUB_BASE_REF": "main"})
    given = [line.split() for line in Path("given").read_text().splitlines()]
    assert given == [["submit", f"submissions/{name}.py", "--out", f"submitted/{name}"] for name in ("edited", "new")]
    for _, *words in given:
        main.get_command(None, "submit").make_context("submit", words)
    assert [step["with"]["path"] for step in steps if "upload" in step.get("uses", "")] == ["submitted/"]
