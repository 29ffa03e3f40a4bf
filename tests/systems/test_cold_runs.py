"""Runs are timed: what they would import is imported before their clocks start."""

import json
import subprocess
import sys

import pytest

from kdrbench.datasets.prepared import save_prepared
from support.kpca_trick_cases import kpca_batch
from support.system_cases import data_of, grid_of

# In a process that has imported no more than a job does.
RUN = """
import json, sys
from importlib import import_module
from pathlib import Path
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.isolation.limits import Limits, Pauses
from kdrbench.suite.engine.referee import Referee
from kdrbench.suite.engine.run_files import RunFiles
from kdrbench.suite.engine.system import RunContext
from kdrbench.datasets.prepared import load_prepared
from kdrbench.suite.systems import build_system

batch, data, limits = Batch.from_json(sys.argv[1]), load_prepared(Path(sys.argv[2])), Limits(60.0, 1024)
system = build_system(batch.system)
for module in system.imports:
    import_module(module)
run = system.prepare(batch, data, RunContext(limits))(0)
known, folder = set(sys.modules), Path(sys.argv[3])
folder.mkdir()
ended = len(list(run.run(Referee(limits, 0.0, Pauses(), RunFiles(folder)))))
print(json.dumps([ended, sorted(name for name in set(sys.modules) - known if not name.startswith("encodings."))]))
"""


def learners():
    return kpca_batch(learners=("nca", "lmnn", "dne"))


def divergences():
    small = {"constraints": [0, 4], "methods": ["von_neumann"], "runs": 1}
    return next(iter(grid_of("lowrank_gyrb", **small).batches()))


def noise():
    return next(iter(grid_of("noise", methods=["lda"], permutations=3, draws=1).batches()))


@pytest.mark.whole
@pytest.mark.parametrize("batch_of", [learners, divergences, noise])
def test_no_run_imports_on_its_clock(batch_of, tmp_path):
    batch = batch_of()
    save_prepared(data_of(batch.dataset), tmp_path / "data.npz")
    words = [sys.executable, "-c", RUN, batch.to_json(), tmp_path / "data.npz", tmp_path / "run"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ended, late = json.loads(done.stdout)
    assert ended == len(batch.rows)
    assert not late
