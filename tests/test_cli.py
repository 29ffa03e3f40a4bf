import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from kdrbench.datasets import load_dataset, load_prepared
from kdrbench.suite import cli
from kdrbench.suite.cli import main
from kdrbench.suite.engine.batch import Bundle, Order
from kdrbench.suite.engine.record import read_records
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.systems.ikdr.system import IKDRRecord

ROOT = Path(__file__).parents[1]


def kdrbench(*words, **options):
    command = [sys.executable, "-m", "kdrbench", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_prepare_writes_a_data_set(tmp_path):
    done = CliRunner().invoke(main, ["prepare", "wine", "--out", str(tmp_path / "wine.npz")])
    assert (done.exit_code, done.stdout) == (
        0,
        f"wine: 178 samples, 13 features, 3 classes -> {tmp_path / 'wine.npz'}\n",
    )
    assert load_prepared(tmp_path / "wine.npz").content_sha256 == load_dataset("wine").content_sha256


def test_an_error_is_one_sentence_and_exit_code_two(tmp_path):
    done = kdrbench("prepare", "wines", "--out", tmp_path / "wines.npz")
    assert done.returncode == 2
    said = r"kdrbench: unknown data set 'wines'\. Did you mean 'wine'\? Allowed: .*, and \d+ more\.\n"
    assert re.fullmatch(said, done.stderr)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chek", "mine.py"], "Error: unknown command 'chek'. Did you mean 'check'? Allowed: "),
        (["--chek"], "No such option"),
        (
            ["batch", "order.json", "--data", "d", "--results", "r", "--memory-limit-mib", "1", "--time-limit-s", "0"],
            "Invalid value for '--time-limit-s': 0.0 is not in the range x>0.",
        ),
    ],
)
def test_mistyped_words_are_refused_before_anything_runs(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


def test_commands_are_listed_by_section():
    listed = kdrbench("--help").stdout
    assert [title for title in re.findall(r"^(\w+):$", listed, re.M) if title != "Options"] == list(cli._SECTIONS)
    for commands in cli._SECTIONS.values():
        assert all(re.search(rf"^  {name} +[A-Z]", listed, re.M) for name in commands)
    context = click.Context(cli.main)
    assert all(cli.main.get_command(context, name) for name in cli.main.list_commands(context))


def test_the_readme_shows_what_happens(capsys):
    code = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S))
    exec(compile(code, "README.md", "exec"), {})
    promised = re.findall(r"# (-[\d.]+)", code)
    assert re.findall(r"[-\d.]+", capsys.readouterr().out) == promised == ["-1628.14"]


@pytest.mark.whole
def test_a_batch_started_by_hand_uses_the_threads_given(tmp_path):
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    batch = replace(load_grid(config).batches("table4_supervised")[0], runs=(0,))
    kdrbench("prepare", "wine", "--out", tmp_path / "wine.npz")
    limits = ["--time-limit-s", "30", "--memory-limit-mib", "1024", "--repeat-for-s", "0"]
    # Snakemake would set these; a user's shell does not. Numpy reads them when it is loaded.
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    files = ["--data", tmp_path, "--results", tmp_path]
    order = Order(Bundle(batch.path, (batch,))).write(tmp_path / "order.json")
    words = [order, *files, *limits, "--threads", "1"]
    done = kdrbench("batch", *words, env=environment)
    assert done.returncode == 0, done.stderr
    (record,) = read_records(tmp_path / "runs" / f"{batch.path}.jsonl", IKDRRecord)
    made = record.provenance
    assert (record.status, made.blas_threads, made.cores.count(",")) == ("converged", 1, 0)
