"""What the Snakefile asks of the package."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from kdrbench.bench.experiment import ALTERNATIVE, Config, is_scaling, runs_of
from kdrbench.bench.grid import Grid
from kdrbench.bench.lowrank_batch import LowrankBatch
from kdrbench.bench.metric_batch import MetricBatch
from kdrbench.bench.plan import Bundle
from kdrbench.bench.record import read_records
from kdrbench.bench.rows import RecordError
from kdrbench.bench.sources import sources_of
from kdrbench.bench.supervisor import SCHEDULER_VARIABLE
from kdrbench.bench.terms import Terms
from kdrbench.datasets.picture import is_picture
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import ConfigError

_REPORT_DATA = (".css", ".csv", ".j2", ".js", ".toml")
# Every figure is written as these; the last is its data, which the dashboard draws anew.
FIGURE_KINDS = ("pdf", "png", "json")


def load_grid(config: Config, workflow: Any) -> Grid:
    """Return the grid of a configuration, or let Snakemake end with one sentence on what is wrong with it."""
    from snakemake.exceptions import WorkflowError

    try:
        return Grid(config, environment_of(workflow, "ikdr.yaml"))
    except ConfigError as error:
        raise WorkflowError(str(error)) from None


def environment_of(workflow: Any, name: str) -> Path | None:
    """Return the file of the conda environment that jobs run in, or ``None`` if they run in Snakemake's own."""
    from snakemake.settings.types import DeploymentMethod

    conda = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
    return Path(workflow.basedir) / "envs" / name if conda else None


def report_sources(workflow: Any) -> str:
    """Return a hash of all that makes tables and figures of rows: code, templates, published numbers, reasons.

    Where reports are made in a conda environment, its file is a part of that.
    """
    folder = Path(str(files("kdrbench.reports")))
    commands = [f"kdrbench.reports.{path.stem}" for path in sorted(folder.glob("*commands.py"))]
    records = [f"kdrbench.bench.{name}" for name in ("merge", "metric_record", "lowrank_record")]
    digest = hashlib.sha256(sources_of([*commands, *records]).sha256.encode())
    if environment := environment_of(workflow, "report.yaml"):
        digest.update(environment.read_bytes())
    for path in sorted(folder.rglob("*")):
        if path.suffix in _REPORT_DATA:
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def shell_prefix(workflow: Any) -> str:
    """Return what each shell command begins with, so that ``python -m kdrbench`` means this checkout.

    Without a software deployment method the commands run in the Python that runs Snakemake, whether or not
    its environment is activated; within a conda environment that environment's Python is the right one.
    """
    path = os.pathsep.join(filter(None, [str(Path(workflow.basedir) / "src"), os.environ.get("PYTHONPATH")]))
    # Without byte code every job would compile what it imports, which takes thrice the time.
    prefix = f"set -euo pipefail; unset PYTHONDONTWRITEBYTECODE; export PYTHONPATH={shlex.quote(path)}; "
    prefix += f"export {SCHEDULER_VARIABLE}={os.getpid()}; "
    if not workflow.deployment_settings.deployment_method:
        prefix += f'export PATH={shlex.quote(str(Path(sys.executable).parent))}:"$PATH"; '
    # Snakemake formats the prefix: braces of a path are not placeholders.
    return prefix.replace("{", "{{").replace("}", "}}")


def data_to_await(batch: Bundle | MetricBatch | LowrankBatch, folder: str = "results/runs") -> list[str]:
    """Return the prepared data file that a job, whose records lie in ``folder``, has to wait for.

    For a job that is done, only if the file is there, and marked so that its age does not count: Snakemake reruns
    whatever depends on a file that is made again, and a batch names the SHA-256 of its data anyhow. For any other job
    not marked: beside a marked file that is to be made, Snakemake overlooks that the job itself has changed.
    """
    from snakemake.io import ancient

    data, records = f"results/data/{batch.dataset}.npz", Path(f"{folder}/{batch.path}.jsonl")
    if not _made_for(batch, records):
        return [data]
    return [ancient(data)] if Path(data).exists() else []


def _made_for(batch: Bundle | MetricBatch | LowrankBatch, records: Path) -> bool:
    parts = batch.batches if isinstance(batch, Bundle) else (batch,)
    try:
        lines = records.read_text(encoding="utf-8").splitlines()
        return {json.loads(line)["batch_sha256"] for line in lines} == {part.sha256 for part in parts}
    except (OSError, ValueError, KeyError):
        return False


def job_options(grid: Grid, bundle: Bundle) -> str:
    """Return the options, as a shell reads them, by which a job is told what it makes: a changed one makes it run."""
    words = {"spec": bundle.to_json(), "terms": terms_of(grid, bundle), "state": f"results/.state/{bundle.path}"}
    return shlex.join(f"--{name}={word}" for name, word in words.items())


def terms_of(grid: Grid, bundle: Bundle) -> str:
    """Return the terms on which a job is to be run; those it was run on if its rows need not be made again.

    Snakemake reruns a job when they differ from those of its last run, which are those of the row that was made last;
    but of a job that holds a row that was not timed, whoever made the others, times are not asked.
    """
    asked, known = grid.terms(bundle.experiment), {batch.sha256 for batch in bundle.batches}
    try:
        rows = read_records(Path(f"results/runs/{bundle.path}.jsonl"))
    except (OSError, RecordError):
        return asked.to_json()
    rows = [row for row in rows if row.batch_sha256 in known]
    if {row.batch_sha256 for row in rows} != known or not asked.met_by(rows):
        return asked.to_json()
    last = max(rows, key=lambda row: row.started_at)
    return Terms(all(row.timed for row in rows), last.budget_s).to_json()


def records_of(grid: Grid, experiment: str | None = None) -> list[str]:
    """Return the files of records of one experiment, or of all, and of what their jobs say when they have ended well.

    Snakemake puts the records back that a job has failed to update; that its summary is missing tells.
    """
    return [f"results/runs/{bundle.path}.{kind}" for bundle in grid.bundles(experiment) for kind in ("jsonl", "json")]


def traces_of(grid: Grid, experiment: str | None = None) -> list[str]:
    """Return the files of traces of one experiment, or of all."""
    return [f"results/traces/{bundle.path}.jsonl" for bundle in grid.bundles(experiment)]


def overall_reports() -> list[str]:
    """Return the reports on all that the configuration runs."""
    tables = [f"reports/paired_tests.{kind}" for kind in ("tex", "html", "csv", "json")]
    profile = [f"reports/figures/performance_profile.{kind}" for kind in FIGURE_KINDS]
    lists = [
        "reports/claims.html",
        "reports/claims.json",
        "reports/published_vs_ours.csv",
        "reports/published_vs_ours.html",
    ]
    return tables + profile + lists


def dashboard_parts(reports: list[str]) -> list[str]:
    """Return the figures, tables and claims that the dashboard shows beside what it makes of the runs itself."""
    return [path for path in reports if path.endswith(".json")]


def findings_of(grid: Grid, experiment: str) -> list[str]:
    """Return the files of what the runs of one experiment found."""
    return [f"results/findings/{bundle.path}.npz" for bundle in grid.bundles(experiment)]


def prepared_of(grid: Grid, experiment: str) -> list[str]:
    """Return the prepared data files of one experiment."""
    return [f"results/data/{name}.npz" for name in grid.config["experiments"][experiment]["datasets"]]


def pictures_of(grid: Grid, experiment: str) -> list[str]:
    """Return the images of one experiment, whose colours are samples."""
    datasets, registry = grid.config["experiments"][experiment]["datasets"], load_registry()
    return [f"results/data/{name}.png" for name in datasets if is_picture(registry[name])]


def figures_of(grid: Grid, experiment: str) -> list[str]:
    """Return the figures of one experiment.

    Calls of oracles are counted where there is one problem a run; to compare projections there must be several runs;
    segments are shown where the experiment has an image.
    """
    definition = grid.config["experiments"][experiment]
    names = ["cost_against_time", "scatter"]
    names += ["cost_against_calls"] if definition["paradigm"] == "supervised" else []
    names += ["loadings"] if runs_of(definition) > 1 else []
    figures = [f"reports/figures/{experiment}_{name}.{kind}" for name in names for kind in FIGURE_KINDS]
    if definition["paradigm"] == ALTERNATIVE and pictures_of(grid, experiment):
        figures += [f"reports/figures/{experiment}_segmentation.{kind}" for kind in FIGURE_KINDS]
    return figures


def reports_of(grid: Grid, target: str = "") -> list[str]:
    """Return tables and figures of the experiments whose names begin with ``target``; typeset where a TeX is installed.

    Lets Snakemake end with one sentence when there is none.
    """
    from snakemake.exceptions import WorkflowError

    chosen = [name for name in grid.experiments if name.startswith(target)]
    if not chosen:
        raise WorkflowError(
            f"no experiment of `run` begins with {target!r}; it lists: {', '.join(grid.experiments)}. Those of the "
            "demo come with --configfile config.demo.yaml"
        )
    kinds = ["tex", "html", "csv"] + (["pdf"] if shutil.which("pdflatex") else [])
    tables = [f"reports/{name}.{kind}" for name in chosen for kind in kinds]
    return tables + [figure for name in chosen for figure in figures_of(grid, name)]


def scaling_runs_of(grid: Grid) -> list[str]:
    """Return the merged tables of the experiments that measure time against size."""
    return [f"results/merged/{name}.csv" for name in grid.experiments if is_scaling(name)]


def scaling_reports_of(grid: Grid) -> list[str]:
    """Return the figure of time against size and the table of exponents, where there is something to draw."""
    if not scaling_runs_of(grid):
        return []
    tables = [f"reports/complexity.{kind}" for kind in ("tex", "html", "csv", "json")]
    return tables + [f"reports/figures/scaling.{kind}" for kind in FIGURE_KINDS]


def claim_records_of(grid: Grid) -> dict[str, str]:
    """Return the tables from which claims are decided: those of the parts that the configuration has."""
    asked = {"kpca": "datasets", "lowrank": "run"}
    parts = [name for name, key in asked.items() if grid.config.get(name, {}).get(key)]
    records = {name: f"results/{name}.csv" for name in ("runs", *parts)}
    if "kpca" in parts and grid.config["kpca"].get("figures"):
        records["tricks"] = "reports/figures/kpca_figure5.json"
    return records
