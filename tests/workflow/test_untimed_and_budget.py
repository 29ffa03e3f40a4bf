"""Runs that are not timed, and a budget for the whole grid, through Snakemake."""

import os
from dataclasses import replace

import pytest

from support.small_grid import ROWS, Workflow, overlay

pytestmark = pytest.mark.whole


def grid(names, baselines=(), **changes):
    experiment = overlay()["experiments"]["table4_supervised"]
    experiment |= {"solvers": list(names), "baselines": list(baselines)}
    return overlay(experiments={"table4_supervised": experiment}, **changes)


def makes_no_run(workflow, **changes):
    """Run again; return whether every row is the same, byte for byte."""
    before = [path.read_bytes() for path in workflow.record_files()]
    workflow.succeed(**changes)
    return [path.read_bytes() for path in workflow.record_files()] == before


@pytest.fixture
def one_core():
    """Lend this process, and what it starts, a single core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def test_quality_runs_share_a_core_and_are_not_timed(one_core, tmp_path):
    (tmp_path / "place").mkdir()
    workflow = Workflow(tmp_path / "run", {"MEETING_PLACE": str(tmp_path / "place")}, ("--cores", "20", *ROWS))
    solvers = {name: {"method": "support.misbehaving:MeetsAnother", "name": name} for name in ("one", "other")}
    limits, loose = {"time_s": 30, "memory_mib": 256}, {"repeat_for_s": 0.01, "strict": False}
    changes = grid(["one", "other"], solvers=solvers, limits=limits, timing=loose)
    workflow.succeed(**changes)
    rows = [row for found in workflow.records().values() for row in found]
    # Each waited for the other on a core that a timed run would have owned.
    assert [(row.status, row.provenance.timed, row.provenance.cores, row.repeats) for row in rows] == [
        ("converged", False, "", 0)
    ] * 4
    # What is to be timed has to be run again, but nothing the other way.
    changes["timing"] = {"repeat_for_s": 0.01}
    workflow.succeed(**changes)
    rows = [row for found in workflow.records().values() for row in found]
    assert [(row.provenance.timed, row.provenance.cores) for row in rows] == [
        (True, str(min(os.sched_getaffinity(0))))
    ] * 4
    assert makes_no_run(workflow, **changes | {"timing": loose})


def test_a_grid_beyond_its_budget_ends_well_and_goes_on(tmp_path):
    workflow = Workflow(tmp_path / "run", words=("--cores", "1", *ROWS))

    def within(budget_s):
        return grid(["ism", "Raises"], ["svm"], limits={"time_s": 5, "memory_mib": 256, "budget_s": budget_s})

    workflow.succeed(**within(1e-6))
    # One job at a time: the first run uses the budget up.
    first = {(name, row.run): row for name, found in workflow.records().items() for row in found}
    assert len(first) == 6
    ended = {key: row for key, row in first.items() if row.status != "skipped"}
    assert len(ended) == 1
    assert workflow.planned(*ROWS, **within(1e-6)) == {}
    workflow.succeed(**within(1e6))
    rows = {(name, row.run): row for name, found in workflow.records().items() for row in found}
    assert {key: row.status for key, row in rows.items()} == {
        (name, fold): status
        for name, status in (("ism", "converged"), ("Raises", "failed"), ("svm", "converged"))
        for fold in (0, 1)
    }
    ((key, row),) = ended.items()
    assert rows[key] == replace(row, provenance=rows[key].provenance)
    assert rows[key].provenance.wall_s == row.provenance.wall_s
    assert makes_no_run(workflow, **within(None))
    # A run that is repeated is charged for its first work and for its repeats.
    n_repeated = sum(row.repeats > 0 for row in rows.values())
    assert len((workflow.folder / "results/.workspace/spent.txt").read_text().split()) == 6 + n_repeated
