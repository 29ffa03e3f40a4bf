"""What the Snakefile asks of the package."""

import os
import shlex
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

from kdrbench.bench.batch import Bundle
from kdrbench.bench.record import append_records
from kdrbench.bench.sources import sources_of
from kdrbench.datasets.registry import load_registry
from kdrbench.reports.outputs import result_folder
from kdrbench.stages import workflow
from kdrbench.stages.config import load_grid
from kdrbench.stages.workflow import (
    be_found_by_jobs,
    bundled_data,
    check_files,
    closing_line,
    commands_of,
    data_to_await,
    grid_of,
    job_options,
    report_sources,
)
from support.configs import table_4_config, whole_config
from support.made_up import record


def snakemake(*methods, configfiles=(), main=True):
    """What the questions look at of Snakemake's workflow."""
    return SimpleNamespace(
        modifier=SimpleNamespace(is_main_snakefile=lambda: main),
        deployment_settings=SimpleNamespace(deployment_method=set(methods)),
        dryrun=True,
        config_settings=SimpleNamespace(configfiles=configfiles),
    )


ROOT = Path(__file__).parents[2]
HERE = snakemake()


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return load_grid(table_4_config()).bundles()[0]


def test_a_job_that_is_done_waits_for_no_data(bundle):
    data = "results/data/wine.npz"
    assert data_to_await(bundle) == [data]
    records = Path(f"results/runs/{bundle.path}.jsonl")
    append_records(records, [record("wine", "ism", 0, batch_sha256=bundle.batches[0].sha256)])
    assert data_to_await(bundle) == []
    Path(data).parent.mkdir(parents=True)
    Path(data).touch()
    (awaited,) = data_to_await(bundle)
    assert (awaited, awaited.flags) == (data, {"ancient": True})


@pytest.mark.parametrize("content", ["", "half a li", '{"batch_sha256": "of another"}\n', "{}\n"])
def test_a_job_whose_rows_are_another_ones_waits_for_its_data(bundle, content):
    records = Path(f"results/runs/{bundle.path}.jsonl")
    records.parent.mkdir(parents=True)
    records.write_text(content)
    assert data_to_await(bundle) == ["results/data/wine.npz"]


def options_of(budget_s=None, strict=True):
    config = table_4_config()
    config["limits"]["budget_s"], config["timing"]["strict"] = budget_s, strict
    grid = load_grid(config)
    return shlex.split(job_options(grid, grid.bundles()[0])), grid.bundles()[0]


def test_options_of_a_job_decide_when_it_runs_again():
    words, bundle = options_of()
    assert words == ["--job", bundle.to_word()]
    assert Bundle.from_word(words[1]) == bundle
    assert options_of(budget_s=90.5)[0][2:] == ["--budget-s", "90.5"]
    assert options_of(strict=False)[0][2:] == ["--untimed"]


def test_one_job_prepares_all_data_without_files():
    config = table_4_config()
    config["experiments"]["table4_supervised"]["datasets"] = ["wine", "cancer"]
    grid = load_grid(config)
    assert bundled_data(grid) == ["wine"] + ["cancer"] * load_registry()["cancer"].bundled
    grid.config["datasets"] = {"wine": {}}
    assert "wine" not in bundled_data(grid)


@pytest.mark.parametrize(
    ("configfiles", "name", "folder"),
    [
        ([], "", "results"),
        (["config.yaml"], "", "results"),
        (["config.yaml", "config.mine.yaml"], "mine", "results/mine"),
        (["config.yaml", "a folder/my own.yaml"], "my_own", "results/my_own"),
    ],
)
def test_a_configuration_is_named_after_its_overlay(configfiles, name, folder, tmp_path):
    around = snakemake(configfiles=[tmp_path / path for path in configfiles])
    grid = grid_of(table_4_config(), around, tmp_path)
    assert (grid.name, result_folder(grid.config)) == (name, folder)
    assert grid_of(table_4_config() | {"name": "said"}, around, tmp_path).name == "said"


def test_a_faulty_configuration_ends_with_one_sentence():
    with pytest.raises(WorkflowError, match="config: unknown key: 'sead'"):
        grid_of(table_4_config() | {"sead": 1}, HERE, Path())


def test_commands_run_in_snakemakes_python_or_in_condas(monkeypatch):
    monkeypatch.setattr(workflow, "files", lambda package: Path("/a {b}/src/kdrbench"))
    monkeypatch.setenv("PYTHONPATH", "/another")
    words = shlex.split(commands_of(HERE)("check {output:q}", timed=True))
    # A job that is not timed gives way to those that are.
    assert shlex.split(commands_of(HERE)("check {output:q}")) == ["nice", "-n", "19", *words]
    # Snakemake formats what it is given.
    assert words[:3] == ["env", "-u", "PYTHONDONTWRITEBYTECODE"]
    assert "PYTHONPATH=/a {{b}}/src:/another" in words
    assert "PYTHONSAFEPATH=1" in words
    assert words[-5:] == [sys.executable, "-m", "kdrbench", "check", "{output:q}"]
    assert shlex.split(commands_of(snakemake(DeploymentMethod.CONDA))("check"))[-4:] == ["python", *words[-4:-1]]


def test_jobs_are_named_their_scheduler(monkeypatch):
    monkeypatch.setenv("KDRBENCH_SCHEDULER_PID", "1")
    be_found_by_jobs()
    assert os.environ["KDRBENCH_SCHEDULER_PID"] == str(os.getpid())


def test_a_modules_configuration_overlays_the_papers():
    own = {"run": ["table4_supervised"], "experiments": {"table4_supervised": {"folds": 2}}}
    grid = grid_of(own, snakemake(main=False), ROOT)
    whole = whole_config()["experiments"]["table4_supervised"]
    (experiment,) = (grid.config["experiments"][name] for name in grid.experiments)
    assert experiment == whole | {"folds": 2, "system": "ikdr"}
    # Of the main workflow Snakemake has laid one over the other.
    with pytest.raises(WorkflowError, match=r"config: the keys .* are missing"):
        grid_of(own, HERE, ROOT)


def test_a_path_with_braces_is_refused():
    with pytest.raises(WorkflowError, match=r"the path of this checkout, /a \{x\}, holds braces"):
        check_files(HERE, Path("/a {x}"))


@pytest.mark.parametrize("name", ["published.csv", "readings.toml", "table.html.j2"])
def test_reports_depend_on_what_they_are_made_from(name, tmp_path, monkeypatch):
    shutil.copytree(Path(str(files("kdrbench.reports"))), tmp_path / "reports")
    before = report_sources(HERE, Path())

    def elsewhere(package):
        return tmp_path / "reports" if package == "kdrbench.reports" else files(package)

    monkeypatch.setattr(workflow, "files", elsewhere)
    assert report_sources(HERE, Path()) == before
    (path,) = (tmp_path / "reports").rglob(name)
    with path.open("a") as stream:
        stream.write("\n")
    assert report_sources(HERE, Path()) != before


def test_reports_depend_on_the_code_of_every_figure_and_table(monkeypatch):
    reached = []

    def followed(roots):
        sources = sources_of(roots)
        reached.extend(sources.modules)
        return sources

    monkeypatch.setattr(workflow, "sources_of", followed)
    report_sources(HERE, Path())
    root = Path(str(files("kdrbench")))
    modules = {path.relative_to(root).with_suffix("") for path in (root / "reports").rglob("[!_]*.py")}
    assert len(modules) > 20
    assert {".".join(("kdrbench", *module.parts)) for module in modules} <= set(reached)


def test_only_a_real_start_writes_its_plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    around = snakemake()
    grid = grid_of(table_4_config(), around, Path())
    assert not list(tmp_path.iterdir())
    around.dryrun = False
    grid_of(table_4_config(), around, Path())
    plans = {path.stem for path in (tmp_path / "results" / ".workspace" / "sources").iterdir()}
    assert plans == {batch.sources_sha256 for batch in grid.batches()}


def test_under_conda_the_files_of_the_environments_count(tmp_path):
    (tmp_path / "envs").mkdir()
    for name in ("run.yaml", "report.yaml"):
        (tmp_path / "envs" / name).write_text("dependencies: [numpy=1]")
    conda = snakemake(DeploymentMethod.CONDA)

    def hashes(workflow):
        return grid_of(table_4_config(), workflow, tmp_path).batches()[0].sha256, report_sources(workflow, tmp_path)

    before, here = hashes(conda), hashes(HERE)
    assert before == hashes(conda)
    assert not set(before) & set(here)
    (tmp_path / "envs" / "report.yaml").write_text("dependencies: [numpy=2]")
    assert hashes(conda)[0] == before[0]
    assert hashes(conda)[1] != before[1]
    (tmp_path / "envs" / "run.yaml").write_text("dependencies: [numpy=2]")
    assert hashes(conda)[0] != before[0]


# What every start of the workflow does, one for each job on a cluster among them.
START = """
import sys
from pathlib import Path
import kdrbench.reports.captions, kdrbench.stages.workflow
from kdrbench.stages.config import load_grid
from kdrbench.stages.config_file import read_config_file
config = read_config_file(Path(sys.argv[1]))
load_grid(config | {"run": ["table4_supervised"]})
print(sorted({"matplotlib", "numba", "pandas", "sklearn"} & set(sys.modules)))
"""


@pytest.mark.slow("starts Snakemake")
def test_a_start_loads_no_package_that_only_jobs_need():
    words = [sys.executable, "-c", START, ROOT / "config.yaml"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_last_line_says_where_reports_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert closing_line("results/mine", "reports/mine") == ""
    Path("reports/mine").mkdir(parents=True)
    said = "tables and figures are in reports/mine: `kdrbench where --results results/mine` lists them."
    assert closing_line("results/mine", "reports/mine") == f"kdrbench: {said}"
    Path("reports/mine/dashboard.html").touch()
    assert closing_line("results/mine", "reports/mine").startswith(
        "kdrbench: reports/mine/dashboard.html shows all of it"
    )
