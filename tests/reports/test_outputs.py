"""What reports a configuration has, by name; which one job makes, what it waits for, and what it makes."""

import shlex

import pytest

from kdrbench.suite.engine.system import Report
from kdrbench.suite.reports import outputs

IKDR = {"paradigm": "supervised", "datasets": ["wine"], "folds": 2, "title": "T."}
PAPER = {"published": {"paper": "neurips2019", "table": "4", "setting": "supervised"}}
DRAWN = {"published": {"paper": "neurips2019", "figure": "1a"}}
FIGURES = {"system": "kpca_figures", "datasets": ["ionosphere"], "title": "T."}
LOW_RANK = {"system": "low_rank", "published": {"paper": "lowrank2006"}, "title": "T."}
EXPERIMENTS = {
    "small": IKDR | PAPER,
    "again": IKDR | PAPER | {"folds": 1},
    "scaling_d": IKDR | {"folds": 1},
    "redrawn": IKDR | {"partitions": 2},
    "segments": {"paradigm": "alternative", "datasets": ["flower", "wine"], "title": "T."} | DRAWN,
    "kpca_tables": {"system": "kpca_trick", "learners": ["nca", "own.py:Axes"], "title": "T."},
    "kpca_figure3": FIGURES | {"figure": 3},
    "kpca_figure5": FIGURES | {"figure": 5},
    "digits": LOW_RANK | {"datasets": ["digits"], "constraints": [0, 25]},
    "size": LOW_RANK | {"datasets": ["scaling-500"], "constraints": [50]},
    "fourth": {"system": "support.tiny_system:TinySystem", "title": "T."},
}
CONFIG = {"run": list(EXPERIMENTS), "experiments": EXPERIMENTS}


def test_experiments_have_tables_alone_and_together():
    tables = outputs.tables_of(CONFIG)
    assert list(tables) == [
        *("small", "again", "scaling_d", "redrawn", "segments"),
        *("kpca_table1", "kpca_own_py_Axes", "kpca_tests", "kpca_times"),
        *("digits", "size", "fourth", "paired_tests", "complexity", "low_rank_text"),
    ]
    assert tables["kpca_tests"].experiments == ("kpca_tables",)
    assert tables["complexity"].experiments == ("scaling_d",)
    assert tables["small"].figures == ("small_cost_against_time",)
    assert tables["fourth"].kind == "other"
    # Folds of redrawn partitions would count as more folds.
    assert tables["paired_tests"].experiments == ("small", "again", "scaling_d", "segments")
    # Numbers of a text are a table of its paper.
    mine = {name: {key: one[key] for key in one if key != "published"} for name, one in EXPERIMENTS.items()}
    assert "low_rank_text" not in outputs.tables_of(CONFIG | {"experiments": mine})


def test_figures_are_those_that_the_runs_can_show():
    figures = outputs.figures_of(CONFIG)
    kinds = ("cost_against_time", "cost_against_calls", "scatter", "loadings")
    assert {name for name in figures if name.startswith("small")} == {f"small_{kind}" for kind in kinds}
    assert "again_loadings" not in figures
    assert not [name for name in figures if name.startswith("redrawn")]
    assert figures["performance_profile"].experiments == ("small", "again", "scaling_d", "segments")
    assert {"segments_segmentation", "kpca_figure3", "digits", "performance_profile", "scaling"} <= set(figures)
    assert not {"size", "fourth", "segments_cost_against_calls"} & set(figures)


@pytest.mark.parametrize(
    ("name", "kinds", "files"),
    [
        ("small_scatter", "findings of small", ["data/wine.npz"]),
        ("small_cost_against_time", "traces of small", ["optima/known.npz"]),
        ("segments_segmentation", "findings of segments", ["data/flower.npz", "data/wine.npz", "data/flower.png"]),
        ("kpca_figure3", "findings of kpca_figure3", ["data/ionosphere.npz"]),
        ("kpca_figure5", "", []),
        ("digits", "", []),
        ("small", "traces of small, traces of redrawn", ["optima/known.npz"]),
        ("paired_tests", "", []),
    ],
)
def test_a_report_waits_for_what_it_is_made_of(name, kinds, files):
    # A figure and a table may have one name.
    report = (outputs.tables_of(CONFIG) | outputs.figures_of(CONFIG))[name]
    paths = outputs.report_sources(CONFIG, report, of_experiment, ["results/optima/known.npz"])
    assert paths == [*filter(None, kinds.split(", ")), *(f"results/{file}" for file in files)]


def test_a_named_configuration_has_folders_of_its_own():
    named = CONFIG | {"name": "mine", "run": ["small"]}
    assert "reports/mine/small.tex" in outputs.outputs(named)
    assert outputs.system_tables(named) == ["results/mine/ikdr.csv"]
    assert outputs.merged_table(named, "small") == "results/mine/merged/small.csv"
    assert {path.split("/")[1] for path in outputs.outputs(named)} == {"mine"}


def test_targets_are_experiments_tables_and_figures():
    targets = outputs.targets(CONFIG)
    assert set(EXPERIMENTS) <= set(targets)
    assert {"reports/small.html", "reports/again.html"} <= set(targets["neurips2019_table4"])
    assert "reports/figures/segments_segmentation.png" in targets["neurips2019_figure1a"]
    assert {f"reports/figures/{name}.png" for name in ("scaling", "figure1b")} <= set(targets["neurips2019_figure1b"])
    for target, table in (("ismplus_table4", "complexity"), ("kpca_table1", "kpca_table1"), ("size", "size")):
        assert targets[target] == [f"reports/{table}.{kind}" for kind in ("tex", "html", "csv", "json")]
    assert "kpca_table2" not in targets
    assert "reports/low_rank_text.html" in targets["lowrank_text"]
    assert targets["kpca_figure3"] == [f"reports/figures/kpca_figure3.{kind}" for kind in ("pdf", "png", "json")]


def test_every_table_and_figure_is_labelled_in_snakemakes_report():
    flags = {}
    for job in outputs.report_jobs(CONFIG):
        flags |= outputs.report_flags(CONFIG, job)
    assert {path for path in outputs.outputs(CONFIG) if path.endswith((".png", ".html"))} == {*flags}
    small = {"of": "small", "shows": "time, cost and quality"}
    assert flags["reports/small.html"] == {"category": "Tables", "labels": small}
    profile = flags["reports/figures/performance_profile.png"]
    assert (profile["category"], profile["labels"]["of"]) == ("Figures", "all")


def test_a_system_may_declare_several_reports(monkeypatch):
    table, figure = (
        Report(f"fourth_{kind}", ("fourth",), kind, kind, "own:page", is_figure=kind == "picture")
        for kind in ("extra", "picture")
    )
    system = type(outputs.system_of(EXPERIMENTS["fourth"]))
    monkeypatch.setattr(system, "reports", lambda self, name, config: [table, figure])
    config = CONFIG | {"run": ["fourth"]}
    assert (list(outputs.tables_of(config)), list(outputs.figures_of(config))) == (["fourth_extra"], ["fourth_picture"])


FEW = {
    "first": IKDR | PAPER | {"folds": 2},
    "redrawn": IKDR | {"partitions": 2},
    "second": IKDR | {"folds": 1},
    "charts": {"system": "atlas", "title": "T.", "cells_of": ["first"], "datasets": ["wine"]},
    "trick": {"system": "kpca_trick", "learners": ["nca"], "title": "T."},
}
JOBS = {"run": list(FEW), "experiments": FEW}
WITHOUT_ATLAS = JOBS | {"run": ["first", "second", "trick"]}


def jobs_of(config):
    return {job.name: job for job in outputs.report_jobs(config)}


def names_of(reports):
    return [one.name for one in reports]


def of_experiment(experiment, kind):
    return [f"{kind} of {experiment}"]


def sources_of(config, name):
    return outputs.job_sources(config, jobs_of(config)[name], of_experiment)


def test_reports_that_wait_for_one_experiment_share_its_job():
    *figures, table = names_of(jobs_of(WITHOUT_ATLAS)["experiment_first"].reports)
    kinds = ("cost_against_time", "cost_against_calls", "scatter", "loadings")
    assert (table, set(figures)) == ("first", {f"first_{kind}" for kind in kinds})
    assert "experiment_trick" in jobs_of(WITHOUT_ATLAS)
    several = jobs_of(WITHOUT_ATLAS)["compared_paired_tests"]
    assert names_of(several.reports) == ["performance_profile", "paired_tests"]


def test_only_reports_of_gaps_wait_for_an_atlas():
    jobs = jobs_of(JOBS)
    assert names_of(jobs["experiment_second"].reports) == ["second_scatter"]
    assert "second" in names_of(jobs["compared_second"].reports)
    own = ["records of second", "findings of second", "results/data/wine.npz"]
    assert sources_of(JOBS, "experiment_second") == own
    assert {"results/merged/second.csv", "results/optima/charts.npz"} <= set(sources_of(JOBS, "compared_second"))
    assert sources_of(JOBS, "experiment_charts") == ["records of charts", "findings of charts"]
    # Nor do those of other data or another paradigm, whose problems are none of its.
    for change in ({"datasets": ["iris"]}, {"paradigm": "unsupervised"}):
        apart = JOBS | {"experiments": FEW | {"second": FEW["second"] | change}}
        assert "second" in names_of(jobs_of(apart)["experiment_second"].reports)
    # A table waits for redrawn partitions, figures do not.
    sources = sources_of(JOBS, "compared_first")
    assert {"results/merged/redrawn.csv", "reports/figures/first_cost_against_time.png"} <= set(sources)
    assert "results/merged/redrawn.csv" not in sources_of(JOBS, "compared_first_cost_against_time")


def test_every_file_is_made_by_one_job_of_what_is_behind_it():
    made = [(path, job) for job in outputs.report_jobs(JOBS) for path in outputs.job_files(JOBS, job)]
    made_by = dict(made)
    assert len(made) == len(made_by)
    on_papers = {"reports/published_vs_ours.csv", "reports/claims.json"}
    assert {*outputs.outputs(JOBS)} - on_papers == {path for path in made_by if path.startswith("reports/")}
    merged = {f"results/merged/{name}.csv" for name in FEW}
    assert set(made_by) - set(outputs.outputs(JOBS)) == merged | {"results/optima/charts.npz"}

    def awaited(path):
        sources = outputs.job_sources(JOBS, made_by[path], of_experiment)
        own = {one.rpartition(" of ")[2] for one in sources if " of " in one}
        return own.union(*(awaited(one) for one in sources if one in made_by))

    # A target waits for no experiment but those behind it.
    behind = outputs.experiments_by_target(JOBS)
    for name, files in outputs.targets(JOBS).items():
        assert set().union(*map(awaited, files)) == set(behind[name])
    assert awaited("reports/figures/first_scatter.png") == {"first"}


def test_the_words_of_a_job_are_what_its_command_makes():
    jobs = jobs_of(JOBS)
    words = shlex.split(outputs.job_words(JOBS, jobs["experiment_charts"]))
    assert words[:2] == ["figures/charts", "charts"]
    assert words[2:] == ["--merge", "charts", "--optima", "results/optima/charts.npz"]
    assert "--merge" not in outputs.job_words(JOBS, jobs["compared_second"])
