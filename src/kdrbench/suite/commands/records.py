"""Commands on records: how one ended and where its reports are, and a site that shows several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from kdrbench.errors import InputError, counted
from kdrbench.suite.commands.options import (
    FILE,
    configuration_name,
    frozen_configuration,
    results_folder,
    root_and_name,
)

# By this file a folder is known as made by `kdrbench site`, which may then replace it.
_SITE = ".kdrbench-site"
# Where the workflow writes records, and in each the tables of experiments.
_RESULTS, _TABLES = Path("results"), "merged"
# What the rows of one run have in common.
_RUN = ("experiment", "batch_sha256", "trace_file", "run")


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="[NAME=]RESULTS...")
@click.option("--out", type=FILE, required=True, help="The folder to write; one that this command made is replaced.")
def site(results: tuple[str, ...], out: Path) -> None:
    """Write a static site of the records RESULTS, folders of merged tables or single tables of them.

    A record is called NAME where one is given, and otherwise like its configuration or its folder. The site has the
    dashboard of each, and a page with their answers and claims side by side and what changed between any two. It needs
    no server and asks for nothing: open index.html.
    """
    from kdrbench.files import replacing_folder
    from kdrbench.suite.archive.unpack import opened
    from kdrbench.suite.reports.dashboard.rendering import slug
    from kdrbench.suite.reports.records import read_results
    from kdrbench.suite.reports.site import site_record, write_site

    context = click.get_current_context()
    named = [(name, context.with_resource(opened(place))) for name, place in map(_named, results)]
    read = [(name, read_results(place)) for name, place in named]
    names = _apart([name or one.config.get("name") or one.place.absolute().stem for name, one in read])
    with replacing_folder(out, _SITE) as folder:
        records = [
            site_record(name, one, folder / "records" / slug(name)) for name, (_, one) in zip(names, read, strict=True)
        ]
        pages = write_site(folder, records)
    click.echo(f"{counted(len(pages), 'page')} of {counted(len(records), 'record')} -> {out / 'index.html'}")


def _named(word: str) -> tuple[str, Path]:
    """Return the name that is given to a record, if there is one, and its place; either may hold equals signs."""
    cuts = [place for place, letter in enumerate(word) if letter == "=" and Path(word[place + 1 :]).exists()]
    return (word[: cuts[0]], Path(word[cuts[0] + 1 :])) if cuts and not Path(word).exists() else ("", Path(word))


def _apart(names: list[str]) -> list[str]:
    """Return the names with numbers behind those that come again, also as parts of an address."""
    from kdrbench.suite.reports.dashboard.rendering import slug

    taken: set[str] = set()
    found = []
    for name in names:
        number, one = 1, name
        while slug(one) in taken or not slug(one):
            number += 1
            one = f"{name} {number}"
        taken.add(slug(one))
        found.append(one)
    return found


@click.command()
@click.argument("tables", type=FILE, nargs=-1)
@results_folder
@configuration_name
@click.option("--reports", type=FILE, help="Folder of the reports; that of the tables' configuration if not said.")
def where(tables: tuple[Path, ...], results: Path, name: str, reports: Path | None) -> None:
    """Say how the runs of the merged TABLES ended, and where tables, figures and the dashboard are.

    Without TABLES: all of a configuration.
    """
    from kdrbench.suite.reports.progress import claim_lines

    if not tables:
        root, name = root_and_name(results, name)
        folder = frozen_configuration(root, name).parent
        tables, reports = _merged_tables(folder), reports or _reports_beside(root, folder)
    reports = reports or _reports_of(tables)
    for line in (*_endings(tables), *claim_lines(reports / "claims.json")):
        click.echo(line)
    page = reports / "dashboard.html"
    for kind, folder in (("table", reports), ("figure", reports / "figures")):
        for stem, endings in _files_by_stem(folder, page):
            click.echo(f"{kind}: {stem}{endings}")
    if page.is_file():
        click.echo(f"all of it on one page: {page}")
    if not reports.is_dir():
        click.echo(f"no reports: {reports} is not there")


def _files_by_stem(folder: Path, page: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file without its ending, and its endings, such as ``.{pdf,png}``; not the dashboard."""
    endings: dict[Path, list[str]] = {}
    for path in sorted(folder.glob("*.*")):
        if path != page:
            endings.setdefault(path.with_suffix(""), []).append(path.suffix[1:])
    for stem, found in endings.items():
        yield stem, f".{found[0]}" if len(found) == 1 else f".{{{','.join(found)}}}"


def _merged_tables(folder: Path) -> tuple[Path, ...]:
    """Return the tables of the experiments that are merged so far, or of the systems where these alone are there."""
    tables = sorted(folder.glob(f"{_TABLES}/*.csv")) or sorted(folder.glob("*.csv"))
    if not tables:
        raise InputError(f"{folder} has no merged tables yet: run the workflow first, or wait for its first table")
    return tuple(tables)


def _reports_beside(root: Path, folder: Path) -> Path:
    """Return the folder of reports beside all results, or the one that reports of another's record are written into."""
    beside = root.parent / "reports" / folder.relative_to(root)
    return beside if beside.is_dir() else Path("reports", folder.name)


def _reports_of(tables: tuple[Path, ...]) -> Path:
    """Return the folder of the reports that belong to the first table below results/."""
    folders = [path.parents[1] if path.parent.name == _TABLES else path.parent for path in tables]
    below = (folder.relative_to(_RESULTS) for folder in folders if folder.is_relative_to(_RESULTS))
    return Path("reports") / next(below, Path())


def _endings(tables: tuple[Path, ...]) -> Iterator[str]:
    """Yield how many runs there are, how they ended, and how many cannot be compared by time."""
    from kdrbench.suite.csv_files import read_csv

    if missing := [path for path in tables if not path.is_file()]:
        raise InputError(
            f"{missing[0]} is not there: name merged tables, such as {_RESULTS}/NAME/{_TABLES}/EXPERIMENT.csv, or none "
            "for all of them; the workflow writes them"
        )
    rows = [row for path in tables for row in read_csv(path)]
    endings = Counter(row["status"] for row in rows)
    runs = len({tuple(row.get(name) for name in _RUN) for row in rows})
    several = f" with {counted(endings.total(), 'row')}" if runs != endings.total() else ""
    words = ", ".join(f"{count} {name}" for name, count in sorted(endings.items()))
    yield f"{counted(runs, 'run')}{several}: {words}"
    if drifted := sum(row["drifted"] == "True" for row in rows):
        yield f"{counted(drifted, 'row')} timed on cores not as fast (10 %) as for other methods on the problem: marked"
