"""What the Snakefile asks of the package."""

import shutil
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.settings.types import DeploymentMethod

from configs import table_4_config, whole_config
from kdrbench.bench import workflow
from kdrbench.bench.grid import Grid
from kdrbench.bench.record import append_record
from kdrbench.bench.workflow import dashboard_parts, data_to_await, figures_of, load_grid, report_sources
from made_up import record


def snakemake(folder=Path(), *methods):
    """What the questions look at of Snakemake's workflow."""
    return SimpleNamespace(basedir=folder, deployment_settings=SimpleNamespace(deployment_method=set(methods)))


HERE = snakemake()


@pytest.fixture
def batch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Grid(table_4_config()).bundles()[0]


def test_a_batch_that_is_done_waits_for_no_data(batch):
    data = "results/data/wine.npz"
    assert data_to_await(batch) == [data]
    records = Path(f"results/runs/{batch.path}.jsonl")
    append_record(records, record("wine", "ism", 0, batch_sha256=batch.batches[0].sha256))
    assert data_to_await(batch) == []
    Path(data).parent.mkdir(parents=True)
    Path(data).touch()
    assert data_to_await(batch) == [data]


@pytest.mark.parametrize("content", ["", "half a li", '{"batch_sha256": "of another"}\n'])
def test_a_batch_whose_rows_are_another_ones_waits_for_its_data(batch, content):
    records = Path(f"results/runs/{batch.path}.jsonl")
    records.parent.mkdir(parents=True)
    records.write_text(content)
    assert data_to_await(batch) == ["results/data/wine.npz"]


@pytest.mark.parametrize("name", ["published.csv", "readings.toml", "table.html.j2"])
def test_reports_depend_on_what_they_are_made_from(name, tmp_path, monkeypatch):
    shutil.copytree(Path(str(files("kdrbench.reports"))), tmp_path / "reports")
    before = report_sources(HERE)
    monkeypatch.setattr(workflow, "files", lambda package: tmp_path / "reports")
    assert report_sources(HERE) == before
    with (tmp_path / "reports" / name).open("a") as stream:
        stream.write("\n")
    assert report_sources(HERE) != before


def test_under_conda_the_files_of_the_environments_count(tmp_path):
    (tmp_path / "envs").mkdir()
    for name in ("ikdr.yaml", "report.yaml"):
        (tmp_path / "envs" / name).write_text("dependencies: [numpy=1]")
    conda = snakemake(tmp_path, DeploymentMethod.CONDA)

    def hashes(workflow):
        return load_grid(table_4_config(), workflow).batches()[0].sha256, report_sources(workflow)

    before, here = hashes(conda), hashes(HERE)
    assert before == hashes(conda)
    assert not set(before) & set(here)
    (tmp_path / "envs" / "report.yaml").write_text("dependencies: [numpy=2]")
    assert hashes(conda)[0] == before[0]
    assert hashes(conda)[1] != before[1]
    (tmp_path / "envs" / "ikdr.yaml").write_text("dependencies: [numpy=2]")
    assert hashes(conda)[0] != before[0]


def test_the_dashboard_shows_every_figure_of_the_papers_grid_pictures_too():
    grid = Grid(whole_config())
    figures = [path for name in grid.experiments for path in figures_of(grid, name)]
    stems = {path.rpartition(".")[0] for path in figures}
    assert "reports/figures/figure1a_segmentation" in stems
    assert set(figures) == {f"{stem}.{kind}" for stem in stems for kind in ("pdf", "png", "json")}
    assert set(dashboard_parts(figures)) == {f"{stem}.json" for stem in stems}
