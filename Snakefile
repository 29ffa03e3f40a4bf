"""Includes and targets; what can be tested without Snakemake lives in src/kdrbench."""

import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.19")

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from kdrbench.bench.workflow import (
    FIGURE_KINDS,
    dashboard_parts,
    data_to_await,
    findings_of,
    load_grid,
    pictures_of,
    prepared_of,
    records_of,
    report_sources,
    reports_of,
    shell_prefix,
    traces_of,
)


configfile: str(Path(workflow.basedir) / "config.yaml")


GRID = load_grid(config)
REPORT_SOURCES = report_sources()
shell.prefix(shell_prefix(workflow))


wildcard_constraints:
    experiment="|".join(GRID.experiments),
    dataset="[A-Za-z0-9_-]+",
    kernel="[A-Za-z0-9_-]+",
    solver="[A-Za-z0-9_-]+",
    folds="[0-9]+-[0-9]+",


# Short, or in want of a network: on a cluster these run where Snakemake does.
localrules:
    all,
    demo,
    table4,
    table5,
    ismplus,
    figure1a,
    reports,
    prepare_data,
    freeze_config,
    merge_experiment,
    merge_runs,
    table,
    typeset_table,
    published_vs_ours,
    figure_cost_against_time,
    figure_cost_against_calls,
    figure_performance_profile,
    figure_loadings,
    figure_scatter,
    figure_segmentation,
    prepare_picture,
    dashboard,


include: "rules/data.smk"
include: "rules/ikdr.smk"
include: "rules/report.smk"
include: "rules/figures.smk"
include: "rules/targets.smk"


rule all:
    default_target: True
    input:
        rules.reports.input,
        "results/runs.csv",
