"""Batches that share a job and its files: what is made again, what stands, what an interruption or an error leaves."""

import contextlib
import fcntl
import json
import os
import signal
import time

import numpy as np
import pytest

from configs import table_4_config, whole_config
from kdrbench.bench.batch import Surroundings
from kdrbench.bench.grid import Grid
from kdrbench.bench.job import run_job
from kdrbench.bench.limits import Limits
from kdrbench.bench.plan import Bundle
from kdrbench.bench.published import read_points
from kdrbench.bench.record import read_records
from kdrbench.bench.supervisor import SupervisionError
from kdrbench.bench.terms import Terms
from kdrbench.datasets import load_dataset
from kdrbench.errors import DataError, InputError
from one_batch import files_in

LIMITS = Limits(time_s=5.0, memory_mib=512)
DATA = load_dataset("wine")
METHODS = {
    "ism": {"method": "ism"},
    "Raises": {"method": "misbehaving:Raises"},
    "tolerant": {"method": "ism", "tolerance": 0.5},
    "wants": {"method": "misbehaving:WantsAnOracle"},
    "killed": {"method": "misbehaving:IsKilledOnTheWay", "victim": "batch"},
}


def shared(*solvers, baselines=("svm",), folds=2, **methods):
    """Return the bundle of the one job that makes these solvers with two kernels, and the baselines."""
    config = table_4_config()
    config["solvers"] = METHODS | methods
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"datasets": ["wine"], "kernels": ["gaussian", "linear"], "solvers": list(solvers)}
    experiment |= {"baselines": list(baselines), "folds": folds, "folds_per_job": "auto"}
    (bundle,) = Grid(config).bundles()
    return bundle


def around(**changes):
    return Surroundings(LIMITS, 0.0, **({"calibrate": lambda: 0.02} | changes))


def run(bundle, files, **changes):
    return run_job(bundle, lambda: DATA, around(**changes), files, files.state.with_name("summary.json"))


def lines_by_solver(path):
    found = {}
    for line in path.read_text().splitlines():
        found.setdefault(json.loads(line)["solver"], []).append(line)
    return found


def arrays(files):
    with np.load(files.findings) as archive:
        return dict(archive)


@pytest.fixture
def files(tmp_path):
    return files_in(tmp_path)


def test_rows_traces_and_findings_of_all_stand_in_one_file_of_each(files):
    bundle = shared("ism", "Raises")
    records = run(bundle, files)
    cells = [("gaussian", "ism"), ("gaussian", "Raises"), ("linear", "ism"), ("linear", "Raises"), ("none", "svm")]
    assert [(row.kernel, row.solver, row.fold) for row in records] == [
        (*cell, fold) for cell in cells for fold in (0, 1)
    ]
    assert read_records(files.records) == records
    assert {row.trace_file for row in records} == {"table4_supervised/wine/cheap.jsonl"}
    assert [row.status for row in records] == ["converged", "converged", "failed", "failed"] * 2 + ["converged"] * 2
    points = read_points(files.traces)
    assert set(points) == {(*cell, fold) for cell in cells[:4] for fold in (0, 1)}
    for row in records[:2]:
        assert points["gaussian", "ism", row.fold][-1]["cost"] == pytest.approx(row.cost, rel=1e-12)
    found = arrays(files)
    assert {name for name in found if name.startswith("none/svm/")} == {"none/svm/labels_0", "none/svm/labels_1"}
    assert found["linear/ism/projection_1"].shape == (13, 4)
    # Nothing unfinished is left.
    assert not list(files.state.rglob("*.json*"))
    assert json.loads(files.state.with_name("summary.json").read_text())["runs_made"] == 10


def test_a_changed_batch_alone_is_made_again_and_the_others_stand_byte_for_byte(files):
    run(shared("ism", "tolerant"), files)
    rows, traces, found = lines_by_solver(files.records), lines_by_solver(files.traces), arrays(files)
    run(shared("ism", "tolerant", tolerant={"method": "ism", "tolerance": 0.25}), files)
    again = lines_by_solver(files.records)
    assert (again["ism"], again["svm"]) == (rows["ism"], rows["svm"])
    assert not set(again["tolerant"]) & set(rows["tolerant"])
    assert lines_by_solver(files.traces)["ism"] == traces["ism"]
    assert all(np.array_equal(found[name], array) for name, array in arrays(files).items() if "/ism/" in name)
    assert json.loads(files.state.with_name("summary.json").read_text())["runs_made"] == 4


def test_cells_come_and_go_and_nothing_else_is_made(files):
    run(shared("ism"), files)
    before = files.records.read_text().splitlines()
    run(shared("tolerant", "ism", baselines=["svm", "lda_svm"]), files)
    more = lines_by_solver(files.records)
    assert set(before) == {*more["ism"], *more["svm"]}
    run_job(shared("ism", baselines=["lda_svm"]), no_data, around(calibrate=never), files)
    assert lines_by_solver(files.records) == {name: more[name] for name in ("ism", "lda_svm")}


def never():
    raise AssertionError


def no_data():
    raise AssertionError


@pytest.mark.parametrize("name", ["records", "traces", "findings"])
@pytest.mark.parametrize("damage", ["deleted", "cut off"])
def test_a_file_that_is_not_whole_makes_all_runs_anew(files, name, damage):
    bundle = shared("ism")
    before = {row.axes: row for row in run(bundle, files)}
    path = getattr(files, name)
    if damage == "deleted":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-20])
    after = run(bundle, files)
    assert all(row.wall_s != before[row.axes].wall_s for row in after)
    assert len(after) == len(before)


def test_rows_that_are_not_timed_are_made_again_when_times_are_asked_for(files):
    bundle = shared("ism")
    run(bundle, files, terms=Terms(timed=False), calibrate=never)
    again = run(bundle, files)
    assert [row.timed for row in again] == [True] * 6
    run_job(bundle, no_data, around(terms=Terms(timed=False), calibrate=never), files)
    assert read_records(files.records) == again


def test_a_job_that_is_killed_goes_on_where_it_was_and_loses_and_doubles_nothing(files, tmp_path, monkeypatch):
    monkeypatch.setenv("KILLED_NOTE", str(tmp_path / "killed"))
    bundle = shared("ism", "killed")
    child = os.fork()
    if child == 0:
        run(bundle, files)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert not files.records.exists()
    done = [record for path in files.state.rglob("rows.jsonl") for record in read_records(path)]
    assert [row.axes[2:] for row in done] == [("gaussian", "ism", 0), ("gaussian", "ism", 1)]
    freed(files.job_lock)
    records = run(bundle, files)
    assert len({row.axes for row in records}) == len(records) == 10
    kept = {row.axes: row for row in records}
    assert [kept[row.axes] for row in done] == done
    assert {row.status for row in records} == {"converged"}


def freed(lock, within_s=30.0):
    """Wait until the guardian of a killed job's run, which holds the lock as well, has gone."""
    until = time.monotonic() + within_s
    with lock.open("w") as stream:
        while time.monotonic() < until:
            with contextlib.suppress(BlockingIOError):
                return fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            time.sleep(0.02)
    raise AssertionError(f"{lock} is still held")


def test_an_error_of_the_bench_in_one_batch_is_raised_when_the_others_have_been_run(files, capsys):
    with pytest.raises(InputError, match="WantsAnOracle needs the oracle third_derivative"):
        run(shared("wants", "ism"), files)
    assert "table4_supervised/wine/linear/wants/0-1: WantsAnOracle needs" in capsys.readouterr().err
    assert not files.records.exists()
    assert not files.state.with_name("summary.json").exists()
    waiting = {row.axes: row for path in files.state.rglob("rows.jsonl") for row in read_records(path)}
    records = run(shared("ism"), files)
    assert [row.wall_s for row in records] == [waiting[row.axes].wall_s for row in records]


def test_old_rows_stand_while_a_job_that_updates_them_fails(files):
    run(shared("ism"), files)
    before = files.records.read_bytes()
    with pytest.raises(InputError):
        run(shared("ism", "wants"), files)
    assert files.records.read_bytes() == before


def test_old_rows_stand_even_if_they_are_removed_when_a_job_has_failed(files):
    run(shared("ism"), files)
    before = files.records.read_bytes()
    with pytest.raises(InputError):
        run(shared("ism", "wants"), files)
    for path in files.finished:
        path.unlink()
    run_job(shared("ism"), no_data, around(calibrate=never), files)
    assert files.records.read_bytes() == before
    # But not when the job that was to update them has ended.
    for path in files.finished:
        path.unlink()
    run(shared("ism"), files)
    assert not set(files.records.read_bytes().splitlines()) & set(before.splitlines())


def test_other_data_are_refused(files):
    with pytest.raises(DataError, match=r"'wdbc' has SHA-256"):
        run_job(shared("ism"), lambda: load_dataset("wdbc"), around(), files)


def test_runs_do_not_begin_without_the_scheduler(files):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(SupervisionError, match="the scheduler is gone; start the workflow again"):
        run(shared("ism"), files, scheduler=child)
    assert not list(files.state.rglob("rows.jsonl"))


def test_two_jobs_do_not_write_the_same_files(files):
    files.job_lock.parent.mkdir(parents=True, exist_ok=True)
    with files.job_lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(SupervisionError, match="another process works on"):
            run(shared("ism"), files)


def test_cores_are_calibrated_again_when_some_seconds_have_passed(files, monkeypatch):
    seconds = iter(range(1, 100))
    monkeypatch.setattr("kdrbench.bench.job.CALIBRATE_EVERY_S", 0.0)
    records = run(shared("ism", baselines=[]), files, calibrate=lambda: float(next(seconds)))
    assert [(row.calibration_before_s, row.calibration_after_s) for row in records] == [(1.0, 2.0)] * 2 + [
        (2.0, 3.0)
    ] * 2
    files.records.unlink()
    monkeypatch.setattr("kdrbench.bench.job.CALIBRATE_EVERY_S", 3600.0)
    records = run(shared("ism", baselines=[]), files, calibrate=lambda: float(next(seconds)))
    assert {(row.calibration_before_s, row.calibration_after_s) for row in records} == {(4.0, 5.0)}


def test_a_bundle_is_read_as_it_was_written_and_says_once_what_its_batches_share():
    bundle = shared("ism", "Raises", "tolerant")
    text = bundle.to_json()
    assert Bundle.from_json(text) == bundle
    assert text.count(DATA.content_sha256) == 1


def test_the_largest_bundle_fits_many_times_into_a_word_of_a_command():
    # Linux allows 128 KiB, and the whole command is a word of the shell's.
    assert max(len(bundle.to_json()) for bundle in Grid(whole_config()).bundles()) < 2**17 / 8
