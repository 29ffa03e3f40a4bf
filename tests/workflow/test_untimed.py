"""Runs that are not timed, and a budget for the whole grid, through Snakemake."""

import os

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
