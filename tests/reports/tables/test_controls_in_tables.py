"""Controls and numbers of components are in the tables and are never the best."""

import json

import pandas as pd
from click.testing import CliRunner

from kdrbench.suite.commands.reports import reports
from kdrbench.suite.reports.tables.cells import COMPONENTS
from kdrbench.suite.systems.ikdr.tables import compared_cells
from support.report_rows import run

EXPERIMENT = {
    "title": "A table.",
    "paradigm": "supervised",
    "datasets": ["wine"],
    "kernels": ["gaussian"],
    "solvers": ["ism", "random", "dg"],
    "start": "random",
}
CONFIG = {
    "run": ["e"],
    "experiments": {"e": EXPERIMENT},
    "solvers": {
        "ism": {"method": "ism"},
        "dg": {"method": "dimension_growth"},
        "random": {"method": "start_alone"},
        "shuffled_labels": {"method": "shuffled_labels"},
    },
}
# The control is the quickest, the cheapest and the most accurate.
RUNS = pd.DataFrame(
    [
        run("wine", method, fold, time_s=time_s, cost=cost, quality=quality)
        for method, time_s, cost, quality in (
            ("ism", 1.0, -2.0, 0.8),
            ("dg", 2.0, -1.0, 0.9),
            ("random", 1e-6, -3.0, 1.0),
        )
        for fold in range(8)
    ]
)


def test_the_command_knows_the_controls_of_the_configuration(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "merged").mkdir()
    RUNS.to_csv(tmp_path / "merged" / "e.csv", index=False)
    monkeypatch.setattr("kdrbench.suite.experiments.results._check_config", lambda config: None)
    words = ["e", "--results", str(tmp_path), "--out", str(tmp_path)]
    CliRunner().invoke(reports, words, catch_exceptions=False)
    best = pd.read_csv(tmp_path / "e.csv").query("best")
    assert dict(zip(best["metric"], best["method"], strict=True)) == {"time_s": "ism", "cost": "ism", "accuracy": "dg"}
    tex = (tmp_path / "e.tex").read_text()
    assert r"\textbf{1s $\pm$ 0s}" in tex
    assert "1us" in tex


PLAIN = {"title": "T.", "datasets": ["wine"], "kernels": ["gaussian"], "solvers": ["ism", "dg"]}


def components_of(experiment):
    runs = pd.DataFrame([run("wine", method, 0, n_components=q) for method, q in (("ism", 2), ("dg", 3))])
    cells = [cell for cell in compared_cells(runs, experiment) if cell.metric == COMPONENTS]
    return [(cell.ours.text, cell.best) for cell in cells]


def test_the_q_that_a_rule_found_is_a_row_and_none_is_the_best():
    assert components_of(PLAIN | {"components": {"wine": "eigengap"}}) == [("2", False), ("3", False)]
    assert components_of(PLAIN | {"components": {"wine": 2}}) == []
