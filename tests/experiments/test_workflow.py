"""What the Snakefile asks of the package, the checks of plug-ins among it."""

import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.settings.types import DeploymentMethod

from kdrbench.datasets.registry import load_registry
from kdrbench.suite.engine.batch import Order, order_path, read_order
from kdrbench.suite.engine.identity import Requirements
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.record import append_records, read_records, write_records
from kdrbench.suite.experiments import workflow
from kdrbench.suite.experiments.config import checked, load_grid
from kdrbench.suite.experiments.workflow import (
    bundled_data,
    closing_line,
    commands_of,
    data_to_await,
    grid_of,
    kept_line,
    plugin_checks,
    report_sources,
    start,
)
from kdrbench.suite.reports.outputs import result_folder
from support.command_line import kdrbench
from support.configs import changed_config, table_4_config, whole_config
from support.made_up import record
from support.made_up_results import two_experiments, write_results
from support.own_methods import SOLVER, write_all


def snakemake(*methods, configfiles=(), main=True):
    """What the questions look at of Snakemake's workflow."""
    return SimpleNamespace(
        modifier=SimpleNamespace(is_main_snakefile=lambda: main),
        deployment_settings=SimpleNamespace(deployment_method=set(methods)),
        dryrun=True,
        config_settings=SimpleNamespace(configfiles=configfiles, config={}),
        dag=SimpleNamespace(forcefiles=set()),
    )


ROOT = Path(__file__).parents[2]
HERE = snakemake()
GRID = load_grid(table_4_config())


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return load_grid(table_4_config()).bundles()[0]


def test_a_job_that_is_done_waits_for_no_data(bundle):
    data = "results/data/wine.npz"
    assert data_to_await(HERE, bundle, frozenset()) == [data]
    records = Path(f"results/runs/{bundle.path}.jsonl")
    append_records(records, [record("wine", "ism", 0)])
    assert data_to_await(HERE, bundle, frozenset()) == []
    Path(data).parent.mkdir(parents=True)
    Path(data).touch()
    (awaited,) = data_to_await(HERE, bundle, frozenset())
    assert (awaited, awaited.flags) == (data, {"ancient": True})


def test_a_job_out_of_date_is_forced_and_waits_for_its_data(bundle):
    around, records = snakemake(), f"results/runs/{bundle.path}.jsonl"
    append_records(Path(records), [record("wine", "ism", 0)])
    assert data_to_await(around, bundle, frozenset({bundle.path})) == ["results/data/wine.npz"]
    assert around.dag.forcefiles == {records}


def test_a_start_writes_orders_and_a_dry_run_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KDRBENCH_SCHEDULER_PID", "1")
    config = table_4_config()
    config["timing"]["strict"] = False
    around, grid = snakemake(), load_grid(config)
    assert start(around, grid, ROOT, "results/mine") == frozenset()
    assert not list(tmp_path.iterdir())
    around.dryrun = False
    start(around, grid, ROOT, "results/mine")
    assert os.environ["KDRBENCH_SCHEDULER_PID"] == str(os.getpid())
    assert json.loads(Path("results/mine/config.json").read_text()) == grid.config
    (bundle, *_) = grid.bundles()
    assert read_order(order_path(Path("results"), bundle.path)) == Order(bundle, False)


def test_a_stale_job_of_an_unpacked_record_makes_its_stale_runs_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KDRBENCH_SCHEDULER_PID", "1")
    grid = write_results(tmp_path / "results", two_experiments(), timed=True)
    bundle = grid.bundles("first")[0]
    files, kind = JobFiles.of(Path("results"), bundle.path), grid.system("first").record
    rows = read_records(files.records, kind)
    rows[1] = replace(rows[1], provenance=replace(rows[1].provenance, revisions="{}"))
    write_records(files.records, rows)
    unread = JobFiles.of(Path("results"), grid.bundles("second")[0].path).records
    unread.write_text("no rows\n")
    around = snakemake()
    around.dryrun = False
    assert bundle.path in start(around, grid, ROOT, "results")
    (batch,) = bundle.batches
    limits = Limits(time_s=10.0, memory_mib=1000)
    with files.workspace(batch, kind).claimed(batch, limits, Requirements(timed=True)) as usable:
        assert usable == set(batch.runs) - {rows[1].run}


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


def test_a_faulty_configuration_ends_with_one_sentence(capsys):
    with pytest.raises(SystemExit, match="2"):
        grid_of(table_4_config() | {"sead": 1}, HERE, Path())
    assert capsys.readouterr().err.startswith("kdrbench: config: unknown key: 'sead'")


def test_braces_are_text():
    title = "{x} {wildcards} {{"
    grid = grid_of(changed_config("experiments.table4_supervised.title", title), HERE, ROOT)
    assert grid.config["experiments"]["table4_supervised"]["title"] == title


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


def test_a_modules_configuration_overlays_the_papers(capsys):
    own = {"run": ["table4_supervised"], "experiments": {"table4_supervised": {"folds": 2}}}
    grid = grid_of(own, snakemake(main=False), ROOT)
    whole = whole_config()["experiments"]["table4_supervised"]
    (experiment,) = (grid.config["experiments"][name] for name in grid.experiments)
    assert experiment == whole | {"folds": 2, "system": "ikdr"}
    # Of the main workflow Snakemake has laid one over the other.
    with pytest.raises(SystemExit, match="2"):
        grid_of(own, HERE, ROOT)
    assert "config: the keys 'seed', " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["reports/published.csv", "reports/html.py", "solvers/ism.py"])
def test_reports_depend_on_every_file_of_the_package(name, tmp_path, monkeypatch):
    for place in ("reports/published.csv", "reports/html.py", "solvers/ism.py"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).touch()
    monkeypatch.setattr(workflow, "files", lambda package: tmp_path)
    before = report_sources(HERE, GRID, Path())
    (tmp_path / "solvers" / "__pycache__").mkdir()
    (tmp_path / "solvers" / "__pycache__" / "sweeps.nbi").write_text("machine code")
    assert report_sources(HERE, GRID, Path()) == before
    assert report_sources(HERE, load_grid(table_4_config() | {"seed": 7}), Path()) != before
    (tmp_path / name).write_text("changed")
    assert report_sources(HERE, GRID, Path()) != before


def test_under_conda_the_file_of_the_environment_of_reports_counts(tmp_path):
    (tmp_path / "envs").mkdir()
    environment = tmp_path / "envs" / "report.yaml"
    environment.write_text("dependencies: [numpy=1]")
    before = report_sources(snakemake(DeploymentMethod.CONDA), GRID, tmp_path)
    assert before != report_sources(HERE, GRID, tmp_path)
    environment.write_text("dependencies: [numpy=2]")
    assert report_sources(snakemake(DeploymentMethod.CONDA), GRID, tmp_path) != before


# What every start of the workflow does, one for each job on a cluster among them.
START = """
import sys
from pathlib import Path
import kdrbench.suite.reports.outputs, kdrbench.suite.experiments.workflow
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.experiments.config_file import lay_over, read_config_file
assert len(load_grid(lay_over(*map(read_config_file, map(Path, sys.argv[1:])))).batches()) > 50
print(sorted({"matplotlib", "numba", "pandas", "sklearn"} & set(sys.modules)))
"""


@pytest.mark.slow("starts Snakemake")
def test_a_start_loads_no_package_that_only_jobs_need():
    words = [sys.executable, "-c", START, ROOT / "config.yaml", ROOT / "config.demo.yaml"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_last_line_says_where_reports_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert closing_line("results/mine", "reports/mine") == ""
    Path("reports/mine").mkdir(parents=True)
    where = "tables and figures are in reports/mine; `kdrbench status results/mine` sums them up."
    assert closing_line("results/mine", "reports/mine") == f"kdrbench: {where}"
    Path("reports/mine/dashboard.html").touch()
    assert closing_line("results/mine", "reports/mine").startswith(
        "kdrbench: reports/mine/dashboard.html shows all of it"
    )


def test_a_stopped_workflow_says_what_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    goes_on = "have ended and are kept; the same command goes on with what is left."
    assert kept_line(load_grid(two_experiments())) == f"kdrbench: 0 of 8 runs {goes_on}"
    write_results(Path("results"), two_experiments(), timed=True)
    assert kept_line(load_grid(two_experiments())) == f"kdrbench: 8 of 8 runs {goes_on}"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_all(tmp_path)
    return tmp_path


def own_config():
    config = table_4_config()
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"datasets": ["wine", "blobs"], "components": {"wine": 4, "blobs": 2}, "baselines": []}
    experiment |= {"kernels": ["gaussian", "both"], "solvers": ["ism", "mine", "finer"]}
    config["datasets"] = {"blobs": {"loader": "my_data.py", "n_samples": 45}}
    config["kernels"]["both"] = {
        "family": "combination",
        "members": [{"family": "my_kernel.py", "scale": 2.0, "weight": 0.5}, {"family": "gaussian"}],
    }
    config["solvers"]["mine"] = {"method": "my_solver.py", "start": "random", "starts": 2}
    config["solvers"]["finer"] = {"method": "my_solver.py:Mine", "step": 1e-5}
    config["solvers"]["not_run"] = {"method": "my_solver.py", "step": 3.0}
    return config


def test_every_plug_in_is_checked_once_with_its_options(here):
    checks = plugin_checks(checked(own_config()))
    assert {(one.kind, one.name, one.options) for one in checks.values()} == {
        ("dataset", "my_data.py", '{"n_samples": 45}'),
        ("kernel", "my_kernel.py", '{"scale": 2.0}'),
        ("solver", "my_solver.py", "{}"),
        ("solver", "my_solver.py:Mine", '{"step": 1e-05}'),
    }
    assert all(name == one.file and len(name) < 100 for name, one in checks.items())
    assert plugin_checks(checked(table_4_config())) == {}


def test_learners_are_asked_too(here):
    config = table_4_config()
    experiment = config["experiments"]["table4_supervised"] | {"learners": ["nca", "my_learner.py"], "solvers": []}
    (check,) = plugin_checks(config | {"experiments": {"table4_supervised": experiment}}).values()
    assert (check.kind, check.name) == ("metric-learner", "my_learner.py")


def test_a_plugin_is_asked_again_once_its_file_changes(here):
    def hashes():
        return {one.name: one.sources_sha256 for one in plugin_checks(checked(own_config())).values()}

    before = hashes()
    assert hashes() == before
    (here / "my_solver.py").write_text(SOLVER.replace("range(5)", "range(6)"))
    after = hashes()
    assert {name for name in before if before[name] != after[name]} == {"my_solver.py", "my_solver.py:Mine"}


def test_what_is_asked_ends_well_and_leaves_the_faults(here):
    faulty = SOLVER.replace("].copy()", "] * (1 + self.step)")
    (here / "my_solver.py").write_text(faulty)
    check = next(one for one in plugin_checks(checked(own_config())).values() if one.name == "my_solver.py:Mine")
    done = kdrbench("check", "--out", "found.json", *shlex.split(check.words))
    assert done.exit_code == 0, done.output
    said = json.loads((here / "found.json").read_text())
    assert (said["plugin"], said["kind"], said["faults"]) == ("my_solver.py:Mine", "solver", 1)
    assert "not orthonormal" in said["findings"][1]["fault"]
