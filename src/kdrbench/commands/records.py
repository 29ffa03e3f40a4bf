"""Commands on records of several machines, versions or users: one record of them, and a site that shows them."""

from __future__ import annotations

import re
from pathlib import Path

import click

from kdrbench.commands.options import FILE
from kdrbench.errors import InputError, counted

# By these files a folder is known as made by its command, which may then replace it.
_MERGED, _SITE = ".kdrbench-merged", ".kdrbench-site"


@click.command("merge-results")
@click.argument("results", type=FILE, nargs=-1, required=True)
@click.option("--out", type=FILE, required=True, help="The folder to write; one that this command made is replaced.")
def merge_results(results: tuple[Path, ...], out: Path) -> None:
    """Merge the records RESULTS, folders of merged tables or single tables of them, into the folder OUT.

    Identical rows are kept once. Refused are records of different definitions, runs that were measured twice, and an
    experiment whose rows come from unlike machines, versions or limits; the message says which rows and columns.
    """
    from kdrbench.files import replacing_folder
    from kdrbench.stages import merging
    from kdrbench.stages.results import read_results, write_results

    if len(results) < 2:
        raise InputError(f"{results[0]} is a single record; name at least two to merge")
    merged = merging.merge_results([read_results(place) for place in results], _name_of(out))
    with replacing_folder(out, _MERGED) as folder:
        write_results(folder, merged)
    n_rows = sum(map(len, merged.records.values()))
    click.echo(f"{counted(n_rows, 'row')} of {counted(len(merged.records), 'experiment')} -> {out}")


def _name_of(folder: Path) -> str:
    """Return the name of a configuration that a folder of results gives it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", folder.absolute().name)[:100]
