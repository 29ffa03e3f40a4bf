"""The commands that make tables, figures and lists of runs. Each imports what it needs."""

from __future__ import annotations

from pathlib import Path

import click

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("experiment")
@click.option("--config", type=_FILE, required=True, help="The frozen configuration.")
@click.option("--runs", type=_FILE, required=True, help="The merged table of runs.")
@click.option("--figure", type=_FILE, required=True, help="The PNG figure that the page embeds.")
@click.option("--out", type=_FILE, required=True, help="Folder to write to.")
def table(experiment: str, config: Path, runs: Path, figure: Path, out: Path) -> None:
    """Write the table of EXPERIMENT as .tex, .html and .csv."""
    import json

    from kdrbench.bench.controls import controls_of
    from kdrbench.files import write_text
    from kdrbench.reports.html import render_html
    from kdrbench.reports.latex import render_latex
    from kdrbench.reports.layout import lay_out
    from kdrbench.reports.ledger import make_ledger
    from kdrbench.reports.spreadsheet import render_csv
    from kdrbench.reports.summary import read_runs

    frozen = json.loads(config.read_text(encoding="utf-8"))
    definition = frozen["experiments"][experiment]
    chosen = read_runs(runs, experiment)
    ledger = make_ledger(chosen, definition, controls_of(experiment, frozen))
    layout = lay_out(ledger, definition)
    write_text(out / f"{experiment}.tex", render_latex(layout))
    write_text(out / f"{experiment}.csv", render_csv(ledger))
    write_text(out / f"{experiment}.html", render_html(layout, ledger, chosen, figure.read_bytes()))


@click.command()
@click.argument("fragment", type=_FILE)
@click.option("--out", type=_FILE, required=True, help="The PDF to write.")
def typeset(fragment: Path, out: Path) -> None:
    """Typeset the LaTeX table FRAGMENT on a page of its own."""
    from kdrbench.reports.latex import compile_pdf

    compile_pdf(fragment.read_text(encoding="utf-8"), out)


@click.command()
@click.argument("experiment")
@click.option("--config", type=_FILE, required=True, help="The frozen configuration.")
@click.option("--runs", type=_FILE, required=True, help="The merged table of runs.")
@click.option("--traces", type=_FILE, required=True, help="Folder of traces.")
@click.option("--out", type=_FILE, required=True, help="Path of the figure without extension.")
def figure(experiment: str, config: Path, runs: Path, traces: Path, out: Path) -> None:
    """Draw cost against time of EXPERIMENT as .pdf and .png, with its data as .json."""
    import json

    from kdrbench.reports.chart_drawing import write_chart
    from kdrbench.reports.cost_against_time import cost_against_time
    from kdrbench.reports.summary import read_runs

    frozen = json.loads(config.read_text(encoding="utf-8"))
    definition = frozen["experiments"][experiment]
    chart = cost_against_time(read_runs(runs, experiment), traces, experiment, definition, defined=frozen["solvers"])
    write_chart(chart, out)


@click.command("published-vs-ours")
@click.option("--config", type=_FILE, required=True, help="The frozen configuration.")
@click.option("--runs", type=_FILE, required=True, help="The merged table of all runs.")
@click.option("--kpca", type=_FILE, help="The merged rows of the KPCA trick, where that was run.")
@click.option("--lowrank", type=_FILE, help="The merged table of low-rank kernel learning, where that was run.")
@click.option("--out", type=_FILE, required=True, help="Path of the list without extension.")
def published_vs_ours(config: Path, runs: Path, kpca: Path | None, lowrank: Path | None, out: Path) -> None:
    """Write every published number beside ours as .csv and .html, and say what share of them is met."""
    import json

    from kdrbench.files import write_text
    from kdrbench.reports.comparison import compare, comparison_csv, shares
    from kdrbench.reports.comparison_page import comparison_html
    from kdrbench.reports.html import VERDICT_RULES
    from kdrbench.reports.summary import read_all_runs

    definition = json.loads(config.read_text(encoding="utf-8"))
    comparisons = compare(read_all_runs(runs), definition)
    if kpca is not None:
        from kdrbench.reports.metric_comparison import compare_metric
        from kdrbench.reports.metric_summary import read_metric_rows

        comparisons += compare_metric(read_metric_rows(kpca))
    if lowrank is not None:
        from kdrbench.reports.lowrank import compare_lowrank

        comparisons += compare_lowrank(read_all_runs(lowrank), definition["lowrank"])
    write_text(out.parent / f"{out.name}.csv", comparison_csv(comparisons))
    write_text(out.parent / f"{out.name}.html", comparison_html(comparisons, VERDICT_RULES))
    click.echo("\n".join(shares(comparisons)))


@click.command()
@click.argument("parts", type=_FILE, nargs=-1)
@click.option("--config", type=_FILE, required=True, help="The frozen configuration.")
@click.option("--runs", type=_FILE, required=True, help="The merged table of all runs.")
@click.option("--traces", type=_FILE, required=True, help="Folder of traces.")
@click.option("--ledger", type=_FILE, required=True, help="The published numbers and ours, as .csv.")
@click.option("--out", type=_FILE, required=True, help="The page to write.")
def dashboard(parts: tuple[Path, ...], config: Path, runs: Path, traces: Path, ledger: Path, out: Path) -> None:
    """Write one page with all runs, and with the figures, tables and claims whose JSON is given as PARTS."""
    import json

    from kdrbench.files import write_text
    from kdrbench.reports.dashboard.ledger import comparisons_from_csv
    from kdrbench.reports.dashboard.page import read_parts, render_dashboard
    from kdrbench.reports.summary import read_all_runs

    definition = json.loads(config.read_text(encoding="utf-8"))
    comparisons = comparisons_from_csv(ledger.read_text(encoding="utf-8"))
    page = render_dashboard(read_all_runs(runs), definition, traces, comparisons, read_parts(parts))
    write_text(out, page)
    click.echo(f"{len(page) / 1e6:.1f} MB -> {out}")


@click.command()
@click.argument("runs", type=_FILE)
@click.argument("reports", type=_FILE)
def where(runs: Path, reports: Path) -> None:
    """Say how the runs ended and where tables and figures lie."""
    import csv
    from collections import Counter

    with runs.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    endings = Counter(row["status"] for row in rows)
    click.echo(f"{endings.total()} runs: " + ", ".join(f"{count} {name}" for name, count in sorted(endings.items())))
    if drifted := sum(row["drifted"] == "True" for row in rows):
        click.echo(f"{drifted} of them on cores whose speed drifted by more than 10 %: their times are marked")
    for kind, folder in (("table", reports), ("figure", reports / "figures")):
        for path in sorted(folder.glob("*.*")):
            click.echo(f"{kind}: {path}")
