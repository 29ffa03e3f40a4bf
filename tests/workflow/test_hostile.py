"""Snakemake run for real, to its reports, with a solver in a file of the user's that goes wrong in odd ways."""

import re
import shutil
from pathlib import Path

import pytest

from kdrbench.csv_files import read_csv
from support import hostile
from support.dashboard_grid import unpacked
from support.own_methods import DATA
from support.small_grid import Workflow

# What each attack ends with, and how its message begins.
ENDINGS = {
    "controls": ("failed", "ValueError: \\x00\\t\\n\\x1b"),
    "long": ("failed", "ValueError: xxxx"),
    "bytes": ("converged", "b'"),
    "trace": ("failed", "line 1 of trace.jsonl is not JSON"),
    "leaves": ("failed", "could not write its result, or lacks a package"),
}


@pytest.mark.whole
@pytest.mark.attack("gate: workflow")
def test_the_grid_ends_and_every_report_is_made(tmp_path):
    workflow = Workflow(tmp_path / "here")
    (workflow.folder / "my_data.py").write_text(DATA)
    shutil.copy(hostile.__file__, workflow.folder / "my_solver.py")
    done = workflow.run(
        datasets={"blobs": {"loader": "my_data.py"}},
        solvers={name: {"method": "my_solver.py", "attack": name} for name in ENDINGS},
        baselines={},
        run=["own"],
        limits={"time_s": 5, "memory_mib": 512},
        experiments={
            "own": {
                "title": "One's own.",
                "paradigm": "supervised",
                "datasets": ["blobs"],
                "kernels": ["gaussian"],
                "solvers": [*ENDINGS, "random"],
                "components": {"blobs": 2},
                "folds": 2,
                "start": "surrogate",
            }
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = read_csv(workflow.tables / "ikdr.csv")
    assert len(rows) == 2 * (len(ENDINGS) + 1)
    for row in rows:
        status, message = ENDINGS.get(row["method"], ("converged", ""))
        assert (row["status"], row["message"][: len(message)]) == (status, message)
        assert row["message"].isprintable()
        assert len(row["message"]) <= 1000
    assert (workflow.reports / "own.csv").exists()
    page = (workflow.reports / "dashboard.html").read_text()
    assert "line 1 of trace.jsonl is not JSON" in unpacked(page, "data")
    # The rest of the long message is in a log, and not more of it than that.
    logs = [path.read_text(errors="replace") for path in Path(workflow.folder, "results/logs").rglob("*.log")]
    longest = max(len(found) for text in logs for found in re.findall("x+", text))
    assert 1000 < longest <= 2**16
