"""The commands that make the tables and figures of low-rank kernel learning. Each imports what it needs."""

from __future__ import annotations

from pathlib import Path

import click

_FILE = click.Path(path_type=Path)


@click.command()
@click.option("--config", type=_FILE, required=True, help="The frozen configuration.")
@click.option("--rows", type=_FILE, required=True, help="The merged table of rows.")
@click.option("--out", type=_FILE, required=True, help="Path of the tables without extension.")
def lowrank_report(config: Path, rows: Path, out: Path) -> None:
    """Write the text's numbers beside ours, and OUT_measured with all that was measured, each as four files."""
    import json

    import pandas as pd

    from kdrbench.reports.lowrank import compare_lowrank, measured_table, text_table
    from kdrbench.reports.paper_table import write_table

    section, found = json.loads(config.read_text(encoding="utf-8"))["lowrank"], pd.read_csv(rows)
    write_table(text_table(compare_lowrank(found, section)), out)
    write_table(measured_table(found, section), out.with_name(f"{out.name}_measured"))


@click.command()
@click.argument("task")
@click.option("--config", type=_FILE, required=True, help="The frozen configuration.")
@click.option("--rows", type=_FILE, required=True, help="The merged table of rows.")
@click.option("--out", type=_FILE, required=True, help="Path of the figure without extension.")
def lowrank_figure(task: str, config: Path, rows: Path, out: Path) -> None:
    """Draw quality and sweeps of TASK against the number of constraints as .pdf and .png, with the data as .json."""
    import json

    import pandas as pd

    from kdrbench.reports.chart_drawing import write_chart
    from kdrbench.reports.lowrank_chart import lowrank_chart

    section = json.loads(config.read_text(encoding="utf-8"))["lowrank"]
    write_chart(lowrank_chart(pd.read_csv(rows), task, section), out)
