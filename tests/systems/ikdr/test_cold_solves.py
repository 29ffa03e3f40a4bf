"""A first solve is timed: what it would import is imported before its clock starts."""

import json
import subprocess
import sys

import pytest

from kdrbench.datasets import load_dataset
from kdrbench.datasets.prepared import save_prepared
from kdrbench.solvers.registry import SOLVERS
from support.one_batch import batch_of

KERNELS = ("gaussian", "polynomial", "multiquadric")
# Each solver is prepared as in a job, in a process of its own that has imported no more than a job does. There the
# folds are drawn by another process, which keeps the data, so that scikit-learn is not imported for them.
SOLVE = """
import json, os, sys
from functools import partial
from pathlib import Path
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.system import RunContext
from kdrbench.datasets.prepared import load_prepared
from kdrbench.solvers import build_solver, solve
from kdrbench.solvers.monitor import IterationMonitor
from kdrbench.suite.systems import build_system
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.folds import Fold
from kdrbench.suite.systems.ikdr.solver_run import make_solver_run

system, data, found = build_system("ikdr"), load_prepared(Path(sys.argv[1])), {}
features = (data.features - data.features.mean(axis=0)) / data.features.std(axis=0)
fold = Fold(features, data.labels, features[:0], data.labels[:0], 0)
for line in sys.stdin:
    batch, ends = Batch.from_json(line), os.pipe()
    if not (child := os.fork()):
        system.prepare(batch, data, RunContext(Limits(60.0, 1024)))
        cell = CellDefinition.of(batch)
        run = make_solver_run(cell, build_solver(cell.method), 1024.0, 0, fold)
        start, known = partial(run.starts(), run.problem), set(sys.modules)
        solve(run.solver, run.problem, start, IterationMonitor(20))
        os.write(ends[1], json.dumps(sorted(set(sys.modules) - known)).encode())
        os._exit(0)
    os.close(ends[1])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, line
    with open(ends[0]) as stream:
        found[f"{batch.definition['method']['method']} {batch.definition['kernel']['family']}"] = json.load(stream)
print(json.dumps(found))
"""


@pytest.mark.whole
def test_a_first_solve_imports_nothing(tmp_path):
    save_prepared(load_dataset("wine"), tmp_path / "wine.npz")
    batches = [batch_of(method, kernel=kernel) for method in sorted(SOLVERS) for kernel in KERNELS]
    words = [sys.executable, "-c", SOLVE, tmp_path / "wine.npz"]
    lines = "".join(f"{batch.to_json()}\n" for batch in batches if batch.definition["method"]["method"] != "ism_2018")
    done = subprocess.run(words, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    late = {place: modules[:3] for place, modules in json.loads(done.stdout).items() if modules}
    assert not late
