"""`kdrbench submit`: a solver of one's own, run by the rules of submissions and packed for a record of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import click

from kdrbench.datasets import load_defined
from kdrbench.errors import InputError, counted
from kdrbench.files import replacing_folder, write_bytes
from kdrbench.plugins import is_file_name
from kdrbench.solvers.registry import NAMED
from kdrbench.suite.archive.pack import SUBMITTED, Packing
from kdrbench.suite.commands.experiment import defined
from kdrbench.suite.commands.options import CHECKOUT, FILE, read_configs
from kdrbench.suite.commands.packing import LICENCE, PACKED
from kdrbench.suite.commands.run import run_batch, show_progress
from kdrbench.suite.conformance import check, find_subject
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.isolation.core_lock import leave_when_told
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.experiments.config_file import name_of
from kdrbench.suite.systems.atlas.optima import NOTHING_KNOWN

_RULES = CHECKOUT / "config.submissions.yaml"


@click.command()
@click.argument("solver")
@click.option(
    "--rules", type=FILE, default=_RULES, help="Configuration (default: config.submissions.yaml of the checkout)."
)
@click.option("--out", type=FILE, help="Folder of the submission (default: submission-NAME).")
def submit(solver: str, rules: Path, out: Path | None) -> None:
    """Run SOLVER, a Python file of your own, by the rules of submissions, and pack its rows for a record of them.

    The rows say when, on what machine and with what packages they were made, and the file is packed with them. Runs are
    kept in results/submission-NAME, from which the same command goes on after an interruption.
    """
    name, definition = _own_solver(solver)
    file = Path(f"{solver.rpartition('.py')[0]}.py").expanduser()
    code = file.read_bytes()
    grid = _grid(rules, name, definition)
    _check_contract(solver)
    leave_when_told()
    results, place = Path("results", f"submission-{name}"), out or Path(f"submission-{name}")
    limits_s = [grid.limits(batch.experiment).time_s for batch in grid.batches() for _ in batch.runs]
    minutes = sum(limits_s) / 60
    click.echo(
        f"{counted(len(limits_s), 'run')} by the rules of {rules}: at most {minutes:.3g} minutes of the solver\n"
        f"Runs that have ended are kept in {results}: after Ctrl-C the same command goes on with what is left"
    )
    for batch in grid.batches():
        click.echo(_in_words(batch, _rows(grid, batch, results)))
    if file.read_bytes() != code:
        raise InputError(f"{file} was changed while it ran; submit it again, which makes its runs again")
    write_bytes(results / SUBMITTED / f"{name}.py", code)
    with replacing_folder(place, PACKED) as folder:
        Packing(grid, results, NOTHING_KNOWN.best, licence=LICENCE, origin=_origin(name, file, rules)).write(folder)
    click.echo(
        f"{file}, SHA-256 {hashlib.sha256(code).hexdigest()} -> {place}\n"
        f"Send the folder to the maintainer of a record of submissions, who adds it by\n\n"
        f"    kdrbench pack {place} --out RECORD --layer {datetime.now(UTC).date()}"
    )


def _origin(name: str, file: Path, rules: Path) -> str:
    """Return what the README of a submission says first: its solver, its date, and the commands around it."""
    return (
        f"# The solver {name}, submitted on {datetime.now(UTC).date()}\n\n"
        f"Made by `kdrbench submit {file} --rules {rules.name}`. Its file is packed in `others/`.\n"
        f"`kdrbench verify DIR --own-code`, where {file} is, imports it.\n\n"
    )


def _own_solver(solver: str) -> tuple[str, dict[str, Any]]:
    """Return a name for the solver in a file, and its definition; ``InputError`` for anything else."""
    if not is_file_name(solver):
        raise InputError(f"a submission is a Python file of your own, not {solver!r}; `kdrbench new solver` writes one")
    section, name, definition = defined(solver)
    if section != "solvers":
        raise InputError(
            f"{solver} holds a {section.removesuffix('s')}, and only a solver can be submitted; "
            f"`kdrbench new experiment NAME {solver}` runs it beside those of kdrbench"
        )
    return name, definition


def _grid(rules: Path, name: str, definition: dict[str, Any]) -> Grid:
    """Return the runs of the solver by the rules; ``InputError`` where these have a solver of its name."""
    if not (CHECKOUT / "config.yaml").is_file():
        raise InputError(
            "the rules are in a checkout of kdrbench: install it from there, pip install --editable FOLDER"
        )
    config = read_configs((CHECKOUT / "config.yaml", rules))
    if name in NAMED or name in config["solvers"]:
        raise InputError(f"{name!r} is the name of a solver of kdrbench; rename the file to submit yours beside it")
    runs = {one: {**config["experiments"][one], "solvers": [name], "baselines": []} for one in config["run"]}
    named = config.get("name") or name_of(rules)
    return load_grid({**config, "name": named, "solvers": {name: definition}, "experiments": runs})


def _check_contract(solver: str) -> None:
    for finding in check(find_subject(solver, "solver")):
        if finding.fault:
            raise InputError(f"{solver} breaks its contract - {finding}\n`kdrbench check {solver}` shows all faults")


def _rows(grid: Grid, batch: Batch, results: Path) -> Sequence[Any]:
    data = load_defined(batch.dataset, grid.config.get("datasets", {}).get(batch.dataset, {}))
    watch = partial(show_progress, grid, batch, results)
    if not (rows := run_batch(grid, batch, data, results, watch=watch)):
        raise InputError(f"the runs of {batch.cell_name} came to no end, see the lines above; the rest is kept")
    return rows


def _in_words(batch: Batch, rows: Sequence[Any]) -> str:
    """Return how the runs of a cell ended, and their mean cost and quality."""
    endings = [f"{n_runs} {status}" for status, n_runs in Counter(row.status for row in rows).items()]
    columns = {"cost": [row.cost for row in rows], rows[0].quality_metric: [row.quality for row in rows]}
    known = {word: [value for value in values if value is not None] for word, values in columns.items()}
    means = [f"mean {word} {fmean(values):.6g}" for word, values in known.items() if values]
    return f"{batch.cell_name}: {', '.join([*endings, *means])}"
