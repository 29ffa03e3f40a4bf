"""The command line. Each command imports what it needs: a job should not pay for another's packages."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from kdrbench import __version__
from kdrbench.errors import KdrbenchError

_FILE = click.Path(path_type=Path)


# Commands that stand beside what they work with, imported when they are asked for. `list` is a name of Python's.
_ELSEWHERE = {
    "check": "kdrbench.commands.plugin",
    "claims": "kdrbench.commands.claims",
    "compare": "kdrbench.commands.results",
    "dashboard": "kdrbench.commands.claims",
    "data": "kdrbench.datasets.commands",
    "doctor": "kdrbench.commands.doctor",
    "figure": "kdrbench.commands.figures",
    "kpca-batch": "kdrbench.bench.metric_commands",
    "kpca-merge": "kdrbench.bench.metric_commands",
    "list": "kdrbench.commands.listing",
    "lowrank-batch": "kdrbench.bench.lowrank_commands",
    "lowrank-merge": "kdrbench.bench.lowrank_commands",
    "new": "kdrbench.commands.plugin",
    "picture": "kdrbench.commands.figures",
    "published-vs-ours": "kdrbench.commands.tables",
    "run": "kdrbench.commands.run",
    "show": "kdrbench.commands.results",
    "table": "kdrbench.commands.tables",
    "typeset": "kdrbench.commands.tables",
    "where": "kdrbench.commands.claims",
}


class _Group(click.Group):
    """A group whose commands end with one sentence and exit code 2 on an error the user can mend.

    A missing package is such an error: the library is installed without those of the workflow.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        module, name = import_module(_ELSEWHERE[cmd_name]), cmd_name.replace("-", "_")
        command: click.Command = getattr(module, "list_names" if name == "list" else name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KdrbenchError as error:
            click.echo(f"kdrbench: {error}", err=True)
            ctx.exit(2)
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] == "kdrbench":
                raise
            click.echo(
                f"kdrbench: this command needs the package {error.name}, which is not installed; "
                "pip install 'kdrbench[workflow]' brings what the commands of the workflow need",
                err=True,
            )
            ctx.exit(2)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Benchmark of solvers that learn projections and kernels.

    For people: run, list, data, compare, show, status, doctor, new, check. The other commands are the steps of the
    Snakemake workflow; `snakemake --cores N` runs them in order.

    Exit codes: 0, all is well; 1, the answer is bad; 2, something is to be mended, said in one sentence.
    """


@main.command()
@click.argument("name")
@click.option("--mirror", default="", help="Folder or http(s) URL asked before the canonical source.")
@click.option("--definition", default="{}", help="Of a data set of one's own: its definition as JSON.")
@click.option("--out", type=_FILE, required=True, help="The .npz file to write.")
def prepare(name: str, mirror: str, definition: str, out: Path) -> None:
    """Fetch, verify and parse the data set NAME."""
    import json

    from kdrbench.datasets import load_any, load_own, save_prepared

    own = json.loads(definition)
    dataset = load_own(name, own) if own else load_any(name, mirror=mirror or None)
    save_prepared(dataset, out)
    n_samples, n_features = dataset.features.shape
    click.echo(f"{name}: {n_samples} samples, {n_features} features, {len(dataset.class_names)} classes -> {out}")


@main.command()
@click.option("--spec", required=True, help="The batches as JSON, as the workflow's grid gives them.")
@click.option("--data", type=_FILE, required=True, help="The prepared data set.")
@click.option("--out", type=_FILE, required=True, help="Records to write, one JSON line a run.")
@click.option("--trace", type=_FILE, required=True, help="Traces to write, one JSON line an iterate.")
@click.option("--findings", type=_FILE, default=None, help="Projections and labels to keep, as an .npz file.")
@click.option("--state", type=_FILE, required=True, help="Folder of unfinished work.")
@click.option("--time-limit-s", type=float, required=True, help="Limit of one run, on its solver's clock.")
@click.option("--memory-limit-mib", type=float, required=True, help="Memory limit of one run.")
@click.option("--repeat-for-s", type=float, default=0.5, show_default=True, help="Repeat shorter solves so long.")
@click.option("--threads", type=int, default=1, show_default=True, help="Cores and BLAS threads of a run.")
@click.option("--terms", default="{}", help="Whether the batch is timed, and the grid's budget, as JSON.")
@click.option("--summary", type=_FILE, default=None, help="Where to say, when all has gone well, what was done.")
@click.option("--ledger", type=_FILE, default=None, help="Where the seconds of all runs of the grid are noted.")
def batch(
    spec: str,
    data: Path,
    out: Path,
    trace: Path,
    findings: Path | None,
    state: Path,
    time_limit_s: float,
    memory_limit_mib: float,
    repeat_for_s: float,
    threads: int,
    terms: str,
    summary: Path | None,
    ledger: Path | None,
) -> None:
    """Run one batch of runs or several, each run supervised in a process of its own."""
    import json

    from kdrbench.bench.lane import any_cores, owned_cores, prepare_process
    from kdrbench.bench.limits import Limits

    limits = Limits(time_limit_s, memory_limit_mib)
    lane = owned_cores if json.loads(terms).get("timed", True) else any_cores
    prepare_process(threads)
    # The heavy imports wait until a core is free, so that they do not disturb a run that is being timed, and
    # until the threads are set: numpy looks at them once, when it is loaded.
    with lane(threads) as cores:
        from kdrbench.bench.batch import Surroundings
        from kdrbench.bench.budget import Budget
        from kdrbench.bench.job import run_job
        from kdrbench.bench.plan import Bundle
        from kdrbench.bench.state import BatchFiles
        from kdrbench.bench.supervisor import SCHEDULER_VARIABLE
        from kdrbench.bench.terms import Terms
        from kdrbench.datasets import load_prepared

        scheduler = os.environ.get(SCHEDULER_VARIABLE)
        asked = Terms.from_json(terms)
        budget = Budget(ledger, asked.budget_s) if ledger else None
        # Repeats are for the time alone.
        repeats_s = repeat_for_s if asked.timed else 0.0
        around = Surroundings(limits, repeats_s, cores, int(scheduler) if scheduler else None, asked, budget)
        files = BatchFiles(out, trace, state, findings)
        records = run_job(Bundle.from_json(spec), lambda: load_prepared(data), around, files, summary)
    for record in records:
        click.echo(f"{'/'.join(map(str, record.axes))}: {record.status} - {record.message}")


@main.command("freeze-config")
@click.option("--config", "text", required=True, help="The whole configuration as JSON.")
@click.option("--out", type=_FILE, required=True, help="The file to write.")
def freeze_config(text: str, out: Path) -> None:
    """Check a configuration and write it down, for the steps that need the whole of it."""
    import json

    from kdrbench.bench.config import check_config
    from kdrbench.files import write_text

    config = json.loads(text)
    check_config(config)
    write_text(out, json.dumps(config, indent=2) + "\n")


@main.command()
@click.argument("config", type=_FILE)
@click.argument("records", type=_FILE)
@click.option("--experiment", default=None, help="Merge the records of this experiment only.")
@click.option("--out", type=_FILE, required=True, help="The CSV table to write.")
def merge(config: Path, records: Path, experiment: str | None, out: Path) -> None:
    """Merge the records that CONFIG expects below the folder RECORDS; a missing run is an error."""
    import json

    from kdrbench.bench.grid import Grid
    from kdrbench.bench.merge import merge_records

    grid = Grid(json.loads(config.read_text(encoding="utf-8")))
    paths = [records / f"{bundle.path}.jsonl" for bundle in grid.bundles(experiment)]
    expected = {axes: batch.definition_sha256 for batch in grid.batches(experiment) for axes in batch.axes}
    merged = merge_records(paths, expected, out)
    click.echo(f"{len(merged)} runs -> {out}")


@main.command()
@click.option("--results", type=_FILE, default=Path("results"), show_default=True, help="The workflow's results.")
@click.option("--watch", type=click.FloatRange(min=0.1), help="Look again so many seconds later, until all has ended.")
def status(results: Path, watch: float | None) -> None:
    """Say how far the workflow has come: runs that ended, how, those under way; who loses to a random projection."""
    import json
    import time

    from kdrbench.bench.controls import losing_cells
    from kdrbench.bench.grid import Grid
    from kdrbench.bench.progress import progress_of
    from kdrbench.errors import ConfigError
    from kdrbench.reports.progress import losing_lines, progress_lines

    frozen = results / "config.json"
    if not frozen.exists():
        raise ConfigError(f"{frozen} is not there: start the workflow, or name its folder with --results")
    grid = Grid(json.loads(frozen.read_text(encoding="utf-8")))
    while True:
        progress = progress_of(grid, results)
        if watch and sys.stdout.isatty():
            click.clear()
        losing = losing_cells((row for one in progress for row in one.ended), grid.config)
        click.echo("\n".join([*progress_lines(progress), *losing_lines(losing)]))
        if not watch or not any(one.left for one in progress):
            return
        time.sleep(watch)
