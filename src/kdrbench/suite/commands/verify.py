"""`kdrbench verify`: a record compared with what is computed again from raw data, or with runs that are made again."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from kdrbench.errors import InputError, counted
from kdrbench.progress import ProgressLine
from kdrbench.suite.archive import is_packed, parts_of
from kdrbench.suite.commands.options import (
    FILE,
    RECORD,
    Number,
    Whole,
    as_json,
    configuration_name,
    frozen_configuration,
    mirror_option,
    processes,
    root_and_name,
)
from kdrbench.suite.commands.run import run_batch
from kdrbench.suite.engine.isolation.core_lock import leave_when_told
from kdrbench.suite.verification.audit import Audited, attest, audit
from kdrbench.suite.verification.verify import Finding, Record, Verification
from kdrbench.suite.verification.verify import verify as verified

_SHOWN = 20
_CELLS_OF_A_COMPONENT = 3
# Seconds between two lines that stay, and two on a terminal, where one is written over.
_PLAIN_S, _TERMINAL_S = 30.0, 0.2


@click.command()
@click.argument("results", type=FILE, default=Path("results"))
@configuration_name
@processes
@click.option(
    "--budget-s", type=Number(0), default=300, show_default=True, help="Seconds for runs of over 5,000 samples."
)
@click.option("--sample", type=Whole(1), default=None, help="Recompute this many random rows, not all.")
@click.option("--seed", type=Whole(0), default=0, show_default=True, help="Draws runs, rows and cells.")
@mirror_option
@click.option("--own-code", is_flag=True, help="Import the solvers, kernels and data that its configuration names.")
@click.option("--rerun", is_flag=True, help="Instead make random runs again, and compare them with their rows.")
@click.option("--cells", type=Whole(1), default=5, show_default=True, help="Cells of --rerun, one run of each.")
@click.option("--time-s", type=Number(0), default=60, show_default=True, help="--rerun skips runs that took longer.")
@click.option("--attest", is_flag=True, help="--rerun three cells of each component, for RESULTS/attestations.jsonl.")
@as_json
@click.pass_context
def verify(
    ctx: click.Context,
    /,
    results: Path,
    name: str,
    own_code: bool,
    rerun: bool,
    attest: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Verify the record in RESULTS: its tables against its projections, its labels and the data.

    Cost, stationarity, curvature, accuracy and NMI are computed again from raw data, by code of its own. Rows that are
    missing, double, or of another definition, data or seed are found as well. Exit code 1 if anything is. Exit code 0
    says nothing about rows that are not computed again, which are counted by reason, such as data that are not here.

    With --rerun one run is drawn of each of --cells random cells, and made again by the engine of the workflow. Runs
    that cannot be made here are skipped, and counted by reason. Rows of earlier revisions of components that --attest
    has confirmed are up to date: they are not made again.
    """
    if attest and not rerun:
        raise click.UsageError("--attest needs --rerun")
    if rerun and given["sample"] is not None:
        raise click.UsageError("--sample is of rows that are computed again; with --rerun give --cells")
    for option in () if rerun else ("cells", "time_s"):
        if ctx.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            word = f"--{option.replace('_', '-')}"
            raise click.UsageError(f"{word} is of runs that are made again: add --rerun, or draw rows by --sample")
    root, named = root_and_name(RECORD.convert(results, None, ctx), name)
    folder = frozen_configuration(root, named).parent
    record = Record(root, "" if folder == root else folder.name, own_code)
    shared = {"seed": given["seed"], "mirror": given["mirror"]}
    if rerun:
        drawn = {"n_cells": given["cells"], "limit_s": given["time_s"]} | shared
        least, attested = (_CELLS_OF_A_COMPONENT, attested_folder(results, name)) if attest else (0, None)
        findings = _rerun(record, attested, as_json, least=least, **drawn)
    else:
        chosen = {"n_jobs": given["jobs"], "budget_s": given["budget_s"], "sample": given["sample"]}
        findings = _recompute(record, as_json, **chosen, **shared)
    sys.exit(1 if findings else 0)


def _recompute(record: Record, as_json: bool, **options: Any) -> list[Finding]:
    """Print what a recomputation finds; ``options`` are those of :func:`.verify.verify`."""
    line = ProgressLine(_PLAIN_S, _TERMINAL_S, at_once=not as_json)
    line.show("reading the record")
    try:
        found = verified(record, progress=line.show, **options)
    finally:
        line.end()
    if as_json:
        counts = {"left_out": dict(found.left_out), "stale": dict(found.stale)}
        click.echo(json.dumps({**asdict(found), **counts}))
    else:
        click.echo("\n".join(_lines(found)))
    if found.missing and not (found.numbers or found.findings):
        raise InputError("no number could be computed again, for lack of data; give --mirror or set KDRBENCH_MIRROR")
    return found.findings


def _lines(found: Verification) -> list[str]:
    lines = list(map(str, found.findings[:_SHOWN]))
    if len(found.findings) > _SHOWN:
        lines.append(f"... and {len(found.findings) - _SHOWN} more; --json prints all")
    lines += [f"not computed again: {count} {reason}" for reason, count in found.left_out.most_common()]
    lines += [f"out of date: {counted(n, 'row')}: {reason}" for reason, n in found.stale.most_common(_SHOWN)]
    lines.append(
        f"{counted(found.rows, 'row')} compared with the configuration, of which {found.checked} were computed again "
        f"({counted(found.numbers, 'number')}): {counted(len(found.findings), 'finding')}"
    )
    if found.missing:
        lines.append(
            f"This says nothing about results on the {counted(len(found.missing), 'data set')} that cannot be had; get "
            "them as said above, or set KDRBENCH_MIRROR to a folder or URL of them"
        )
    return lines


def _rerun(record: Record, attestations: Path | None, as_json: bool, **options: Any) -> list[Finding]:
    """Print what runs that are made again show; ``options`` are those of :func:`.audit.audit`."""
    leave_when_told()
    with tempfile.TemporaryDirectory(prefix="kdrbench-audit-") as folder:
        found = audit(
            record,
            lambda batch, dataset, place: run_batch(record.grid, batch, dataset, place),
            Path(folder),
            look=(lambda _: None) if as_json else _echo_run,
            **options,
        )
    if as_json:
        click.echo(json.dumps({"runs": [asdict(run) for run in found.runs], "passed_over": dict(found.passed_over)}))
    for reason, count in found.passed_over.items():
        click.echo(f"passed over: {count} {reason}", err=as_json)
    if not found.runs:
        raise InputError("no cell could be made again here, for the reasons above; raise --time-s, or give --mirror")
    if attestations is not None:
        click.echo(attest(attestations, found, options["seed"]), err=as_json)
    if not as_json:
        click.echo(f"{counted(len(found.runs), 'run')} made again, {counted(len(found.findings), 'finding')}")
    return found.findings


def attested_folder(results: Path, name: str) -> Path:
    """Return the folder whose attestations are read: the base of a packed record, or that of all results."""
    return parts_of(results)[0] if is_packed(results) else root_and_name(results, name)[0]


def _echo_run(run: Audited) -> None:
    ratio = "" if run.time_ratio is None else f"; {run.time_ratio:.2f} x its time, scaled by calibration"
    click.echo(f"{run.place}: {counted(len(run.findings), 'finding') if run.findings else 'as recorded'}{ratio}")
    for finding in run.findings:
        click.echo(f"  {finding}")
