"""The commands that make what is drawn from all experiments together: time against size, paired tests, claims."""

from __future__ import annotations

from pathlib import Path

import click

_FILE = click.Path(path_type=Path)


@click.command()
@click.option("--config", type=_FILE, required=True, help="The frozen configuration.")
@click.option("--out", type=_FILE, required=True, help="Folder to write to.")
@click.argument("runs", type=_FILE, nargs=-1, required=True)
def scaling(runs: tuple[Path, ...], config: Path, out: Path) -> None:
    """Draw time against size and write the table of exponents, from the merged tables RUNS."""
    import json

    import pandas as pd

    from kdrbench.reports.chart_drawing import write_chart
    from kdrbench.reports.paper_table import write_table
    from kdrbench.reports.scaling import size_series
    from kdrbench.reports.scaling_reports import complexity_table, scaling_chart
    from kdrbench.reports.summary import read_all_runs

    merged = pd.concat([read_all_runs(path) for path in runs], ignore_index=True)
    frozen = json.loads(config.read_text(encoding="utf-8"))
    series = size_series(merged, frozen)
    write_chart(scaling_chart(series, frozen["solvers"]), out / "figures" / "scaling")
    write_table(complexity_table(series), out / "complexity")


@click.command("paired-tests")
@click.argument("runs", type=_FILE)
@click.option("--out", type=_FILE, required=True, help="Path of the table without extension.")
def paired_tests(runs: Path, out: Path) -> None:
    """Test over the folds of RUNS where methods differ, as .tex, .html, .csv and .json."""
    from kdrbench.reports import paired
    from kdrbench.reports.paired_reports import paired_table
    from kdrbench.reports.paper_table import write_table
    from kdrbench.reports.summary import read_all_runs

    table = paired_table(paired.paired_tests(read_all_runs(runs)))
    write_table(table, out)
    click.echo(table.title)


@click.command()
@click.option("--config", type=_FILE, required=True, help="The frozen configuration.")
@click.option("--runs", type=_FILE, help="The merged table of runs.")
@click.option("--kpca", type=_FILE, help="The merged table of the KPCA trick.")
@click.option("--lowrank", type=_FILE, help="The merged table of low-rank kernels.")
@click.option("--tricks", type=_FILE, help="The KPCA trick's Figure 5 as JSON.")
@click.option("--out", type=_FILE, required=True, help="Path of the page without extension.")
def claims(
    config: Path, runs: Path | None, kpca: Path | None, lowrank: Path | None, tricks: Path | None, out: Path
) -> None:
    """Decide each claim of the papers by the records that are named, as .html and .json."""
    import json

    import pandas as pd

    from kdrbench.reports.chart import Chart
    from kdrbench.reports.claims import Records, decided, write_claims
    from kdrbench.reports.claims.kpca import points_of_figure_5
    from kdrbench.reports.summary import read_all_runs

    def read(path: Path | None) -> pd.DataFrame:
        return pd.DataFrame() if path is None else read_all_runs(path)

    points = pd.DataFrame() if tricks is None else points_of_figure_5(Chart.from_json(tricks.read_text("utf-8")))
    records = Records(read(runs), read(kpca), read(lowrank), points, json.loads(config.read_text(encoding="utf-8")))
    found = decided(records)
    parts = [name for name, path in (("the KPCA trick", kpca), ("low-rank kernels", lowrank)) if path]
    write_claims(found, out, [*(records.config["run"] if runs else []), *parts])
    for claim, result in found:
        click.echo(f"{result.decision}: {claim.words} - {result.evidence}")
