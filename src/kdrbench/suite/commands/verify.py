"""`kdrbench verify`: a record compared with what is computed again from raw data."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from kdrbench.errors import counted
from kdrbench.progress import ProgressLine
from kdrbench.suite.commands.options import RECORD, Number, as_json, configuration_name, named_record, processes

_SHOWN = 20
# Seconds between two lines that stay, and two on a terminal, where one is written over.
_PLAIN_S, _TERMINAL_S = 30.0, 0.2


@click.command()
@click.argument("results", type=RECORD, default=Path("results"))
@configuration_name
@processes
@click.option(
    "--budget-s", type=Number(least=0), default=300, show_default=True, help="Seconds for runs of over 5,000 samples."
)
@click.option("--seed", type=Number(least=0, whole=True), default=0, show_default=True, help="Draws which of these.")
@click.option("--mirror", default=None, help="Folder or URL with the data; KDRBENCH_MIRROR if not said.")
@click.option("--own-code", is_flag=True, help="Import the solvers, kernels and data that its configuration names.")
@as_json
def verify(
    results: Path,
    name: str,
    jobs: int,
    budget_s: float,
    seed: int,
    mirror: str | None,
    own_code: bool,
    as_json: bool,
) -> None:
    """Verify the record in RESULTS: its tables against its projections, its labels and the data.

    Cost, stationarity, curvature, accuracy and NMI are computed again from raw data, by code of its own. Rows that are
    missing, double, or of another definition, data or seed are found as well. Exit code 1 if anything is.
    """
    from kdrbench.suite.verification.record import Record
    from kdrbench.suite.verification.verify import verify as verified

    record = Record(*named_record(results, name), own_code)
    line = ProgressLine(_PLAIN_S, _TERMINAL_S, at_once=False)
    try:
        found = verified(
            record,
            mirror=mirror,
            n_jobs=int(jobs),
            budget_s=budget_s,
            seed=int(seed),
            progress=lambda done, total: line.show(f"{done} of {total} batches verified"),
        )
    finally:
        line.end()
    if as_json:
        counts = {"left_out": dict(found.left_out), "stale": dict(found.stale)}
        click.echo(json.dumps({**asdict(found), **counts}))
    else:
        for finding in found.findings[:_SHOWN]:
            click.echo(str(finding))
        if len(found.findings) > _SHOWN:
            click.echo(f"... and {len(found.findings) - _SHOWN} more; --json prints all")
        for reason, count in found.left_out.items():
            click.echo(f"not computed again: {count} {reason}")
        for reason, count in found.stale.most_common(_SHOWN):
            click.echo(f"out of date: {counted(count, 'row')}: {reason}")
        click.echo(f"{found.rows} rows, {found.numbers} numbers computed again, {len(found.findings)} findings")
    sys.exit(1 if found.findings else 0)
