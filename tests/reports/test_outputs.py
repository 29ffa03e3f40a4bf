"""What reports a configuration has, by name."""

from pathlib import Path

import pytest

from kdrbench.suite.engine.system import Report
from kdrbench.suite.reports import outputs
from kdrbench.suite.reports.report_jobs import captioned, merged_table, page_caption, report_jobs
from kdrbench.suite.reports.report_jobs import targets as targets_of

IKDR = {"paradigm": "supervised", "datasets": ["wine"], "folds": 2, "title": "T."}
PAPER = {"published": {"paper": "neurips2019", "table": "4", "setting": "supervised"}}
LOW_RANK_PAPER = {"paper": "lowrank2006"}
EXPERIMENTS = {
    "small": IKDR | PAPER,
    "again": IKDR | PAPER | {"folds": 1},
    "scaling_d": IKDR | {"folds": 1},
    "redrawn": IKDR | {"partitions": 2},
    "segments": {
        "paradigm": "alternative",
        "datasets": ["flower", "wine"],
        "title": "T.",
        "published": {"paper": "neurips2019", "figure": "1a"},
    },
    "kpca_tables": {"system": "kpca_trick", "learners": ["nca", "own.py:Axes"], "title": "T."},
    "kpca_figure3": {"system": "kpca_figures", "figure": 3, "datasets": ["ionosphere"], "title": "T."},
    "kpca_figure5": {"system": "kpca_figures", "figure": 5, "datasets": ["ionosphere"], "title": "T."},
    "digits": {
        "system": "low_rank",
        "published": LOW_RANK_PAPER,
        "datasets": ["digits"],
        "constraints": [0, 25],
        "title": "T.",
    },
    "size": {
        "system": "low_rank",
        "published": LOW_RANK_PAPER,
        "datasets": ["scaling-500"],
        "constraints": [50],
        "title": "T.",
    },
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


def test_figures_are_those_that_the_runs_can_show():
    figures = outputs.figures_of(CONFIG)
    assert {name for name in figures if name.startswith("small")} == {
        "small_cost_against_time",
        "small_scatter",
        "small_cost_against_calls",
        "small_loadings",
    }
    assert "again_loadings" not in figures
    assert not [name for name in figures if name.startswith("redrawn")]
    assert figures["performance_profile"].experiments == ("small", "again", "scaling_d", "segments")
    assert {"segments_segmentation", "kpca_figure3", "digits", "performance_profile", "scaling"} <= set(figures)
    assert not {"size", "fourth", "segments_cost_against_calls"} & set(figures)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("small_scatter", ["findings of small", "results/data/wine.npz"]),
        ("small_cost_against_time", ["traces of small"]),
        (
            "segments_segmentation",
            ["findings of segments", "results/data/flower.npz", "results/data/wine.npz", "results/data/flower.png"],
        ),
        ("kpca_figure3", ["findings of kpca_figure3", "results/data/ionosphere.npz"]),
        ("kpca_figure5", []),
        ("digits", []),
        ("performance_profile", [f"traces of {name}" for name in ("small", "again", "scaling_d", "segments")]),
    ],
)
def test_a_figure_waits_for_what_it_is_drawn_from(name, files):
    report = outputs.figures_of(CONFIG)[name]
    paths = outputs.report_sources(CONFIG, report, lambda experiment, kind: [f"{kind} of {experiment}"])
    assert paths == files


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("small", ["traces of small", "traces of redrawn", "results/optima/known.npz"]),
        ("kpca_table1", []),
        ("digits", []),
        ("paired_tests", []),
    ],
)
def test_a_table_waits_for_what_its_costs_are_compared_with(name, files):
    report = outputs.tables_of(CONFIG)[name]
    stored = ["results/optima/known.npz"]
    paths = outputs.report_sources(CONFIG, report, lambda experiment, kind: [f"{kind} of {experiment}"], stored)
    assert paths == files


def test_a_named_configuration_has_folders_of_its_own():
    named = CONFIG | {"name": "mine", "run": ["small"]}
    assert "reports/mine/small.tex" in outputs.outputs(named)
    assert outputs.system_tables(named) == ["results/mine/ikdr.csv"]
    assert merged_table(named, "small") == "results/mine/merged/small.csv"
    assert {path.split("/")[1] for path in outputs.outputs(named)} == {"mine"}


def test_outputs_differ_and_the_dashboard_shows_their_data():
    files = outputs.outputs(CONFIG)
    assert len(files) == len(set(files))
    parts = outputs.dashboard_parts(CONFIG)
    assert {"reports/small.json", "reports/figures/digits.json", "reports/claims.json"} <= set(parts)


def test_targets_are_experiments_tables_and_figures():
    targets = targets_of(CONFIG)
    assert set(EXPERIMENTS) <= set(targets)
    assert {"reports/small.html", "reports/again.html"} <= set(targets["neurips2019_table4"])
    assert "reports/figures/segments_segmentation.png" in targets["neurips2019_figure1a"]
    assert {f"reports/figures/{name}.png" for name in ("scaling", "figure1b")} <= set(targets["neurips2019_figure1b"])
    assert targets["ismplus_table4"] == [f"reports/complexity.{kind}" for kind in ("tex", "html", "csv", "json")]
    assert targets["kpca_table1"] == [f"reports/kpca_table1.{kind}" for kind in ("tex", "html", "csv", "json")]
    assert "kpca_table2" not in targets
    assert "reports/low_rank_text.html" in targets["lowrank_text"]
    assert targets["kpca_figure3"] == [f"reports/figures/kpca_figure3.{kind}" for kind in ("pdf", "png", "json", "txt")]
    assert targets["size"] == [f"reports/size.{kind}" for kind in ("tex", "html", "csv", "json")]


def test_every_table_figure_and_page_has_a_caption():
    flags = {file: one for job in report_jobs(CONFIG) for file, one in captioned(CONFIG, job).items()}
    flags |= {name: page_caption(name) for name in ("published_vs_ours", "claims", "dashboard")}
    assert {path for path in outputs.outputs(CONFIG) if path.endswith((".png", ".html"))} <= {
        *flags,
        "reports/published_vs_ours.html",
        "reports/claims.html",
    }
    assert all(Path(one["caption"]).read_text(encoding="utf-8").endswith(".\n") for one in flags.values())
    assert flags["reports/small.html"]["labels"] == {"of": "small", "shows": "time, cost and quality"}
    assert flags["reports/figures/performance_profile.png"]["labels"]["of"] == "all"
    assert flags["claims"]["category"] == "Published and ours"


def test_a_system_may_declare_several_reports_without_captions(monkeypatch):
    table, figure = (
        Report(f"fourth_{kind}", ("fourth",), kind, kind, maker, is_figure=kind == "picture")
        for kind, maker in (("extra", "own:page"), ("picture", "support.tiny_system:picture"))
    )
    system = type(outputs.system_of(EXPERIMENTS["fourth"]))
    monkeypatch.setattr(system, "reports", lambda self, name, config: [table, figure])
    config = CONFIG | {"run": ["fourth"]}
    assert (list(outputs.tables_of(config)), list(outputs.figures_of(config))) == (["fourth_extra"], ["fourth_picture"])
    (job,) = report_jobs(config)
    captions = {Path(flags["caption"]).name for flags in captioned(config, job).values()}
    assert captions == {"table_other.rst", "figure_other.rst"}


def test_numbers_of_a_text_are_a_table_of_its_paper():
    mine = {name: {key: one[key] for key in one if key != "published"} for name, one in EXPERIMENTS.items()}
    assert "low_rank_text" not in outputs.tables_of(CONFIG | {"experiments": mine})
