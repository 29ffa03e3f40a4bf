"""Tables say the q that a rule found in each run, and call none the best."""

import pandas as pd

from kdrbench.reports.tables.cells import COMPONENTS
from kdrbench.reports.tables.ikdr_cells import compared_cells
from support.report_rows import run

EXPERIMENT = {"title": "T.", "datasets": ["wine"], "kernels": ["gaussian"], "solvers": ["ism", "dg"]}


def components_of(experiment):
    runs = pd.DataFrame([run("wine", method, 0, n_components=q) for method, q in (("ism", 2), ("dg", 3))])
    cells = [cell for cell in compared_cells(runs, experiment) if cell.metric == COMPONENTS]
    return [(cell.ours.text, cell.best) for cell in cells]


def test_the_q_that_a_rule_found_is_said_and_none_is_the_best():
    assert components_of(EXPERIMENT | {"components": {"wine": "eigengap"}}) == [("2", False), ("3", False)]


def test_a_q_that_the_configuration_names_is_no_row():
    assert components_of(EXPERIMENT | {"components": {"wine": 2}}) == []
