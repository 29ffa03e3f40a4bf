"""The workflow on data and state that have been damaged: one call of Snakemake makes them again."""

import pytest

from kdrbench.suite.engine.record import read_records
from kdrbench.suite.systems.ikdr.system import IKDRRecord
from support.damage import cut_off, one_bit, random_bytes
from support.small_grid import ROWS, Workflow, overlay

pytestmark = pytest.mark.whole

OWN = """
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Mine:
    def load(self):
        rng = np.random.default_rng(0)
        return rng.standard_normal((60, 5)), np.arange(60) % 3
"""


def grid(folder):
    own = folder.parent / "mine.py"
    own.write_text(OWN)
    experiment = overlay()["experiments"]["table4_supervised"]
    experiment |= {
        "datasets": ["wine", "mine"],
        "solvers": ["ism"],
        "baselines": [],
        "components": {"wine": 4, "mine": 2},
    }
    return overlay(
        limits={"time_s": 60, "memory_mib": 1024},
        datasets={"mine": {"loader": str(own)}},
        experiments={"table4_supervised": experiment},
    )


def made(workflow):
    workflow.succeed(*ROWS, **grid(workflow.folder))
    rows = [row for path in workflow.record_files() for row in read_records(path, IKDRRecord)]
    return {row.axes: (row.status, row.iterations, row.cost, row.quality) for row in rows}


@pytest.mark.attack("state: damaged under the workflow")
def test_damaged_data_and_state_are_made_again_in_one_call(tmp_path, attack_rng):
    workflow = Workflow(tmp_path / "run")
    expected = made(workflow)
    assert len(expected) == 4
    results = workflow.folder / "results"
    # As after a kill: the workspaces are there, what is made of them is not.
    for path in workflow.record_files():
        path.unlink()
    random_bytes(results / "data/wine.npz", attack_rng)
    cut_off(results / "data/mine.npz", attack_rng)
    one_bit(results / ".workspace/table4_supervised/wine/gaussian/ism/0-1/run-0/projection.npy", attack_rng)
    random_bytes(results / ".workspace/table4_supervised/mine/gaussian/ism/0-1/rows.jsonl", attack_rng)
    assert made(workflow) == expected
    log = "".join(path.read_text() for path in (results / "logs/runs").rglob("*.log"))
    for name in ("data/wine.npz", "data/mine.npz", "wine/gaussian/ism/0-1/run-0", "mine/gaussian/ism/0-1/rows.jsonl"):
        (sentence,) = [line for line in log.splitlines() if line.startswith("kdrbench: ") and f"{name} " in line]
        assert sentence.endswith("made again")
    # Published rows that cannot be read are made again.
    (path,) = [path for path in workflow.record_files() if "mine" in path.parts]
    path.write_bytes(b"\xff\xfe\n")
    assert made(workflow) == expected
