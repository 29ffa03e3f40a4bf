"""First solves and learners are timed: what they would import is imported before their clocks start."""

import json
import subprocess
import sys

import pytest

from kdrbench.datasets import load_dataset
from kdrbench.datasets.prepared import save_prepared
from kdrbench.solvers.registry import SOLVERS
from support.kpca_trick_cases import kpca_batch
from support.one_batch import batch_of
from support.system_cases import grid_of

KERNELS = ("gaussian", "polynomial", "multiquadric")
# In a process that has imported no more than a job does: modules that each run loads after its preparation.
RUN = """
import json, os, sys
from importlib import import_module
from pathlib import Path
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.isolation.limits import Limits, Pauses
from kdrbench.suite.engine.referee import Referee
from kdrbench.suite.engine.run_files import RunFiles
from kdrbench.suite.engine.system import RunContext
from kdrbench.datasets.prepared import load_prepared
from kdrbench.suite.systems import build_system

data, limits, found = load_prepared(Path(sys.argv[1])), Limits(0.5, 1024), {}
for number, line in enumerate(sys.stdin):
    batch, ends = Batch.from_json(line), os.pipe()
    system, folder = build_system(batch.system), Path(sys.argv[1]).with_name(str(number))
    if not (child := os.fork()):
        for module in system.imports:
            import_module(module)
        run, known = system.prepare(batch, data, RunContext(limits))(0), set(sys.modules)
        folder.mkdir()
        assert len(list(run.run(Referee(limits, 0.0, Pauses(), RunFiles(folder))))) == len(batch.rows)
        late = sorted(name for name in set(sys.modules) - known if not name.startswith("encodings."))
        os.write(ends[1], json.dumps(late[:3]).encode())
        os._exit(0)
    os.close(ends[1])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, line
    with open(ends[0]) as stream:
        found[line[:300]] = json.load(stream)
print(json.dumps(found))
"""


def late_imports(dataset, batches, folder):
    save_prepared(load_dataset(dataset), folder / "data.npz")
    lines, words = "".join(f"{batch.to_json()}\n" for batch in batches), [sys.executable, "-c", RUN]
    done = subprocess.run([*words, folder / "data.npz"], input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {place: modules for place, modules in json.loads(done.stdout).items() if modules}


@pytest.mark.whole
def test_a_first_solve_imports_nothing(tmp_path):
    batches = [batch_of(method, kernel=kernel) for method in sorted(SOLVERS) for kernel in KERNELS]
    chosen = [batch for batch in batches if batch.definition["method"]["method"] != "ism_2018"]
    assert not late_imports("wine", chosen, tmp_path)


SMALL = {
    "lowrank_gyrb": {"constraints": [0, 4], "methods": ["von_neumann"], "runs": 1},
    "noise": {"methods": ["lda"], "permutations": 3, "draws": 1},
}


@pytest.mark.whole
@pytest.mark.parametrize("name", ["kpca_tables", *SMALL])
def test_no_run_imports_on_its_clock(name, tmp_path):
    small = name in SMALL
    batch = grid_of(name, **SMALL[name]).batches()[0] if small else kpca_batch(learners=("nca", "lmnn", "dne"))
    assert not late_imports(batch.dataset, [batch], tmp_path)
