"""`kdrbench audit`: runs of a record, drawn by a seed, made again and compared with their rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kdrbench.errors import InputError, counted
from kdrbench.suite.commands.options import FILE, Number, as_json, configuration_name, named_record, root_and_name

if TYPE_CHECKING:
    from kdrbench.datasets import Dataset
    from kdrbench.suite.engine.batch import Batch
    from kdrbench.suite.engine.grid import Grid
    from kdrbench.suite.engine.record import Record
    from kdrbench.suite.verification.audit import Audit, Audited


_CELLS_OF_A_COMPONENT = 3


@click.command()
@click.argument("results", type=FILE, default=Path("results"))
@configuration_name
@click.option("--cells", type=Number(least=1, whole=True), default=5, show_default=True, help="How many to make again.")
@click.option("--seed", type=Number(least=0, whole=True), default=0, show_default=True, help="Draws cells and runs.")
@click.option(
    "--time-s", type=Number(above=0), default=60, show_default=True, help="Pass over runs that took longer than this."
)
@click.option("--mirror", default=None, help="Folder or URL with the data; KDRBENCH_MIRROR if not said.")
@click.option("--own-code", is_flag=True, help="Run the solvers, kernels and data that its configuration names.")
@click.option(
    "--attest",
    is_flag=True,
    help="Make at least three cells of each component again, and append the result to RESULTS/attestations.jsonl.",
)
@as_json
def audit(
    results: Path,
    name: str,
    cells: int,
    seed: int,
    time_s: float,
    mirror: str | None,
    own_code: bool,
    attest: bool,
    as_json: bool,
) -> None:
    """Make runs of the record in RESULTS again, and compare them with their rows and projections.

    One run is drawn of each of --cells cells, of all systems in proportion. The engine of the workflow makes it in a
    folder that is removed. Runs that cannot be made here are passed over, and counted by reason: their data are
    missing, they need more memory than there is, or took longer than --time-s. Exit code 1 if anything differs.

    Rows of earlier revisions of components that an audit has attested are up to date: they are not made again.
    """
    from kdrbench.suite.archive.unpack import opened
    from kdrbench.suite.engine.isolation.core_lock import leave_when_told
    from kdrbench.suite.verification.audit import audit as audited
    from kdrbench.suite.verification.record import Record as ToAudit

    leave_when_told()
    with tempfile.TemporaryDirectory(prefix="kdrbench-audit-") as place, opened(results) as folder:
        record = ToAudit(*named_record(folder, name), own_code)

        def rerun(batch: Batch, dataset: Dataset, folder: Path) -> Sequence[Record]:
            return _made_again(record.grid, batch, dataset, folder)

        found = audited(
            record,
            rerun,
            Path(place),
            n_cells=int(cells),
            seed=int(seed),
            limit_s=time_s,
            least=_CELLS_OF_A_COMPONENT if attest else 0,
            mirror=mirror,
            look=(lambda _: None) if as_json else _say,
        )
    if as_json:
        click.echo(json.dumps({"runs": [asdict(run) for run in found.runs], "passed_over": dict(found.passed_over)}))
    for reason, count in found.passed_over.items():
        click.echo(f"passed over: {count} {reason}", err=as_json)
    if not found.runs:
        raise InputError(
            f"none of the cells of {results} could be made again here, for the reasons above; raise --time-s, or "
            "name the folder of the data with --mirror"
        )
    if attest:
        click.echo(_attest(attested_folder(results, name), found, int(seed)), err=as_json)
    if not as_json:
        click.echo(f"{counted(len(found.runs), 'run')} made again, {counted(len(found.findings), 'finding')}")
    sys.exit(1 if found.findings else 0)


def attested_folder(results: Path, name: str) -> Path:
    """Return the folder whose attestations are read: the base of a packed record, or that of all results."""
    from kdrbench.suite.archive import is_packed, parts_of

    return parts_of(results)[0] if is_packed(results) else root_and_name(results, name)[0]


def _attest(results: Path, found: Audit, seed: int) -> str:
    """Append what was found to the attestations beside the results, and return it in a line."""
    from kdrbench.suite.engine.identity import ATTESTATIONS, Attestation, append_attestation
    from kdrbench.suite.engine.provenance import software_and_machine, write_evidence
    from kdrbench.suite.engine.rows import now

    made = software_and_machine()
    append_attestation(
        results,
        Attestation(
            now(),
            seed,
            len(found.runs),
            sum(bool(run.findings) for run in found.runs),
            **{name: made[name] for name in ("machine", "processor", "git_commit")},
            **write_evidence(results),
            steps=found.steps,
        ),
    )
    safe = sum(not step.differing for step in found.steps)
    return f"attested: {safe} of {counted(len(found.steps), 'component')}, in {results / ATTESTATIONS}"


def _say(run: Audited) -> None:
    ratio = "" if run.time_ratio is None else f"; {run.time_ratio:.2f} x its time, scaled by calibration"
    click.echo(f"{run.place}: {counted(len(run.findings), 'finding') if run.findings else 'as recorded'}{ratio}")
    for finding in run.findings:
        click.echo(f"  {finding}")


def _made_again(grid: Grid, batch: Batch, dataset: Dataset, folder: Path) -> Sequence[Record]:
    """Make the run of a batch of one as a job of the workflow does; no rows where that ends with a fault."""
    from kdrbench.datasets import save_prepared
    from kdrbench.suite.engine.batch import Bundle, Order, order_path
    from kdrbench.suite.engine.publish import JobFiles
    from kdrbench.suite.engine.record import read_records
    from kdrbench.suite.systems import build_system

    data, limits = folder / "data", grid.limits(batch.experiment)
    save_prepared(dataset, data / f"{batch.dataset}.npz")
    order = Order(Bundle(batch.path, (batch,)), timed=grid.timed(batch.experiment))
    order_file = order.write(order_path(folder, batch.path))
    command: list[str | Path] = [sys.executable, "-m", "kdrbench", "batch", "--repeat-for-s", "0"]
    command += [order_file, "--data", data, "--results", folder]
    command += ["--time-limit-s", str(limits.time_s), "--memory-limit-mib", str(limits.memory_mib)]
    command += ["--threads", str(batch.threads)]
    # This process is the one that the job must not outlive.
    environment = {**os.environ, "KDRBENCH_SCHEDULER_PID": str(os.getpid())}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        try:
            process.wait()
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        return []
    return read_records(JobFiles.of(folder, batch.path).records, build_system(batch.system).record)
