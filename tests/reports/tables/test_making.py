"""From names to tables, and tables of systems that the reports do not know."""

import pandas as pd
import pytest

from kdrbench.errors import InputError
from kdrbench.suite.engine.system import System
from kdrbench.suite.reports.making import make, plain_table, reports_named
from kdrbench.suite.reports.tables.table import Entry, Table
from kdrbench.suite.systems import registry
from support.report_rows import run

CONFIG = {
    "run": ["fourth", "tables"],
    "experiments": {
        "fourth": {"system": "another", "title": "A fourth system."},
        "tables": {"system": "kpca_trick", "learners": ["dne"], "title": "T."},
    },
}
OF_ONE = {"experiment": "fourth", "kernel": "linear"}
RUNS = pd.DataFrame(
    [
        run("wine", "one", 0, cost=-1.0, quality=None, **OF_ONE),
        run("wine", "one", 1, cost=-3.0, quality=0.5, **OF_ONE),
        run("wine", "two", 0, cost=-5.0, quality=None, status="failed", **OF_ONE),
    ]
)


class Without(System):
    """A system that lays out no table and draws no figure."""

    expand = run = None


class With(Without):
    def table(self, runs, name, experiment):
        return Table(name, experiment["title"], ["Rows"], [[[Entry(str(len(runs)))]]])


@pytest.fixture(autouse=True)
def _a_fourth_system(monkeypatch):
    built = registry.build_system
    monkeypatch.setattr(registry, "build_system", lambda name: Without() if name == "another" else built(name))


def test_a_name_is_a_table_or_an_experiment_with_its_tables():
    tables = ["tables_table3", "tables_tests", "tables_times"]
    for name, reports in (("fourth", ["fourth"]), ("tables", tables), ("tables_tests", ["tables_tests"])):
        assert [report.name for report in reports_named(name, CONFIG)] == reports
    with pytest.raises(InputError, match=r"unknown report 'tables_test'. Did you mean 'tables_tests'\?"):
        reports_named("tables_test", CONFIG)


def test_a_system_without_a_table_has_the_means_of_its_results():
    table = plain_table("fourth", RUNS, CONFIG["experiments"]["fourth"])
    assert table.columns[:5] == ["Dataset", "Kernel", "Method", "Runs", "time_s"]
    place = {column: number for number, column in enumerate(table.columns)}
    first, second = table.rows
    assert [entry.text for entry in first[:4]] == ["wine", "linear", "one", "2"]
    assert (first[place["cost"]].text, first[place["quality"]].text) == ("-2", "0.5")
    assert second[place["quality"]].text == "-"
    assert not {"wall_s", "seed", "run", "memory_mib"} & set(table.columns)


def test_a_system_may_lay_out_its_own_table(tmp_path, monkeypatch):
    (tmp_path / "merged").mkdir()
    RUNS.to_csv(tmp_path / "merged" / "fourth.csv", index=False)
    for system, is_own in ((Without, False), (With, True)):
        monkeypatch.setattr(registry, "build_system", lambda name, system=system: system())
        (report,) = reports_named("fourth", CONFIG)
        table, sections = make(report, CONFIG, tmp_path)
        assert (table.columns == ["Rows"]) == is_own
        assert [section.title for section in sections] == ["The data", "How the runs ended"]
