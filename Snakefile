"""Includes and targets; what can be tested without Snakemake lives in src/kdrbench."""

import shutil
import sys
from functools import cache, partial
from glob import glob
from pathlib import Path

from snakemake.utils import min_version

min_version("9.19")

# The folder of this file, also where another workflow uses it as a module; of a remote module, that of copies.
HOME = Path(workflow.current_basedir.get_path_or_uri(secret_free=True))
if not HOME.is_dir():
    HOME = Path(workflow.source_path("config.yaml")).parent
sys.path.insert(0, str(HOME / "src"))

from kdrbench.reports import captions, outputs
from kdrbench.reports.summary.contents import summary_files
from kdrbench.reports.targets import targets
from kdrbench.stages.plugin_checks import plugin_checks
from kdrbench.stages.workflow import (
    be_found_by_jobs,
    check_files,
    closing_line,
    commands_of,
    data_to_await,
    folder_of,
    frozen_word,
    grid_of,
    is_module,
    job_options,
    listed,
    merged_tables,
    refuse_target,
    report_sources,
    start_jobs_at_once,
)

check_files(workflow, HOME)


configfile: str(HOME / "config.yaml")


GRID = grid_of(config, workflow, HOME)
# Merged tables and reports of this configuration; those of the papers are at the top.
R, REPORTS = folder_of("results", GRID), folder_of("reports", GRID)
MERGED = merged_tables(GRID)
TABLES, FIGURES = outputs.tables_of(GRID.config), outputs.figures_of(GRID.config)
# Tables are typeset where a TeX is installed.
TYPESET = shutil.which("pdflatex") is not None
# The plug-ins of the user's own that are run, by the file of their findings.
CHECKS = plugin_checks(GRID.config)
TARGETS = targets(GRID.config, typeset=TYPESET)
# What was found, in Markdown and in print.
SUMMARY = summary_files(GRID.config, typeset=TYPESET)
# Atlases of optima, and what earlier ones have stored of best known solutions.
ATLASES = GRID.systems.get("atlas", [])
stored = sorted(glob("results/optima/*.npz"))
drawn_from, laid_out_from = (
    partial(sources, GRID.config, paths=GRID.experiment_paths, stored=stored)
    for sources in (outputs.figure_sources, outputs.table_sources)
)
# The packed record that reports show beside these runs, if any.
INCLUDED = outputs.included(GRID.config)
# Asked for by the first job that makes a report: a job on a cluster starts Snakemake again, and makes none.
REPORT_SOURCES = cache(partial(report_sources, workflow, HOME))
command = commands_of(workflow)
be_found_by_jobs()


wildcard_constraints:
    job="[A-Za-z0-9_/-]+",
    dataset="[A-Za-z0-9_-]+",
    plugin="|".join(CHECKS) or "none",
    merged="|".join(MERGED),
    atlas="|".join(ATLASES) or "none",
    table="|".join(TABLES) or "none",
    figure="|".join(FIGURES) or "none",


include: "rules/data.smk"
include: "rules/run.smk"
include: "rules/check.smk"
include: "rules/report.smk"
include: "rules/figures.smk"
include: "rules/targets.smk"


# Names that nothing makes are those of the workflow that uses this one.
if not is_module(workflow):

    include: "rules/unknown_target.smk"

    onstart:
        start_jobs_at_once(workflow)

    onsuccess:
        if said := closing_line(R, REPORTS):
            print(said, file=sys.stderr)


rule all:
    default_target: True
    input:
        outputs.outputs(GRID.config, typeset=TYPESET),
        SUMMARY,
        f"{REPORTS}/dashboard.html",
        [f"{R}/{table}.csv" for table in MERGED],
    localrule: True
