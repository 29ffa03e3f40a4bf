"""Learners are timed: what they would import is imported before their clocks start."""

import json
import subprocess
import sys

import pytest

from kdrbench.datasets import load_dataset
from kdrbench.datasets.prepared import save_prepared
from support.kpca_trick_cases import kpca_batch

# In a process that has imported no more than a job does.
LEARN = """
import json, sys
from pathlib import Path
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.isolation.limits import Limits, Pauses
from kdrbench.suite.engine.referee import Referee
from kdrbench.suite.engine.run_files import RunFiles
from kdrbench.suite.engine.system import RunContext
from kdrbench.datasets.prepared import load_prepared
from kdrbench.suite.systems import build_system

batch, data, limits = Batch.from_json(sys.argv[1]), load_prepared(Path(sys.argv[2])), Limits(60.0, 1024)
run = build_system("kpca_trick").prepare(batch, data, RunContext(limits))(0)
known, folder = set(sys.modules), Path(sys.argv[3])
folder.mkdir()
ended = len(list(run.run(Referee(limits, 0.0, Pauses(), RunFiles(folder)))))
print(json.dumps([ended, sorted(set(sys.modules) - known)]))
"""


@pytest.mark.whole
def test_no_learner_imports_on_its_clock(tmp_path):
    save_prepared(load_dataset("iris-bundled"), tmp_path / "iris.npz")
    batch = kpca_batch(learners=("nca", "lmnn", "dne"))
    words = [sys.executable, "-c", LEARN, batch.to_json(), tmp_path / "iris.npz", tmp_path / "run"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ended, late = json.loads(done.stdout)
    assert ended == len(batch.rows)
    assert not late
