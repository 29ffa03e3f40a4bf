"""Includes and targets; what can be tested without Snakemake lives in src/kdrbench."""

import shutil
import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.19")

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from kdrbench.reports import captions, outputs
from kdrbench.stages.plugin_checks import plugin_checks
from kdrbench.stages.workflow import (
    check_files,
    data_to_await,
    folder_of,
    frozen_word,
    grid_of,
    job_options,
    listed,
    merged_tables,
    refuse_target,
    report_sources,
    shell_prefix,
)

check_files(workflow)


configfile: str(Path(workflow.basedir) / "config.yaml")


GRID = grid_of(config, workflow)
# Merged tables and reports of this configuration; those of the papers are at the top.
R, REPORTS = folder_of("results", GRID), folder_of("reports", GRID)
MERGED = merged_tables(GRID)
TABLES, FIGURES = outputs.tables_of(GRID.config), outputs.figures_of(GRID.config)
# Tables are typeset where a TeX is installed.
TYPESET = shutil.which("pdflatex") is not None
# The plug-ins of the user's own that are run, by the file of their findings.
CHECKS = plugin_checks(GRID.config)
TARGETS = outputs.targets(GRID.config, typeset=TYPESET)
REPORT_SOURCES = report_sources(workflow)
shell.prefix(shell_prefix(workflow))


wildcard_constraints:
    job="[A-Za-z0-9_/-]+",
    dataset="[A-Za-z0-9_-]+",
    plugin="|".join(CHECKS) or "none",
    merged="|".join(MERGED),
    table="|".join(TABLES) or "none",
    figure="|".join(FIGURES) or "none",


# Short, or needing network access: on a cluster these run where Snakemake does.
localrules:
    all,
    prepare_data,
    prepare_picture,
    freeze_config,
    check_plugin,
    merge,
    table,
    typeset_table,
    figure,
    published_vs_ours,
    claims,
    dashboard,


include: "rules/data.smk"
include: "rules/run.smk"
include: "rules/check.smk"
include: "rules/report.smk"
include: "rules/figures.smk"
include: "rules/targets.smk"


rule all:
    default_target: True
    input:
        outputs.outputs(GRID.config, typeset=TYPESET),
        f"{REPORTS}/dashboard.html",
        [f"{R}/{table}.csv" for table in MERGED],
