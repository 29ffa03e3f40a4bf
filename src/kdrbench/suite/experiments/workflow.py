"""What the Snakefile asks of the package about runs; about reports it asks :mod:`kdrbench.suite.reports.outputs`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from kdrbench.datasets.registry import load_registry
from kdrbench.errors import ConfigError, KdrbenchError, counted, unknown_name
from kdrbench.files import write_text
from kdrbench.plugins import load_class_module
from kdrbench.solvers.registry import check_meanings, method_of
from kdrbench.suite.conformance.subject import places_of
from kdrbench.suite.engine.batch import Bundle, Order, order_path
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.identity import own_code_sha256
from kdrbench.suite.engine.isolation.supervisor import SCHEDULER_VARIABLE
from kdrbench.suite.engine.progress import progress_of, stale_in_words, stale_jobs
from kdrbench.suite.engine.system import Config
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.experiments.config_file import lay_over, name_of, read_config_file, write_origin
from kdrbench.suite.experiments.forgetting import restore_workspaces

_RESULTS = Path("results")
# Keys of an experiment and of the sections they name definitions of: the kind, and the key of the method's name.
_SECTIONS = {
    "datasets": ("dataset", "loader"),
    "kernels": ("kernel", "family"),
    "solvers": ("solver", "method"),
    "baselines": ("baseline", "method"),
}
_MOST_LETTERS = 60


def check_files(workflow: Any, home: Path) -> None:
    """Let Snakemake end with one sentence on configuration files with faults.

    ``home`` is the folder of kdrbench's Snakefile, which is not Snakemake's own where another workflow uses it.
    """
    try:
        for path in (home / "config.yaml", *workflow.config_settings.configfiles):
            read_config_file(Path(path))
    except ConfigError as error:
        _end(str(error))


def is_module(workflow: Any) -> bool:
    """Return whether another workflow uses this one, by a ``module`` statement, with a configuration of its own."""
    return not workflow.modifier.is_main_snakefile()


def grid_of(config: Config, workflow: Any, home: Path) -> Grid:
    """Return the grid of a configuration, or let Snakemake end with one sentence on what is wrong with it.

    A configuration without a name takes that of the file that is laid over the first, so that its reports do not
    replace those of the papers: ``config.mine.yaml`` and ``mine.yaml`` are called ``mine``. That of a module is laid
    over ``config.yaml`` here: Snakemake then reads no file for it.
    """
    if is_module(workflow):
        config = lay_over(read_config_file(home / "config.yaml"), config)
    named = {**config, "name": config.get("name") or _name_of(workflow, home)}
    try:
        grid = load_grid(named)
        check_meanings(named["solvers"])
        return grid
    except KdrbenchError as error:
        _end(str(error))


def _end(sentence: str) -> NoReturn:
    """End Snakemake as a command of kdrbench ends: its own errors show the lines of the Snakefile."""
    sys.stderr.write(f"kdrbench: {sentence}\n")
    raise SystemExit(2)


def _is_first(workflow: Any) -> bool:
    """Return whether this process plans the workflow, and does not make one of its jobs on a cluster."""
    return bool(getattr(workflow, "is_main_process", True))


def _name_of(workflow: Any, home: Path) -> str:
    overlays = [Path(path) for path in workflow.config_settings.configfiles]
    base = (home / "config.yaml").resolve()
    names = [name_of(path) for path in overlays if path.resolve() != base]
    return names[-1] if names else ""


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


def start(workflow: Any, grid: Grid, home: Path, folder: str) -> frozenset[str]:
    """Say which jobs are out of date, and why; return them. Write the orders of all jobs, and the frozen configuration.

    ``folder`` is that of the configuration's merged tables. Jobs inherit the number of this process, their scheduler;
    once it has ended they end, too.
    """
    os.environ[SCHEDULER_VARIABLE] = str(os.getpid())
    if not _is_first(workflow):
        return frozenset()
    if stale := stale_jobs(grid, _RESULTS):
        print(f"kdrbench: {stale_in_words(stale)}", file=sys.stderr)
    if not workflow.dryrun:
        # Snakemake removes the files of a job before it makes it again, and an unpacked record has no others.
        for path in stale:
            # Of a job whose files cannot be read every run is made.
            with suppress(KdrbenchError):
                restore_workspaces(_RESULTS, grid, [grid.bundle(path)])
        settings = workflow.config_settings
        frozen, text = Path(folder) / "config.json", json.dumps(grid.config, indent=2) + "\n"
        if not frozen.is_file() or frozen.read_text(encoding="utf-8") != text:
            write_text(frozen, text)
        if not is_module(workflow):
            write_origin(_RESULTS, grid.name, [home / "config.yaml", *map(Path, settings.configfiles)], settings.config)
        own = grid.config.get("datasets", {})
        for bundle in grid.bundles():
            definitions = {name: own[name] for name in bundle.datasets if name in own}
            order = Order(bundle, grid.timed(bundle.experiment), definitions)
            order.write(order_path(_RESULTS, bundle.path))
    return frozenset(stale)


def data_to_await(workflow: Any, bundle: Bundle, stale: frozenset[str]) -> list[str]:
    """Return the prepared data files that a job has to wait for, marked so that their age does not count.

    A batch names the SHA-256 of its data, and a data set that is made again is no other one. Of a job that is done only
    those that are there are named, so that no data are made for it. A job that is ``stale`` is made again, and after
    its data where these are.
    """
    from snakemake.io import ancient

    records, is_stale = f"results/runs/{bundle.path}.jsonl", bundle.path in stale
    if is_stale and _is_first(workflow):
        # Made again if it is needed at all, whatever Snakemake remembers of what it was made of.
        workflow.dag.forcefiles.add(records)
    is_done = not is_stale and Path(records).exists()
    paths = [f"results/data/{dataset}.npz" for dataset in bundle.datasets]
    if is_stale:
        return paths
    return [ancient(path) for path in paths if not is_done or Path(path).exists()]


def report_sources(workflow: Any, grid: Grid, home: Path) -> str:
    """Return a hash of all that makes tables and figures of rows: every file of this package, and the configuration.

    Where reports are made in a conda environment, its file is a part of that.
    """
    from snakemake.settings.types import DeploymentMethod

    root, digest = Path(str(files("kdrbench"))), hashlib.sha256(grid.to_json().encode())
    if DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method:
        digest.update((home / "envs/report.yaml").read_bytes())
    # Beside byte code, machine code is kept in __pycache__, too.
    for path in sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def closing_line(results: str, reports: str) -> str:
    """Return where the reports of a configuration are; empty where none was made.

    ``results`` and ``reports`` are the folders of its merged tables and of its reports.
    """
    page = Path(reports) / "dashboard.html"
    if not Path(reports).is_dir():
        return ""
    all_of_it = f"{page} shows all of it, and " if page.is_file() else ""
    where = f"tables and figures are in {reports}; `kdrbench status {results}` sums them up."
    return f"kdrbench: {all_of_it}{where}"


def kept_line(grid: Grid) -> str:
    """Return how many runs have ended and are kept where the workflow was interrupted or a job has failed."""
    progress = progress_of(grid, _RESULTS)
    n_runs, n_left = sum(len(one.batch.runs) for one in progress), sum(one.left for one in progress)
    return (
        f"kdrbench: {n_runs - n_left} of {counted(n_runs, 'run')} have ended and are kept; "
        "the same command goes on with what is left."
    )


def refuse_target(name: str, targets: Iterable[str], experiments: Iterable[str]) -> list[str]:
    """Let Snakemake end with the near names for a target that the configuration does not have."""
    known = sorted(targets)
    if name in set(experiments):
        _end(f"experiment {name!r} is not in `run`; targets: {', '.join(known)}")
    _end(unknown_name("target", name, known))


@dataclass(frozen=True)
class PluginCheck:
    """A plug-in by kind, as ``kdrbench check --kind`` takes it, the name in the configuration, place and options."""

    kind: str
    name: str
    place: str
    options: str

    @property
    def words(self) -> str:
        """What is asked, as a shell reads the words of ``kdrbench check``."""
        options = [f"--option={name}={json.dumps(value)}" for name, value in json.loads(self.options).items()]
        return shlex.join([f"--kind={self.kind}", *options, "--", self.name])

    @cached_property
    def file(self) -> str:
        """The name of its findings below ``results/checks``, without extension: readable, and its own."""
        stem = re.sub(r"[^A-Za-z0-9_-]", "_", self.name)[-_MOST_LETTERS:]
        return f"{self.kind}-{stem}-{hashlib.sha256(self.words.encode()).hexdigest()[:8]}"

    @property
    def sources_sha256(self) -> str:
        """The hash of its code: another one is asked again."""
        return own_code_sha256(load_class_module(self.kind, self.place).__name__)


def plugin_checks(config: Config) -> dict[str, PluginCheck]:
    """Return by file the plug-ins of the user's own that the experiments of ``run`` use, each with its options once."""
    methods = list(_methods(config))
    places = places_of(name for _, name, _ in methods)
    checks = (
        PluginCheck(kind, name, places[name], json.dumps(options, sort_keys=True))
        for kind, name, options in methods
        if name in places
    )
    return {check.file: check for check in checks}


def _methods(config: Config) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for experiment in (config["experiments"][name] for name in config["run"]):
        for section, (kind, key) in _SECTIONS.items():
            definitions = config.get(section, {})
            for name in experiment.get(section, []):
                if name in definitions:
                    yield from _of_definition(kind, key, method_of(definitions[name]))
        yield from (("metric-learner", name, {}) for name in experiment.get("learners", []))


def _of_definition(kind: str, key: str, definition: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    options = {name: value for name, value in definition.items() if name != key}
    yield kind, str(definition[key]), options
    for member in options.get("members", []):
        # Of a combination; each kernel is asked for itself.
        yield from _of_definition(kind, key, {name: value for name, value in member.items() if name != "weight"})
