"""Rows rest on the sources that the workflow planned with: a job that loads others publishes none."""

import os
import sys

import pytest

from kdrbench.bench.plan import PLANS, Loaded, SourcesChangedError, write_plan
from kdrbench.bench.sources import sources_of
from kdrbench.datasets import load_dataset
from support.one_batch import context_of, files_in, grid_of, run_batch, workspace_of
from support.own_methods import SOLVER

FIRST = "        projection = start\n"
# What it imports late is written by the run itself, as by somebody who edits it and edits it back meanwhile.
LATE = SOLVER.replace(FIRST, "        import os, planned_late\n\n        os.utime(planned_late.__file__)\n" + FIRST)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Return what writes a module of the user's own and gives its path."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text):
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        # Two writes within the clock's tick are two all the same.
        os.utime(path, ns=(0, sum(map(ord, text))))
        return path

    yield write
    for name in [name for name in sys.modules if name.startswith("planned_")]:
        del sys.modules[name]


def planned(folder, *roots):
    found = sources_of(roots)
    write_plan(folder, [(roots, found)])
    return found.sha256


def test_what_was_planned_is_loaded(written, tmp_path):
    written("planned_one", "import planned_two\n")
    written("planned_two", "LENGTH = 1\n")
    sha256 = planned(tmp_path / "plans", "planned_one")
    assert set(Loaded.of(tmp_path / "plans", sha256).files) == {"planned_one", "planned_two"}
    written("planned_two", "LENGTH = 2\n")
    with pytest.raises(
        SourcesChangedError, match=r"planned_two.py has changed since the workflow began; start it again"
    ):
        Loaded.of(tmp_path / "plans", sha256)
    # Comments do not count.
    written("planned_two", "# In metres.\nLENGTH = 1\n")
    Loaded.of(tmp_path / "plans", sha256).check()


def test_files_that_were_not_written_are_not_read(written, tmp_path, monkeypatch):
    written("planned_one", "LENGTH = 1\n")
    sha256 = planned(tmp_path / "plans", "planned_one")
    monkeypatch.setattr("kdrbench.bench.plan.sources_of", None)
    Loaded.of(tmp_path / "plans", sha256).check()
    # What was not planned here is not known.
    assert Loaded.of(tmp_path / "plans", "0" * 64) == Loaded({})
    (tmp_path / "plans" / f"{sha256}.json").write_text("garbage")
    assert Loaded.of(tmp_path / "plans", sha256) == Loaded({})


def test_only_what_was_not_loaded_may_be_loaded_late(written, tmp_path):
    for name in ("planned_one", "planned_two"):
        written(name, "LENGTH = 1\n")
    sha256 = planned(tmp_path / "plans", "planned_one", "planned_two")
    __import__("planned_one")
    loaded = Loaded.of(tmp_path / "plans", sha256)
    written("planned_one", "LENGTH = 2\n")
    loaded.check()
    written("planned_two", "LENGTH = 2\n")
    with pytest.raises(SourcesChangedError, match=r"planned_two.py was written while the job ran"):
        loaded.check()


@pytest.fixture
def made(tmp_path):
    """Return what plans and makes the batch of a solver, and its files."""
    files = files_in(tmp_path / "results")

    def batch_of():
        solvers = {"it": {"method": "planned_solver:Mine"}}
        grid = grid_of(kernels=["gaussian"], solvers=solvers, runs_per_job=2)
        write_plan(files.workspaces / PLANS, grid.sources.items())
        return grid.batches()[0]

    def run(batch):
        return run_batch(batch, load_dataset("wine"), context_of(), files)

    return batch_of, run, files


def test_a_job_that_loads_an_edit_makes_no_row(written, made):
    batch_of, run, files = made
    written("planned_solver", SOLVER)
    batch = batch_of()
    written("planned_solver", SOLVER.replace("0.5", "0.25"))
    with pytest.raises(SourcesChangedError, match=r"planned_solver.py has changed"):
        run(batch)
    assert (files.records.exists(), workspace_of(files, batch).records()) == (False, [])
    written("planned_solver", SOLVER + "\n")
    assert {record.status for record in run(batch)} == {"converged"}


def test_rows_of_runs_that_may_have_imported_an_edit_are_dropped(written, made):
    batch_of, run, files = made
    written("planned_solver", LATE)
    written("planned_late", "LENGTH = 1\n")
    batch = batch_of()
    with pytest.raises(SourcesChangedError, match=r"planned_late.py was written .* its rows are thrown away"):
        run(batch)
    assert (files.records.exists(), workspace_of(files, batch).records()) == (False, [])
