"""The jobs of the workflow that make reports: several tables and figures, and what is said of the papers."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kdrbench.errors import KdrbenchError, counted, refusal
from kdrbench.suite.commands.options import FILE
from kdrbench.suite.commands.reports import Included, draw_figure, included, write_report, write_summary
from kdrbench.suite.commands.sources import ReportCommand, config_file, merged_folder, store_folder, which

if TYPE_CHECKING:
    from kdrbench.suite.engine.stage import Config
    from kdrbench.suite.findings.source import Source


@click.command(cls=ReportCommand)
@click.argument("names", nargs=-1)
@which
@config_file
@merged_folder
@store_folder
@click.option("--merge", "experiment", default="", help="The experiment whose records are merged before.")
@click.option("--optima", type=FILE, help="The .npz file for the best solutions of that experiment, an atlas.")
@click.option("--typeset", is_flag=True, help="Make a PDF of each table of IKDR, too.")
@click.option("--out", type=FILE, required=True, help="Folder to write to.")
def reports(
    names: tuple[str, ...],
    config: Config,
    results: Path,
    store: Path,
    experiment: str,
    optima: Path | None,
    typeset: bool,
    out: Path,
) -> None:
    """Make the tables NAMES and the figures among them, figures/NAME, in one process.

    A report that cannot be made is named, with the reason; the others are made. Pages of tables show the figures of
    their experiment, which come first or are there.
    """
    if experiment:
        merge_experiment(config, experiment, store, results)
    if optima:
        store_optima(experiment, results, store, optima)
    with included(config, results, store) as source:
        faulty = [name for name in names if not _is_made(name, source, out, typeset=typeset)]
    if faulty:
        click.echo(f"kdrbench: not made: {', '.join(faulty)}", err=True)
        click.get_current_context().exit(2)


def merge_experiment(config: Config, experiment: str, store: Path, results: Path) -> None:
    """Merge the records of an experiment below the folder ``results`` of merged tables."""
    from kdrbench.suite.commands.workflow import merge_experiments
    from kdrbench.suite.experiments.config import load_grid

    merge_experiments(load_grid(config), [experiment], store, results / "merged" / f"{experiment}.csv")


def store_optima(atlas: str, results: Path, store: Path, out: Path) -> None:
    """Store the best solution of each problem of an atlas, with which figures then compare costs."""
    from kdrbench.suite.reports.optima import best_solutions, write_solutions
    from kdrbench.suite.reports.records import read_runs

    solutions = best_solutions(read_runs(results / "merged" / f"{atlas}.csv"), store / "findings")
    write_solutions(out, solutions)
    click.echo(f"{counted(len(solutions), 'problem')} -> {out}")


def _is_made(name: str, source: Included, out: Path, *, typeset: bool) -> bool:
    """Make a table or a figure, and return whether it is made; otherwise say why not."""
    try:
        _make(name, source, out, typeset=typeset)
    except (KdrbenchError, OSError) as error:
        click.echo(f"kdrbench: {name}: {refusal(error) if isinstance(error, OSError) else error}", err=True)
    except Exception:
        click.echo(f"kdrbench: {name}: {traceback.format_exc()}", err=True)
    else:
        return True
    return False


def _make(name: str, source: Included, out: Path, *, typeset: bool) -> None:
    from kdrbench.suite.reports.outputs import tables_of
    from kdrbench.suite.reports.report_jobs import FIGURE_FOLDER

    if name.startswith(FIGURE_FOLDER):
        draw_figure(name.removeprefix(FIGURE_FOLDER), source, out / name)
        return
    from kdrbench.suite.reports.records import IKDR
    from kdrbench.suite.reports.tables.making import reports_named

    (table,) = reports_named(name, source[0])
    pictures = tuple(out / FIGURE_FOLDER / f"{one}.png" for one in tables_of(source[0])[name].figures)
    write_report(table, source, out, pictures)
    if typeset and table.kind == IKDR:
        from kdrbench.suite.reports.tables.latex import compile_pdf

        compile_pdf((out / f"{name}.tex").read_text(encoding="utf-8"), out / f"{name}.pdf")


@click.command(cls=ReportCommand)
@which
@config_file
@merged_folder
@store_folder
@click.option("--out", type=FILE, required=True, help="Folder to write to.")
def papers(config: Config, results: Path, store: Path, out: Path) -> None:
    """Write every published number beside ours, the claims of the papers with decisions, and the summaries."""
    from kdrbench.suite.findings.source import Source

    write_papers(Source(config, results, store, ".."), out)


def write_papers(source: Source, out: Path) -> None:
    """Write published numbers, claims and summaries, which are made of each other, into a folder."""
    from kdrbench.suite.findings.claims import write_claims
    from kdrbench.suite.findings.ledger import shares, write_comparisons

    write_comparisons(source.comparisons, out / "published_vs_ours")
    click.echo("\n".join(shares(source.comparisons)))
    write_claims(source.claims, out / "claims", list(source.config["run"]), source.merged)
    write_summary(source, out / "summary")
