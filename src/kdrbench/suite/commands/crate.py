"""`kdrbench crate`: a record with its provenance, to be archived and cited."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from kdrbench.errors import InputError, counted
from kdrbench.licences import DEFAULT
from kdrbench.suite.commands.options import FILE, read_licence


@click.command()
@click.argument("results", type=FILE, default=Path("results"))
@click.option("--out", type=FILE, required=True, help="FILE.zip or a folder; a crate that is there is replaced.")
@click.option("--author", "authors", multiple=True, help="Who made the record; may be given several times.")
@click.option(
    "--licence",
    callback=read_licence,
    help=f"The record's licence, as a word of SPDX; if not said that of a packed record, or {DEFAULT}.",
)
@click.option("--source", type=FILE, help="Checkout of the workflow; that of this program if not said.")
def crate(results: Path, out: Path, authors: tuple[str, ...], licence: str | None, source: Path | None) -> None:
    """Write an RO-Crate of the record in RESULTS, a folder of merged tables or a packed record, for an archive.

    It holds configuration, tables, traces, projections and the workflow, and says in JSON-LD what made each file
    (profile Provenance Run Crate): software, machine, parameters, data with their hashes, and the runs that failed or
    were stopped, with the reason.
    """
    from kdrbench.suite.archive.unpack import opened
    from kdrbench.suite.crate.crate import write_crate

    word, today = _licence_of(results, licence), datetime.now(UTC).date()
    with opened(results) as folder:
        written = write_crate(folder, out, source=source, licence=word, authors=authors, published=today)
    for name in written.results.left_out:
        click.echo(f"kdrbench: left out {name}, which is of a system of its own", err=True)
    click.echo(f"{written.summary}, {counted(len(written.contents), 'file')} -> {out}")


def _licence_of(results: Path, said: str | None) -> str:
    """Return the licence of a record: a packed one has its own, of another it is what is said."""
    from kdrbench.suite.archive import is_packed
    from kdrbench.suite.archive.layers import record_at

    own = record_at(results).base.licence if is_packed(results) else None
    if own and said and said != own:
        raise InputError(f"{results} is under {own}, not {said}: leave --licence out, or pack its results under {said}")
    return own or said or DEFAULT
