"""`kdrbench claims`, `dashboard` and `where`: what all runs together say."""

from __future__ import annotations

from pathlib import Path

import click

from kdrbench.commands.options import FILE, config_file, merged_folder, out_stem, read_frozen, store_folder
from kdrbench.commands.tables import read_systems
from kdrbench.errors import InputError


@click.command()
@config_file
@merged_folder
@out_stem
def claims(config: Path, results: Path, out: Path) -> None:
    """Decide each claim of the papers by the records of the systems that are run, as .html and .json."""
    from kdrbench.reports.claims.claim import Records
    from kdrbench.reports.claims.page import decided, write_claims

    frozen = read_frozen(config)
    decisions = decided(Records.of(read_systems(frozen, results), frozen))
    write_claims(decisions, out, list(frozen["run"]))
    for claim, result in decisions:
        click.echo(f"{result.decision}: {claim.words} - {result.evidence}")


@click.command()
@click.argument("parts", type=FILE, nargs=-1)
@config_file
@merged_folder
@store_folder
@click.option("--published", type=FILE, required=True, help="The published numbers and ours, as .csv.")
@click.option("--out", type=FILE, required=True, help="The page to write.")
def dashboard(parts: tuple[Path, ...], config: Path, results: Path, store: Path, published: Path, out: Path) -> None:
    """Write one page with all runs, and with the figures, tables and claims whose JSON is given as PARTS."""
    from kdrbench.files import write_text
    from kdrbench.reports.dashboard.page import read_parts, render_dashboard
    from kdrbench.reports.dashboard.runs import all_runs
    from kdrbench.reports.tables.published_vs_ours import comparisons_from_csv

    frozen = read_frozen(config)
    comparisons = comparisons_from_csv(published.read_text(encoding="utf-8"))
    runs = all_runs(read_systems(frozen, results))
    page = render_dashboard(runs, frozen, store / "traces", comparisons, read_parts(parts))
    write_text(out, page)
    click.echo(f"{len(page) / 1e6:.1f} MB -> {out}")


@click.command()
@click.argument("tables", type=FILE, nargs=-1, required=True)
@click.option("--reports", type=FILE, default=Path("reports"), show_default=True, help="Folder of the reports.")
def where(tables: tuple[Path, ...], reports: Path) -> None:
    """Say how the runs of the merged TABLES ended, and where tables and figures are."""
    import csv
    from collections import Counter

    rows = []
    for path in tables:
        if not path.is_file():
            raise InputError(f"{path} is not there: run the workflow first; tables of experiments are in merged/")
        with path.open(encoding="utf-8", newline="") as stream:
            rows += list(csv.DictReader(stream))
    endings = Counter(row["status"] for row in rows)
    click.echo(f"{endings.total()} runs: " + ", ".join(f"{count} {name}" for name, count in sorted(endings.items())))
    if drifted := sum(row["drifted"] == "True" for row in rows):
        click.echo(f"{drifted} of them on cores whose speed drifted by more than 10 %: their times are marked")
    for kind, folder in (("table", reports), ("figure", reports / "figures")):
        for path in sorted(folder.glob("*.*")):
            click.echo(f"{kind}: {path}")
