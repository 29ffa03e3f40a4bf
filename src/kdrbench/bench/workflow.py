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

from kdrbench.bench.experiment import ALTERNATIVE, Config, runs_of
from kdrbench.bench.grid import Batch, Grid
from kdrbench.bench.sources import sources_of
from kdrbench.datasets.picture import is_picture
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import ConfigError

# Jobs end when the Snakemake process that this names is gone, so that a killed one leaves no runs behind.
SCHEDULER_VARIABLE = "KDRBENCH_SCHEDULER_PID"
_REPORT_MODULES = ("kdrbench.reports.commands", "kdrbench.reports.figure_commands", "kdrbench.bench.record")
_REPORT_DATA = (".css", ".csv", ".j2", ".js", ".toml")
# Every figure is written as these; the last is its data, which the dashboard draws anew.
FIGURE_KINDS = ("pdf", "png", "json")


def load_grid(config: Config) -> Grid:
    """Return the grid of a configuration, or let Snakemake end with one sentence on what is wrong with it."""
    from snakemake.exceptions import WorkflowError

    try:
        return Grid(config)
    except ConfigError as error:
        raise WorkflowError(str(error)) from None


def report_sources() -> str:
    """Return a hash of all that makes tables and figures of rows: code, templates, published numbers, reasons."""
    digest = hashlib.sha256(sources_of(_REPORT_MODULES).sha256.encode())
    for path in sorted(Path(str(files("kdrbench.reports"))).rglob("*")):
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


def data_to_await(batch: Batch) -> list[str]:
    """Return the prepared data file that a batch has to wait for.

    None where this very batch is done and only its data file is gone: Snakemake reruns whatever depends on a file
    that is made again, even an `ancient` one, and a batch names the SHA-256 of its data anyhow.
    """
    data, records = f"results/data/{batch.dataset}.npz", Path(f"results/runs/{batch.path}.jsonl")
    return [] if not Path(data).exists() and _made_for(batch, records) else [data]


def _made_for(batch: Batch, records: Path) -> bool:
    try:
        first = records.read_text(encoding="utf-8").partition("\n")[0]
        return bool(json.loads(first)["batch_sha256"] == batch.sha256)
    except (OSError, ValueError, KeyError):
        return False


def records_of(grid: Grid, experiment: str | None = None) -> list[str]:
    """Return the files of records of one experiment, or of all."""
    return [f"results/runs/{batch.path}.jsonl" for batch in grid.batches(experiment)]


def traces_of(grid: Grid, experiment: str | None = None) -> list[str]:
    """Return the files of traces of one experiment, or of all."""
    return [f"results/traces/{batch.path}.jsonl" for batch in grid.batches(experiment)]


def findings_of(grid: Grid, experiment: str) -> list[str]:
    """Return the files of what the runs of one experiment found."""
    return [f"results/findings/{batch.path}.npz" for batch in grid.batches(experiment)]


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
        figures += [f"reports/figures/{experiment}_segmentation.{kind}" for kind in ("pdf", "png")]
    return figures


def dashboard_parts(grid: Grid) -> list[str]:
    """Return the figures and tables that the dashboard shows beside what it makes of the runs itself."""
    charts = [path for path in reports_of(grid) if path.endswith(".json")]
    return [*charts, "reports/figures/performance_profile.json"]


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
