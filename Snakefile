"""Includes and targets; what can be tested without Snakemake lives in src/kdrbench."""

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

from kdrbench.suite.reports import outputs
from kdrbench.suite.experiments.workflow import (
    bundled_data,
    bundled_sha256,
    check_files,
    closing_line,
    commands_of,
    data_to_await,
    grid_of,
    is_module,
    kept_line,
    plugin_checks,
    refuse_target,
    report_sources,
    start,
)

check_files(workflow, HOME)


configfile: str(HOME / "config.yaml")


GRID = grid_of(config, workflow, HOME)
# Merged tables and reports of this configuration; those of the papers are at the top.
R, REPORTS = outputs.result_folder(GRID.config), outputs.report_folder(GRID.config)
# The plug-ins of the user's own that are run, by the file of their findings.
CHECKS = plugin_checks(GRID.config)
TARGETS = outputs.targets(GRID.config)
# What was found, in Markdown and in print.
SUMMARY = outputs.summary_files(GRID.config)
# Best known solutions that atlases have stored before.
stored = sorted(glob("results/optima/*.npz"))
REPORT_JOBS = outputs.report_jobs(GRID.config)
awaited_by = partial(outputs.job_sources, GRID.config, paths=GRID.experiment_paths, stored=stored)
made_by, words_of = (partial(one, GRID.config) for one in (outputs.job_files, outputs.job_words))
TRACES = [path for name in GRID.experiments for path in GRID.experiment_paths(name, "traces")]
BUNDLED = bundled_data(GRID)
# The packed record that reports show beside these runs, if any.
INCLUDED = outputs.included(GRID.config)
# Asked for by the first job that makes a report: a job on a cluster starts Snakemake again, and makes none.
REPORT_SOURCES = cache(partial(report_sources, workflow, GRID, HOME))
command = commands_of(workflow)
STALE = start(workflow, GRID, HOME, R)


wildcard_constraints:
    job="[A-Za-z0-9_/-]+",
    dataset="[A-Za-z0-9_-]+",
    plugin="|".join(CHECKS) or "none",


include: "rules/data.smk"
include: "rules/run.smk"
include: "rules/check.smk"
include: "rules/common.smk"
include: "rules/report.smk"
include: "rules/targets.smk"


# Names that nothing makes are those of the workflow that uses this one.
if not is_module(workflow):

    include: "rules/unknown_target.smk"

    onsuccess:
        if line := closing_line(R, REPORTS):
            print(line, file=sys.stderr)

    onerror:
        print(kept_line(GRID), file=sys.stderr)


rule all:
    default_target: True
    input:
        outputs.outputs(GRID.config),
        SUMMARY,
        f"{REPORTS}/dashboard.html",
        outputs.system_tables(GRID.config),
        [f"{R}/merged/{name}.csv" for name in GRID.experiments],
    localrule: True
