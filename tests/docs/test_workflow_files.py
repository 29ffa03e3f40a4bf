"""What the hosted workflows do exists: targets of make, commands of kdrbench, files and programs of this repository."""

import re
import shlex
from pathlib import Path

import click
import pytest
import yaml

from kdrbench.cli import main
from kdrbench.reports.summary.contents import FOLDER, PRINTED

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# GitHub's own, at the versions that all of them use.
ACTIONS = {"actions/checkout@v4", "actions/setup-python@v5"}


def steps(path):
    """Return the steps of all jobs of a workflow."""
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def commands(path):
    """Return the words of each command that a workflow runs."""
    run = "\n".join(step.get("run", "") for step in steps(path))
    # What GitHub fills in.
    lines = re.sub(r"\$\{\{.*?\}\}", "value", run).splitlines()
    return [shlex.split(part) for line in lines if line.strip() for part in line.split(" && ")]


def check(words):
    """Raise ``AssertionError`` for a command of make, kdrbench or the repository that does not exist."""
    program, rest = words[0].removeprefix(".venv/bin/"), words[1:]
    if program == "make":
        targets = [word for word in rest if "=" not in word and not word.startswith("-")]
        makefile = (ROOT / "Makefile").read_text()
        assert targets
        for target in targets:
            assert re.search(rf"^{re.escape(target)}:", makefile, re.M), target
    elif program == "kdrbench":
        command = main.get_command(click.Context(main), rest[0])
        assert command, rest[0]
        known = {option for one in command.params for option in one.opts}
        assert {word for word in rest if word.startswith("--")} <= known, rest


def test_there_is_a_workflow_for_changes_and_one_for_releases():
    assert [path.name for path in FILES] == ["ci.yml", "release.yml"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_a_workflow_runs_exists(path):
    for words in commands(path):
        check(words)
    for name in re.findall(r"(?<![\w/])\.ci/\w+", path.read_text()):
        assert (ROOT / name).is_file()
    assert {step["uses"] for step in steps(path) if "uses" in step} <= ACTIONS


@pytest.mark.parametrize(
    "words", ["make paper", "make PYTHON=python3", "kdrbench crates x", "kdrbench crate x --put y"]
)
def test_a_command_that_does_not_exist_is_noticed(words):
    with pytest.raises(AssertionError):
        check(words.split())


def test_a_release_carries_package_record_crate_and_print():
    run = "\n".join(" ".join(words) for words in commands(ROOT / ".github/workflows/release.yml"))
    for made in ("hatchling build", "make papers", "kdrbench crate results/reference", "tar --create"):
        assert made in run, made
    assert f"reports/reference/{FOLDER}/{PRINTED}.pdf dist/" in run
    assert run.endswith("dist/*")
