"""What keeps the daily tests short and alone: their budget, the marker of requirements, the selection of a change."""

import importlib.util
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from support import budget, needs, selection

ROOT = Path(__file__).parents[1]


def test_tests_whose_sum_is_over_budget_fail_the_run(monkeypatch):
    monkeypatch.setattr(budget, "MANY", 0)
    enforced = budget.Budget(SimpleNamespace(getoption=lambda name: "not whole"))
    session = SimpleNamespace(exitstatus=0)
    for number, seconds in enumerate([0.1 * budget.ALL_S - 0.1] * 30 + [4.0]):
        assert not enforced.is_broken()
        spent = [("cpu_s", (seconds, budget.TEST_S))]
        enforced.pytest_runtest_logreport(SimpleNamespace(nodeid=number, when="teardown", user_properties=spent))
    enforced.pytest_sessionfinish(session)
    assert session.exitstatus == pytest.ExitCode.TESTS_FAILED


class Item:
    def __init__(self, *names):
        self.nodeid, self.markers = "a", [pytest.mark.needs(*names).mark] if names else []

    def iter_markers(self, name):
        return [marker for marker in self.markers if marker.name == name]

    def add_marker(self, marker):
        self.markers.append(marker if isinstance(marker, str) else marker.mark)


def test_a_test_with_requirements_leaves_the_daily_ones(monkeypatch):
    monkeypatch.setitem(needs.REQUIREMENTS, "tex", (lambda: False, "no TeX"))
    plain, typeset = Item(), Item("tex")
    needs.mark_requirements([plain, typeset])
    assert plain.markers == []
    assert typeset.markers[1] == "whole"
    assert typeset.markers[2].kwargs == {"reason": "no TeX"}
    with pytest.raises(pytest.UsageError, match="needs \\['latex'\\]; known are mirror"):
        needs.mark_requirements([Item("latex")])


def test_a_change_reaches_tests_through_imports_of_imports():
    path = ROOT / "tests" / "kernels" / "test_median.py"
    assert selection.is_reached(path, {"src/kdrbench/errors.py"})
    assert not selection.is_reached(path, {"src/kdrbench/suite/reports/outputs.py", "README.md"})
    assert selection.is_reached(ROOT / "tests" / "workflow" / "test_workflow.py", {"rules/run.smk"})


def test_ten_days_make_every_test_of_the_rest_once():
    days = [date(2026, 2, 25) + timedelta(days=number) for number in range(selection.PARTS)]
    assert {sum(selection.is_of_today(f"test_{number}", day) for day in days) for number in range(50)} == {1}


def test_the_installer_finds_uv_and_its_hashes_in_the_lock():
    spec = importlib.util.spec_from_file_location("install", ROOT / "envs" / "install.py")
    install = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(install)
    lines = install.UV.search((ROOT / "envs/requirements.lock").read_text()).group().splitlines()
    assert lines[0].startswith("uv==")
    assert all(line.strip().startswith("--hash=sha256:") for line in lines[1:])
    assert {"uv", "numpy", "snakemake"} <= install.packages_in([ROOT / "envs/requirements.lock"])
