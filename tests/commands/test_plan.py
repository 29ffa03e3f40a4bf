"""`kdrbench plan` and `kdrbench list`: pages, or JSON, and nothing run."""

import json
from pathlib import Path

import pytest
import yaml

from kdrbench.datasets import load_registry
from support.command_line import kdrbench

ROOT = Path(__file__).parents[2]
# Redrawn partitions, which the tables of folds show beside them.
REDRAWN = {f"table4_{one}" for one in ("published_protocol", "polynomial_published", "partitions", "partitions_rivals")}
REDRAWN |= {"table4_partitions_face", "table4_partitions_mnist", "table5_partitions", "table5_partitions_face"}
REDRAWN |= {f"authors_table4_{one}" for one in ("wine", "cancer", "wine_completed", "face_partitions", "cancer_random")}
REDRAWN |= {"authors_table5", "table5_published_protocol"}
_CONFIGS = ("config.yaml", "config.demo.yaml", "config.papers.yaml")


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """The command in a folder that holds the configurations alone; afterwards it holds no more."""
    for name in _CONFIGS:
        (tmp_path / name).write_text((ROOT / name).read_text())
    monkeypatch.chdir(tmp_path)
    yield lambda *words: kdrbench("plan", *words)
    assert {path.name for path in tmp_path.iterdir()} == {*_CONFIGS}


def test_a_page_with_a_line_for_each_experiment(plan):
    done = plan("--config", "config.demo.yaml")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert " ".join(lines[0].split()) == "experiment runs to make core-hours at most"
    assert lines[1].split()[:3] == ["demo_supervised", "190", "190"]
    assert next(line for line in lines if line.startswith("all ")).split()[1:3] == ["409", "409"]
    assert "Costs of 0 of 409 runs are measured in their cells, the others estimated." in lines
    assert len(lines) < 25
    assert max(map(len, lines)) < 100


def test_chosen_experiments_as_json(plan):
    done = plan("demo_scaling", "--config", "config.demo.yaml", "--json")
    # The atlas charts other problems.
    (one,) = json.loads(done.output)["experiments"]
    assert (one["experiment"], one["runs"], one["to_make"]) == ("demo_scaling", 12, 12)
    assert 0 < one["core_s"] < one["most_core_s"]
    # `snakemake demo_supervised` makes it too: figures show gaps to its best known costs.
    done = plan("demo_supervised", "--config", "config.demo.yaml", "--json")
    assert "atlas_demo" in {one["experiment"] for one in json.loads(done.output)["experiments"]}


@pytest.mark.parametrize(
    ("target", "experiments"),
    [
        ("kpca_table1", {"kpca_tables"}),
        ("ismplus_table4", {"scaling", *(f"scaling_{part}" for part in ("32000", "factored", "d", "q2", "q8", "q16"))}),
        pytest.param("table4_supervised", {"table4_supervised", *REDRAWN}, marks=pytest.mark.whole),
    ],
)
def test_a_target_is_planned_with_all_it_waits_for(plan, target, experiments):
    done = plan(target, "--json")
    assert done.exit_code == 0, done.output
    assert {one["experiment"] for one in json.loads(done.output)["experiments"]} == experiments


def test_experiments_outside_the_run_are_planned_by_name(plan):
    done = plan("noise", "--json")
    assert done.exit_code == 0, done.output
    # 200 draws of three methods, and 20 of a slow one.
    (one,) = json.loads(done.output)["experiments"]
    assert (one["experiment"], one["runs"]) == ("noise", 3 * 200 + 20)


def test_an_experiment_of_ones_own_needs_no_checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert kdrbench("new", "experiment", "mine").exit_code == 0
    done = kdrbench("plan", "--config", "config.mine.yaml", "--json")
    assert done.exit_code == 0, done.output
    assert [one["experiment"] for one in json.loads(done.output)["experiments"]] == ["mine"]


def test_faults_end_with_one_sentence(plan):
    for words, said in (
        (["demo_scalin", "--config", "config.demo.yaml"], "Did you mean 'demo_scaling'?"),
        (["neurips2019_tabel4"], "or target 'neurips2019_tabel4'. Did you mean 'neurips2019_table4'?"),
        (["--config", "config.mine.yaml"], "there is no configuration config.mine.yaml"),
    ):
        done = plan(*words)
        assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
        assert said in done.stderr


@pytest.mark.whole
def test_the_record_of_the_papers_takes_31_core_hours(plan):
    done = plan("--config", "config.papers.yaml", "--json")
    assert done.exit_code == 0, done.output
    experiments = json.loads(done.output)["experiments"]
    run = yaml.safe_load((ROOT / "config.yaml").read_text())["run"]
    last = ["league_small", "league_small_tuned", "noise", "atlas"]
    assert [one["experiment"] for one in experiments] == [*run, *last]
    assert round(sum(one["core_s"] for one in experiments) / 3600) == 31


def test_list_names_everything_with_a_line_on_each():
    said = json.loads(kdrbench("list", "--json", "--config", ROOT / "config.yaml").output)
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
