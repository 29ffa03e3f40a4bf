"""Includes and targets; what can be tested without Snakemake lives in src/kdrbench."""

import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.19")

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from kdrbench.bench.workflow import data_to_await, load_grid, shell_prefix, tex_reports


configfile: str(Path(workflow.basedir) / "config.yaml")


GRID = load_grid(config)
shell.prefix(shell_prefix(workflow))


wildcard_constraints:
    experiment="[A-Za-z0-9_-]+",
    dataset="[A-Za-z0-9_-]+",
    kernel="[A-Za-z0-9_-]+",
    solver="[A-Za-z0-9_-]+",
    folds="[0-9]+-[0-9]+",


# Short, or in want of a network: on a cluster these run where Snakemake does.
localrules:
    prepare_data,
    freeze_config,
    merge_runs,
    table,
    typeset_table,
    figure_cost_against_time,


rule all:
    default_target: True
    input:
        expand(
            "reports/{experiment}.{kind}",
            experiment=GRID.experiments,
            kind=["tex", "html", "csv"],
        ),
        expand(
            "reports/figures/{experiment}_cost_against_time.{kind}",
            experiment=GRID.experiments,
            kind=["pdf", "png"],
        ),
        tex_reports(GRID),


include: "rules/data.smk"
include: "rules/ikdr.smk"
include: "rules/report.smk"
