"""Which reports are made by one job, what that waits for, and what it makes."""

import shlex

from kdrbench.suite.reports.outputs import outputs
from kdrbench.suite.reports.report_jobs import (
    experiments_by_target,
    job_files,
    job_sources,
    job_words,
    report_jobs,
    targets,
)

IKDR = {"paradigm": "supervised", "datasets": ["wine"], "title": "T."}
PAPER = {"published": {"paper": "neurips2019", "table": "4", "setting": "supervised"}}
EXPERIMENTS = {
    "first": IKDR | PAPER | {"folds": 2},
    "redrawn": IKDR | {"partitions": 2},
    "second": IKDR | {"folds": 1},
    "charts": {"system": "atlas", "title": "T."},
    "trick": {"system": "kpca_trick", "learners": ["nca"], "title": "T."},
}
CONFIG = {"run": list(EXPERIMENTS), "experiments": EXPERIMENTS}
WITHOUT_ATLAS = CONFIG | {"run": ["first", "second", "trick"]}


def jobs_of(config):
    return {job.name: job for job in report_jobs(config)}


def names_of(reports):
    return [one.name for one in reports]


def sources_of(config, name):
    return job_sources(config, jobs_of(config)[name], lambda experiment, kind: [f"{kind} of {experiment}"])


def test_reports_that_wait_for_one_experiment_share_its_job():
    job = jobs_of(WITHOUT_ATLAS)["experiment_first"]
    assert names_of(job.tables) == ["first"]
    assert set(names_of(job.figures)) == {
        f"first_{kind}" for kind in ("cost_against_time", "cost_against_calls", "scatter", "loadings")
    }
    assert "experiment_trick" in jobs_of(WITHOUT_ATLAS)
    several = jobs_of(WITHOUT_ATLAS)["compared_paired_tests"]
    assert names_of([*several.tables, *several.figures]) == ["paired_tests", "performance_profile"]


def test_only_reports_of_gaps_wait_for_an_atlas():
    jobs = jobs_of(CONFIG)
    assert names_of(jobs["experiment_second"].figures) == ["second_scatter"]
    assert names_of(jobs["compared_second"].tables) == ["second"]
    assert sources_of(CONFIG, "experiment_second") == [
        *("records of second", "findings of second", "results/data/wine.npz")
    ]
    assert {"results/merged/second.csv", "results/optima/charts.npz"} <= set(sources_of(CONFIG, "compared_second"))
    assert sources_of(CONFIG, "experiment_charts") == ["records of charts", "findings of charts"]


def test_a_table_waits_for_redrawn_partitions_figures_do_not():
    sources = sources_of(CONFIG, "compared_first")
    assert {"results/merged/redrawn.csv", "reports/figures/first_cost_against_time.png"} <= set(sources)
    assert "results/merged/redrawn.csv" not in sources_of(CONFIG, "compared_first_cost_against_time")


def test_every_file_is_made_by_one_job():
    made = [path for job in report_jobs(CONFIG) for path in job_files(CONFIG, job)]
    assert len(made) == len(set(made))
    pages = {f"reports/{name}" for name in ("published_vs_ours.csv", "published_vs_ours.html", "claims.html")}
    assert {*outputs(CONFIG)} - pages - {"reports/claims.json"} == {
        path for path in made if path.startswith("reports/")
    }
    merged = {f"results/merged/{name}.csv" for name in EXPERIMENTS}
    assert set(made) - set(outputs(CONFIG)) == merged | {"results/optima/charts.npz"}


def test_a_target_waits_for_no_experiment_but_those_behind_it():
    made_by = {path: job for job in report_jobs(CONFIG) for path in job_files(CONFIG, job)}

    def awaited(path):
        sources = job_sources(CONFIG, made_by[path], lambda experiment, kind: [f"{kind} of {experiment}"])
        own = {one.rpartition(" of ")[2] for one in sources if " of " in one}
        return own.union(*(awaited(one) for one in sources if one in made_by))

    behind = experiments_by_target(CONFIG)
    for name, files in targets(CONFIG).items():
        assert set().union(*map(awaited, files)) == set(behind[name])
    assert awaited("reports/figures/first_scatter.png") == {"first"}


def test_the_words_of_a_job_are_what_its_command_makes():
    jobs = jobs_of(CONFIG)
    words = shlex.split(job_words(CONFIG, jobs["experiment_charts"]))
    assert words[:2] == ["figures/charts", "charts"]
    assert words[2:] == ["--merge", "charts", "--optima", "results/optima/charts.npz"]
    assert "--merge" not in job_words(CONFIG, jobs["compared_second"])
