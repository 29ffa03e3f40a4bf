"""`kdrbench crate`: a record with its provenance, to be archived and cited."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import click

from kdrbench.commands.options import FILE
from kdrbench.errors import InputError, counted

# Words of the SPDX list, which a licence is named by.
_SPDX = re.compile(r"[A-Za-z0-9.+-]{1,64}")


@click.command()
@click.argument("results", type=FILE, default=Path("results"))
@click.option("--out", type=FILE, required=True, help="FILE.zip or a folder; a crate that is there is replaced.")
@click.option("--author", "authors", multiple=True, help="Who made the record; may be given several times.")
@click.option("--licence", default="CC-BY-4.0", show_default=True, help="The record's licence, as a word of SPDX.")
@click.option("--source", type=FILE, help="Checkout of the workflow; that of this program if not said.")
def crate(results: Path, out: Path, authors: tuple[str, ...], licence: str, source: Path | None) -> None:
    """Write an RO-Crate of the record in RESULTS, a folder of merged tables, for an archive.

    It holds configuration, tables, traces, projections and the workflow, and says in JSON-LD what made each file
    (profile Provenance Run Crate): software, machine, parameters, data with their hashes, and the runs that failed or
    were stopped, with the reason.
    """
    from kdrbench.crate.crate import write_crate

    if not _SPDX.fullmatch(licence):
        raise InputError(f"--licence is {licence!r}; it must be a word of the SPDX list, such as CC-BY-4.0 or CC0-1.0")
    today = datetime.now(UTC).date()
    written = write_crate(results, out, source=source, licence=licence, authors=authors, published=today)
    for name in written.results.left_out:
        click.echo(f"kdrbench: left out {name}, which is of a system of its own", err=True)
    click.echo(f"{written.summary}, {counted(len(written.contents), 'file')} -> {out}")
