"""Snakemake run for real on the KPCA trick's tables, small."""

import csv
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from kdrbench.bench.metric_record import MetricRecord
from kdrbench.bench.rows import read_rows
from kdrbench.datasets import load_dataset, save_prepared
from metric_cases import metric_batch
from small_grid import Workflow

pytestmark = pytest.mark.workflow

SECTION = {
    "datasets": ["iris"],
    "learners": ["dne"],
    "variants": ["plain", "cross_validated", "aligned"],
    "candidates": {"default": {"sigmas": {"lowest": 0.1, "highest": 10.0, "number": 3}}},
    "splits": 12,
    "test_selected": [],
    "figures": [],
}
PATIENT = """
import time
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Patient:
    def fit(self, features, labels):
        time.sleep(0.4)
        return np.eye(features.shape[1])
"""


def run(workflow, **changes):
    done = workflow.run("--keep-going", "kpca", kpca=SECTION | changes)
    assert done.returncode == 0, done.stdout + done.stderr
    return workflow


def planned(workflow, **changes):
    return workflow.planned("kpca", kpca=SECTION | changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(Workflow(tmp_path_factory.mktemp("kpca") / "with a space"))


def test_every_split_leaves_its_rows_and_the_reports_are_made_of_them(finished):
    with (finished.folder / "results/kpca.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["split"], row["variant"]) for row in rows] == [
        (str(split), variant) for split in range(12) for variant in SECTION["variants"]
    ]
    assert {row["status"] for row in rows} == {"converged"}
    reports = finished.folder / "reports"
    for name in ("kpca_table3", "kpca_tests", "kpca_times"):
        assert {path.suffix for path in reports.glob(f"{name}.*")} == {".tex", ".html", ".csv", ".json"}
    assert (reports / "kpca_table3.csv").read_text().splitlines()[1].startswith("Iris,0.95")
    assert {path.suffix for path in (reports / "figures").glob("kpca_figure2.*")} == {".pdf", ".png", ".json"}


def test_what_is_run_again_is_what_has_changed_and_nothing_else(finished):
    assert planned(finished) == {}
    limits = planned(finished, limits={"time_s": 99, "memory_mib": 999})
    assert "run_metric_batch" not in limits
    assert planned(finished, seed=1)["run_metric_batch"] == 2
    # The first ten splits are a job of their own.
    assert planned(finished, splits=15)["run_metric_batch"] == 1


def test_a_section_without_data_sets_is_one_sentence_when_it_is_asked_for(finished):
    done = finished.run("--dry-run", "kpca")
    assert done.returncode != 0
    assert "kpca: kpca.datasets names no data set, so there is nothing to run" in done.stdout + done.stderr


def test_splits_that_ended_before_a_kill_are_not_done_again(tmp_path):
    (tmp_path / "patient.py").write_text(PATIENT)
    save_prepared(load_dataset("iris"), tmp_path / "iris.npz")
    batch = metric_batch(learners=("patient.py",), variants=("plain",), splits=tuple(range(8)))
    command = [sys.executable, "-m", "kdrbench", "kpca-batch", "--spec", batch.to_json(), "--data", "iris.npz"]
    command += ["--out", "rows.jsonl", "--state", "state", "--time-limit-s", "60", "--memory-limit-mib", "512"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    rows = tmp_path / "state/rows.jsonl"
    until = time.monotonic() + 600  # it waits for a core of its own
    while len(read_rows(rows, MetricRecord)) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)
    everybody = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    for one in everybody:
        with suppress(psutil.NoSuchProcess):
            one.send_signal(signal.SIGKILL)
    process.communicate()
    psutil.wait_procs(everybody, timeout=10)
    before = read_rows(rows, MetricRecord)
    assert 2 <= len(before) < 8
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    after = read_rows(tmp_path / "rows.jsonl", MetricRecord)
    assert after[: len(before)] == before
    assert [record.split for record in after] == list(range(8))
    assert {record.status for record in after} == {"converged"}
