"""What the Snakefile asks of the package about runs; about reports it asks :mod:`kdrbench.reports.outputs`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from kdrbench.bench.batch import Bundle
from kdrbench.bench.grid import Grid
from kdrbench.bench.isolation.supervisor import SCHEDULER_VARIABLE
from kdrbench.bench.plan import PLANS, write_plan
from kdrbench.bench.sources import sources_of
from kdrbench.bench.stage import Config
from kdrbench.bench.workspace_lock import WORKSPACES
from kdrbench.conformance.trial import places_in, try_apart
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import ConfigError, KdrbenchError, unknown_name
from kdrbench.files import write_text
from kdrbench.stages.config import load_grid
from kdrbench.stages.config_file import check_config_files, lay_over, read_config_file

_LONGEST_WORD, _LONG_WORDS = 2048, Path("results/.workspace/words")
# Jobs, and seconds in which they may start.
_SNAKEMAKES_LIMIT = (100, 1)
_PLANS = Path("results", WORKSPACES, PLANS)
_REPORT_DATA = (".css", ".csv", ".j2", ".js", ".toml")


def check_files(workflow: Any, home: Path) -> None:
    """Let Snakemake end with one sentence on configuration files with faults, and on a path that it cannot use.

    ``home`` is the folder of kdrbench's Snakefile, which is not Snakemake's own where another workflow uses it.
    """
    from snakemake.exceptions import WorkflowError

    if set("{}") & set(str(home)):
        raise WorkflowError(
            f"the path of this checkout, {home}, holds braces, which Snakemake takes for names of its own; "
            "move the checkout"
        )
    try:
        check_config_files([home / "config.yaml", *workflow.config_settings.configfiles])
    except ConfigError as error:
        raise WorkflowError(str(error)) from None


def is_module(workflow: Any) -> bool:
    """Return whether another workflow uses this one, by a ``module`` statement, with a configuration of its own."""
    return not workflow.modifier.is_main_snakefile()


def grid_of(config: Config, workflow: Any, home: Path) -> Grid:
    """Return the grid of a configuration, or let Snakemake end with one sentence on what is wrong with it.

    A configuration without a name takes that of the file that is laid over the first, so that its reports do not
    replace those of the papers: ``config.mine.yaml`` and ``mine.yaml`` are called ``mine``. That of a module is laid
    over ``config.yaml`` here: Snakemake then reads no file for it.
    """
    from snakemake.exceptions import WorkflowError

    if is_module(workflow):
        config = lay_over(read_config_file(home / "config.yaml"), config)
    named = {**config, "name": config.get("name") or _name_of(workflow, home)}
    environment = environment_of(workflow, home, "run")
    try:
        # A job that starts Snakemake again, on a cluster, has outputs that would be missed.
        if first := getattr(workflow, "is_main_process", True):
            try_apart(lambda: load_grid(named, hashed=False), places_in(named))
        grid = load_grid(named, environment)
        if first and not workflow.dryrun:
            write_plan(_PLANS, grid.sources.items())
        return grid
    except KdrbenchError as error:
        raise WorkflowError(str(error)) from None


def _name_of(workflow: Any, home: Path) -> str:
    overlays = [Path(path) for path in workflow.config_settings.configfiles]
    base = (home / "config.yaml").resolve()
    names = [path.stem.removeprefix("config.") for path in overlays if path.resolve() != base]
    return re.sub(r"[^A-Za-z0-9_-]", "_", names[-1]) if names else ""


def environment_of(workflow: Any, home: Path, name: str) -> Path | None:
    """Return the file of the conda environment that jobs run in, or ``None`` if they run in Snakemake's own."""
    from snakemake.settings.types import DeploymentMethod

    conda = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
    return home / "envs" / f"{name}.yaml" if conda else None


def bundled_data(grid: Grid) -> list[str]:
    """Return the data sets of all runs that need no file: they are made, or scikit-learn holds them."""
    known, own = load_registry(), grid.config.get("datasets", {})
    names = dict.fromkeys(name for bundle in grid.bundles() for name in bundle.datasets)
    return [name for name in names if name not in own and name in known and known[name].bundled]


def bundled_sha256() -> str:
    """Return a hash of the values of all data sets that need no file."""
    hashes = [entry.content_sha256 for entry in load_registry().values() if entry.bundled]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def commands_of(workflow: Any) -> Callable[..., str]:
    """Return what makes shell commands of the words of kdrbench's: they start the kdrbench that Snakemake has loaded.

    A command that is not ``timed`` runs at the lowest priority: on a machine with few cores, reports that are made
    beside timed runs would make these wait.

    Without a software deployment method that is done by the Python that runs Snakemake, whether or not its environment
    is activated; within a conda environment by that environment's. Nothing else of Snakemake's is changed, so that the
    rules of a workflow that uses this one as a module start as they did.
    """
    path = os.pathsep.join(filter(None, [str(Path(str(files("kdrbench"))).parent), os.environ.get("PYTHONPATH")]))
    # Without byte code every job would compile what it imports, which takes three times as long. The working folder is
    # not searched for modules: a file random.py in it would be taken for Python's own.
    program = f"env -u PYTHONDONTWRITEBYTECODE PYTHONSAFEPATH=1 PYTHONPATH={shlex.quote(path)} "
    python = "python" if workflow.deployment_settings.deployment_method else shlex.quote(sys.executable)
    # Snakemake formats commands: braces of a path are not placeholders.
    program = f"{program}{python} -m kdrbench ".replace("{", "{{").replace("}", "}}")
    return lambda words, timed=False: f"{'' if timed else 'nice -n 19 '}{program}{words}"


def be_found_by_jobs() -> None:
    """Tell jobs which process is their scheduler; once it has ended they end, too."""
    os.environ[SCHEDULER_VARIABLE] = str(os.getpid())


def start_jobs_at_once(workflow: Any) -> None:
    """Drop Snakemake's own limit of 100 new jobs a second, where they run on this machine and no other was asked for.

    For its sake each job that ends leaves timers behind that go through all open jobs once a second, until the workflow
    ends: after some hundreds of jobs that takes a quarter of a core, beside runs that are timed.
    """
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if workflow.local_exec and limit and (limit.max_jobs, limit.timespan) == _SNAKEMAKES_LIMIT:
        workflow.scheduler.job_rate_limiter = None


def word_or_file(text: str, *, write: bool = True) -> str:
    """Return text as a word of a command, or, where it is long, ``@`` and the file that holds it.

    Linux allows 128 KiB for a whole command, and Snakemake prints words that have changed. The file is called by the
    hash of the text, so that another text is another word; a dry run does not ``write`` it.
    """
    if len(text) <= _LONGEST_WORD:
        return text
    path = _LONG_WORDS / f"{hashlib.sha256(text.encode()).hexdigest()}.txt"
    if write and not path.exists():
        write_text(path, text)
    return f"@{path}"


def frozen_word(grid: Grid, workflow: Any) -> str:
    """Return the whole configuration as a word of a command; see :func:`word_or_file`."""
    return word_or_file(grid.to_json(), write=not workflow.dryrun)


def listed(paths: Iterable[str], workflow: Any) -> str:
    """Return paths as words of a command; see :func:`word_or_file`."""
    return word_or_file(shlex.join(map(str, paths)), write=not workflow.dryrun)


def data_to_await(bundle: Bundle) -> list[str]:
    """Return the prepared data files that a job has to wait for.

    For a job that is done, only those that are there, and marked so that their age does not count: Snakemake reruns
    whatever depends on a file that is made again, and a batch names the SHA-256 of its data anyhow. For any other job
    not marked: beside a marked file that is to be made, Snakemake overlooks that the job itself has changed.
    """
    from snakemake.io import ancient

    paths = [f"results/data/{dataset}.npz" for dataset in bundle.datasets]
    if not _made_for(bundle, Path(f"results/runs/{bundle.path}.jsonl")):
        return paths
    return [ancient(path) for path in paths if Path(path).exists()]


def _made_for(bundle: Bundle, records: Path) -> bool:
    try:
        lines = records.read_text(encoding="utf-8").splitlines()
        return {json.loads(line)["batch_sha256"] for line in lines} == {batch.sha256 for batch in bundle.batches}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def job_options(grid: Grid, bundle: Bundle, *, write: bool = True) -> str:
    """Return the options, as a shell reads them, that decide what a job makes: a change of them makes it run again.

    A job that runs again makes only the runs that lack a usable row. ``write`` as in :func:`word_or_file`.
    """
    words = ["--job", word_or_file(bundle.to_word(), write=write)]
    if grid.budget_s is not None:
        words += ["--budget-s", f"{grid.budget_s:g}"]
    if not grid.timed(bundle.experiment):
        words += ["--untimed"]
    own = {name: grid.config["datasets"][name] for name in bundle.datasets if name in grid.config.get("datasets", {})}
    if own:
        words += ["--definitions", json.dumps(own, sort_keys=True)]
    return shlex.join(words)


def report_sources(workflow: Any, home: Path) -> str:
    """Return a hash of all that makes tables and figures of rows: code, templates, published numbers, reasons.

    Where reports are made in a conda environment, its file is a part of that.
    """
    folder = Path(str(files("kdrbench.reports")))
    digest = hashlib.sha256(sources_of(_report_modules()).sha256.encode())
    if environment := environment_of(workflow, home, "report"):
        digest.update(environment.read_bytes())
    for path in sorted(folder.rglob("*")):
        if path.suffix in _REPORT_DATA:
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _report_modules() -> list[str]:
    """Return every module of the commands and the reports: some are loaded by name, which is not followed."""
    root = Path(str(files("kdrbench")))
    paths = [path for part in ("commands", "reports") for path in sorted((root / part).rglob("[!_]*.py"))]
    return [".".join(("kdrbench", *path.relative_to(root).with_suffix("").parts)) for path in paths]


def closing_line(results: str, reports: str) -> str:
    """Return in a line where the reports of a configuration are; empty where none was made.

    ``results`` and ``reports`` are the folders of its merged tables and of its reports.
    """
    page = Path(reports) / "dashboard.html"
    if not Path(reports).is_dir():
        return ""
    all_of_it = f"{page} shows all of it, and " if page.is_file() else ""
    return f"kdrbench: {all_of_it}tables and figures are in {reports}: `kdrbench where --results {results}` lists them."


def refuse_target(name: str, targets: Iterable[str], experiments: Iterable[str]) -> list[str]:
    """Let Snakemake end with the near names for a target that the configuration does not have."""
    from snakemake.exceptions import WorkflowError

    known = sorted(targets)
    if name in set(experiments):
        raise WorkflowError(f"experiment {name!r} is not in `run`; targets: {', '.join(known)}")
    raise WorkflowError(unknown_name("target", name, known))
