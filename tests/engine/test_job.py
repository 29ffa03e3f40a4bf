"""Batches that share a job and its files: what is made again, what is kept, what an interruption or an error leaves."""

import json
import os
import platform
import sys
from typing import ClassVar

import numpy as np
import pytest

from kdrbench.errors import DataError, InputError
from kdrbench.suite.engine.batch import Bundle, Order, read_order
from kdrbench.suite.engine.identity import Requirements
from kdrbench.suite.engine.isolation.supervisor import SupervisionError
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.publish import publish, read_points
from kdrbench.suite.engine.record import RecordError, read_records
from kdrbench.suite.systems.ikdr.system import IKDRRecord
from support.one_batch import IKDR, arrays_in, context_of, files_in, grid_of, workspace_of
from support.system_cases import data_of
from support.tiny_system import DATA, TinySystem, tiny_batch

METHODS = {
    "ism": {"method": "ism"},
    "Raises": {"method": "support.misbehaving:Raises"},
    "tolerant": {"method": "ism", "tolerance": 0.5},
    "wants": {"method": "support.misbehaving:WantsAnOracle"},
}


def shared(*solvers, kernels=("gaussian",), folds=2, baselines=("svm",), **methods):
    """Return the bundle of the one job that makes these solvers and the baselines."""
    definitions = {name: (METHODS | methods)[name] for name in solvers}
    changes = {"kernels": list(kernels), "solvers": definitions, "baselines": list(baselines), "folds": folds}
    (bundle,) = grid_of(**changes, runs_per_job="auto").bundles()
    return bundle


def never(name):
    raise AssertionError


def run(bundle, files, load=data_of, **changes):
    return run_job(IKDR, bundle, load, context_of(**changes), files)


def lines_by_method(path):
    """The lines of rows or of a trace, which names its cell."""
    lines = {}
    for line in path.read_text().splitlines():
        values = json.loads(line)
        lines.setdefault(values.get("method") or values["cell"].rpartition("/")[2], []).append(line)
    return lines


def rows_in_workspaces(files):
    return [row for path in files.workspaces.rglob("rows.jsonl") for row in read_records(path, IKDRRecord)]


@pytest.fixture
def files(tmp_path):
    return files_in(tmp_path)


def summary(capsys):
    """The last line of the job's log."""
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_what_runs_import_is_imported_once_before_them(files, monkeypatch):
    class Importing(TinySystem):
        imports: ClassVar = ("colorsys",)

        def prepare(self, batch, dataset, context):
            assert "colorsys" in sys.modules
            return super().prepare(batch, dataset, context)

    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    batch = tiny_batch()
    run_job(Importing(), Bundle(batch.path, (batch,)), lambda name: DATA, context_of(), files)


def test_rows_traces_and_findings_are_in_one_file_of_each(files, capsys):
    records = run(shared("ism", "Raises", kernels=["gaussian", "linear"]), files)
    *rows, last = capsys.readouterr().out.splitlines()
    assert len(rows) == 10
    assert rows[2] == "table4_supervised/wine/gaussian/Raises/0: failed - ZeroDivisionError: the step length is 0/0"
    said = json.loads(last)
    assert (said["rows"], said["runs_made"]) == (10, 10)
    assert said["cpu_s"] > 0
    assert said["wall_s"] > 0
    cells = [f"wine/{cell}" for cell in ("gaussian/ism", "gaussian/Raises", "linear/ism", "linear/Raises", "none/svm")]
    runs = [(cell, number) for cell in cells for number in (0, 1)]
    assert [(f"wine/{row.kernel}/{row.method}", row.run) for row in records] == runs
    assert read_records(files.records, IKDRRecord) == records
    assert {row.provenance.trace_file for row in records} == {"table4_supervised/cheap.jsonl"}
    assert [row.status for row in records] == ["converged", "converged", "failed", "failed"] * 2 + ["converged"] * 2
    points = read_points(files.traces)
    assert set(points) == {(cell, number) for cell in cells[:4] for number in (0, 1)}
    for row in records[:2]:
        assert points["wine/gaussian/ism", row.run][-1]["cost"] == pytest.approx(row.cost, rel=1e-12)
    arrays = arrays_in(files)
    assert {name for name in arrays if "/none/svm/" in name} == {f"wine/none/svm/labels_{run}" for run in (0, 1)}
    assert arrays["wine/linear/ism/projection_1"].shape == (13, 4)
    # Nothing unfinished is left beside what was published.
    published = {path.name for path in files.records.parent.iterdir() if path.is_file()}
    assert published == {"rows.jsonl", "traces.jsonl", "findings.npz"}


def test_a_changed_batch_alone_is_made_again(files, capsys):
    run(shared("ism", "tolerant"), files)
    rows, traces, arrays = lines_by_method(files.records), lines_by_method(files.traces), arrays_in(files)
    capsys.readouterr()
    # A baseline comes as well; the other rows stay byte for byte.
    changed = {"method": "ism", "tolerance": 0.25}
    run(shared("ism", "tolerant", tolerant=changed, baselines=["svm", "lda_svm"]), files)
    again = lines_by_method(files.records)
    assert (again["ism"], again["svm"]) == (rows["ism"], rows["svm"])
    assert not set(again["tolerant"]) & set(rows["tolerant"])
    assert lines_by_method(files.traces)["ism"] == traces["ism"]
    kept = [name for name in arrays if "/ism/" in name or "/svm/" in name]
    assert len(kept) == 4
    assert all(np.array_equal(arrays[name], arrays_in(files)[name]) for name in kept)
    assert summary(capsys)["runs_made"] == 4
    # Cells that go take their rows along, and nothing is made.
    run(shared("ism", baselines=["lda_svm"]), files, load=never, calibrate=never)
    assert lines_by_method(files.records) == {name: again[name] for name in ("ism", "lda_svm")}


def test_published_files_are_written_again_without_any_run(files, capsys):
    bundle = shared("ism", baselines=[])
    run(bundle, files)
    whole = {path: path.read_bytes() for path in (files.records, files.traces, files.findings)}
    files.records.unlink()
    files.traces.write_bytes(whole[files.traces][:-20])
    files.findings.write_bytes(whole[files.findings][:-20])
    # What a killed job has left of a file that it was writing goes too.
    unfinished = files.findings.with_name(f".{files.findings.name}.cut")
    unfinished.write_bytes(b"half")
    run(bundle, files, load=never, calibrate=never)
    assert {path: path.read_bytes() for path in whole} == whole
    assert not unfinished.exists()
    assert summary(capsys)["runs_made"] == 0


def test_untimed_rows_are_made_again_when_times_are_asked_for(files):
    bundle = shared("ism", baselines=[])
    untimed = run(bundle, files, timed=False, calibrate=never)
    assert {(row.provenance.timed, row.provenance.calibration_before_s) for row in untimed} == {(False, None)}
    again = run(bundle, files)
    assert {row.provenance.timed for row in again} == {True}
    # Timed rows are good enough where times do not matter.
    assert run(bundle, files, load=never, timed=False, calibrate=never) == again


def test_an_error_of_the_bench_is_raised_after_the_other_batches(files, capsys):
    run(shared("ism"), files)
    before = files.records.read_bytes()
    with pytest.raises(InputError, match="WantsAnOracle needs the oracle third_derivative"):
        run(shared("wants", "ism", "tolerant"), files)
    said = capsys.readouterr()
    assert "table4_supervised/wine/gaussian/wants/0-1: WantsAnOracle needs" in said.err
    # What was published stays, and what was made waits in the workspaces.
    assert files.records.read_bytes() == before
    waiting = {row.axes: row for row in rows_in_workspaces(files)}
    assert len(waiting) == 6
    # Snakemake removes the outputs of a job that fails; the configuration that was run before needs no run.
    for path in (files.records, files.traces, files.findings):
        path.unlink()
    run(shared("ism"), files, load=never, calibrate=never)
    assert files.records.read_bytes() == before
    records = run(shared("ism", "tolerant"), files, load=never, calibrate=never)
    assert {row.axes: row for row in records} == waiting


def test_other_data_are_refused(files):
    with pytest.raises(DataError, match=r"'wdbc' has SHA-256 .*, the run wants .*; delete its file under results/data"):
        run(shared("ism"), files, load=lambda name: data_of("wdbc"))
    assert not files.records.exists()


def test_runs_do_not_begin_without_the_scheduler(files):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(SupervisionError, match="the scheduler is gone; start the workflow again"):
        run(shared("ism"), files, scheduler=child)
    assert rows_in_workspaces(files) == []


def test_two_processes_never_work_on_one_batch(files):
    bundle = shared("ism", baselines=[])
    (batch,) = bundle.batches
    with (
        workspace_of(files, batch).claimed(batch, context_of().limits, Requirements(timed=True)),
        pytest.raises(SupervisionError, match=r"another process works on .*0-1; wait until it has ended, or end it"),
    ):
        run(bundle, files)
    assert not files.records.exists()


def test_a_job_is_made_by_one_process_until_it_is_published(files, monkeypatch):
    batch = tiny_batch(runs=[0])
    lock = files.workspaces / f"{batch.path}.job.lock"

    def make():
        run_job(TinySystem(), Bundle(batch.path, (batch,)), lambda name: DATA, context_of(), files)

    def meanwhile(*words):
        message = rf"another process works on .*rows.jsonl; .* process {os.getpid()} on {platform.node()}"
        with pytest.raises(SupervisionError, match=message):
            make()
        return publish(*words)

    monkeypatch.setattr("kdrbench.suite.engine.job.publish", meanwhile)
    lock.parent.mkdir(parents=True)
    lock.write_text("1 on a machine where it was killed")
    make()
    assert files.records.read_text().count("\n") == 2
    assert lock.read_text() == ""


def test_a_job_publishes_the_rows_of_all_its_batches_or_none(files, monkeypatch):
    bundle = shared("ism", baselines=[])
    monkeypatch.setattr("kdrbench.suite.engine.job.take_turns", lambda runs: None)
    with pytest.raises(RecordError, match=r"without a record: 2 rows, the first is .*'gaussian', 'ism', 0\); run"):
        run(bundle, files)
    assert not files.records.exists()


def test_cores_are_calibrated_again_after_some_seconds(tmp_path, monkeypatch):
    seconds = iter(range(1, 100))

    def calibrations_of(folder):
        bundle = Bundle("e/cheap", (tiny_batch(runs=range(4)),))
        context = context_of(calibrate=lambda: float(next(seconds)))
        records = run_job(TinySystem(), bundle, lambda name: DATA, context, files_in(tmp_path / folder))[::2]
        return [(row.provenance.calibration_before_s, row.provenance.calibration_after_s) for row in records]

    monkeypatch.setattr("kdrbench.suite.engine.job.CALIBRATE_EVERY_S", 0.0)
    assert calibrations_of("often") == [(1.0, 2.0), (2.0, 3.0), (3.0, 4.0), (4.0, 5.0)]
    monkeypatch.setattr("kdrbench.suite.engine.job.CALIBRATE_EVERY_S", 3600.0)
    assert calibrations_of("once") == [(6.0, 7.0)] * 4


def test_an_order_is_read_as_it_was_written_or_refused(tmp_path):
    order, path = Order(shared("ism", "Raises", "tolerant"), False, {"mine": {"loader": "csv"}}), tmp_path / "order"
    assert read_order(order.write(path)) == order
    for text in ("", "{}", "[1]", '{"bundle": {"path": "e", "batches": [{}]}}'):
        path.write_text(text)
        with pytest.raises(InputError, match=r"is no order of a job .*; start the workflow again"):
            read_order(path)
