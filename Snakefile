"""Includes and targets; what can be tested without Snakemake lives in src/kdrbench."""

import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.19")

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from kdrbench.stages.workflow import (
    check_targets,
    data_to_await,
    folder_of,
    grid_of,
    job_options,
    merged_tables,
    report_sources,
    shell_prefix,
)


configfile: str(Path(workflow.basedir) / "config.yaml")


GRID = grid_of(config, workflow)
# Merged tables and reports of this configuration; those of the papers are at the top.
R, REPORTS = folder_of("results", GRID), folder_of("reports", GRID)
MERGED = merged_tables(GRID)
REPORT_SOURCES = report_sources(workflow)
shell.prefix(shell_prefix(workflow))


wildcard_constraints:
    experiment="|".join(GRID.experiments),
    dataset="[A-Za-z0-9_-]+",
    cells="[A-Za-z0-9_/-]+",


# Short, or needing network access: on a cluster these run where Snakemake does.
localrules:
    all,
    prepare_data,
    freeze_config,
    merge,


include: "rules/data.smk"
include: "rules/run.smk"


rule all:
    default_target: True
    input:
        [f"{R}/{table}.csv" for table in MERGED],
