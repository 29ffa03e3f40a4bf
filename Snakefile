"""Includes and targets; what can be tested without Snakemake lives in src/kdrbench."""

import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.19")

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from kdrbench.bench.lowrank_grid import LowrankGrid
from kdrbench.bench.metric_grid import MetricGrid
from kdrbench.bench.metric_workflow import (
    metric_data_of,
    metric_figure_data,
    metric_option,
    metric_records_of,
    metric_reports_of,
    metric_rows_of,
    metric_tables_of,
)
from kdrbench.bench.workflow import (
    FIGURE_KINDS,
    claim_records_of,
    dashboard_parts,
    data_to_await,
    environment_of,
    findings_of,
    job_options,
    load_grid,
    overall_reports,
    pictures_of,
    prepared_of,
    records_of,
    report_sources,
    reports_of,
    scaling_reports_of,
    scaling_runs_of,
    shell_prefix,
    traces_of,
)
from kdrbench.reports.shown import shown


configfile: str(Path(workflow.basedir) / "config.yaml")


GRID = load_grid(config, workflow)
METRIC = MetricGrid(config, environment_of(workflow, "ikdr.yaml"))
LOWRANK = LowrankGrid(config, environment_of(workflow, "lowrank.yaml"))
REPORT_SOURCES = report_sources(workflow)
# All but the dashboard, which shows them.
REPORTS = [
    *reports_of(GRID),
    *scaling_reports_of(GRID),
    *metric_reports_of(METRIC),
    *LOWRANK.reports(),
    *overall_reports(),
]
shell.prefix(shell_prefix(workflow))


wildcard_constraints:
    experiment="|".join(GRID.experiments),
    dataset="[A-Za-z0-9_-]+",
    cells="[A-Za-z0-9_/-]+",
    splits="[0-9]+-[0-9]+",
    number="[0-9]+",
    task="[A-Za-z0-9_-]+",
    method="[A-Za-z0-9_-]+",
    runs="[0-9]+-[0-9]+",


# Short, or in want of a network: on a cluster these run where Snakemake does.
localrules:
    all,
    demo,
    table4,
    table5,
    ismplus,
    kpca,
    figure1a,
    reports,
    prepare_data,
    freeze_config,
    merge_experiment,
    merge_runs,
    merge_metric,
    metric_tables,
    merge_lowrank,
    report_lowrank,
    figure_lowrank,
    lowrank,
    table,
    typeset_table,
    published_vs_ours,
    figure_cost_against_time,
    scaling,
    scaling_reports,
    paired_tests,
    claims,
    dashboard,
    figure_cost_against_calls,
    figure_performance_profile,
    figure_loadings,
    figure_scatter,
    figure_segmentation,
    prepare_picture,


include: "rules/data.smk"
include: "rules/ikdr.smk"
include: "rules/metric.smk"
include: "rules/lowrank.smk"
include: "rules/report.smk"
include: "rules/claims.smk"
include: "rules/figures.smk"
include: "rules/targets.smk"


rule all:
    default_target: True
    input:
        rules.reports.input,
        "results/runs.csv",
