"""A method that changes what surrounds it, its folder or its mask, loses nothing and writes nowhere else."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from kdrbench.datasets import load_dataset
from kdrbench.solvers import SolverOutcome, Status
from kdrbench.suite.engine.run_files import read_trace
from support.misbehaving import Misbehaving
from support.one_batch import LIMITS, arrays_in, batch_of, context_of, files_in, run_batch, workspace_of


@dataclass(frozen=True)
class Changes(Misbehaving):
    """Changes its folder, to one that is deleted, or its mask, before, between or after its iterates."""

    what: str = "folder"
    when: int = 1

    def run(self, problem, start, monitor):
        for number in range(4):
            if number == self.when:
                self.change()
            monitor.keep_going(start)
        return SolverOutcome(start, Status.CONVERGED, "well")

    def change(self):
        if self.what == "mask":
            os.umask(0o777)
            return
        folder = Path(os.environ["ELSEWHERE"]) / "folder"
        folder.mkdir()
        os.chdir(folder)
        if self.what == "deleted folder":
            shutil.rmtree(folder)


@pytest.mark.parametrize(("what", "when"), [("folder", 3), ("deleted folder", 0), ("mask", 1)])
def test_a_run_that_changes_its_surroundings_loses_nothing(what, when, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("ELSEWHERE", str(elsewhere))
    # Results are named by a path from here, as Snakemake names them.
    monkeypatch.chdir(tmp_path)
    files = files_in((tmp_path / "results").relative_to(tmp_path))
    batch = batch_of(f"{__name__}:Changes", options={"what": what, "when": when})
    (row,) = run_batch(batch, load_dataset("wine"), context_of(LIMITS), files)
    assert (row.status, row.message) == ("converged", "well")
    assert row.cost is not None
    assert any("projection" in name for name in arrays_in(files))
    run = workspace_of(files, batch).run(0)
    assert len(read_trace(run.trace)) == 5
    # Readable also by one who is not the superuser.
    assert all(path.stat().st_mode & 0o400 for path in run.folder.rglob("*"))
    left = [path for path in elsewhere.rglob("*") if path.is_file()]
    assert left == []
