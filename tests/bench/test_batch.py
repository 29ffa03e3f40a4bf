"""Batches of real runs, well-behaved and not."""

import json

import numpy as np
import psutil
import pytest

from kdrbench.bench.batch import Surroundings
from kdrbench.bench.fold import make_fold
from kdrbench.bench.limits import Limits
from kdrbench.bench.merge import merge_records
from kdrbench.bench.publish import made
from kdrbench.bench.record import RunRecord, append_record, read_records
from kdrbench.bench.rows import RecordError, parse_row, row_json
from kdrbench.bench.state import BatchFiles, claimed
from kdrbench.bench.supervisor import SupervisionError
from kdrbench.bench.terms import TIMED
from kdrbench.datasets import load_dataset
from kdrbench.errors import DataError, InputError
from kdrbench.evaluation import DenseProblem, Evaluation, build_problem
from kdrbench.kernels import build_kernel
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.solvers import IterationMonitor, build_solver, make_start, solve
from kdrbench.solvers.base import FEASIBILITY_BOUND
from one_batch import LIMITS, batch_of, files_in, run_batch

# Far above what a solve takes, also on a busy machine: repeated solves are looked at.
REPEAT_FOR_S = 0.2


@pytest.fixture
def files(tmp_path):
    return files_in(tmp_path)


def projections(files):
    with np.load(files.findings, allow_pickle=False) as arrays:
        return {name.removeprefix("gaussian/it/"): arrays[name] for name in arrays.files}


def run(method, files, *, limits=LIMITS, **options):
    return run_batch(batch_of(method, **options), load_dataset("wine"), Surroundings(limits, REPEAT_FOR_S), files)


def test_a_good_run_leaves_a_full_row_a_trace_and_no_state(files):
    (record,) = run("ism", files)
    assert record.status == "converged"
    assert record.cost == pytest.approx(-1312, abs=60)
    assert 0.8 < record.quality <= 1.0
    assert record.feasibility < FEASIBILITY_BOUND
    assert record.stationarity < 0.01
    assert 0 < record.time_s < record.wall_s < LIMITS.time_s
    assert record.repeats > 1
    assert record.surrogate_calls == record.iterations + 1
    assert (record.n_train, record.n_test, record.n_features, record.n_components) == (160, 18, 13, 4)
    assert record.data_sha256 == load_dataset("wine").content_sha256
    trace = [json.loads(line) for line in files.traces.read_text().splitlines()]
    assert trace[-1]["cost"] == pytest.approx(record.cost, rel=1e-12)
    assert [point["time_s"] for point in trace] == sorted(point["time_s"] for point in trace)
    assert not files.state.exists()


def test_a_row_says_how_its_problem_was_evaluated_and_is_judged_exactly(files, tmp_path):
    (record,) = run("ism", files)
    assert record.evaluation == "dense: 160 samples; the kernel has no exact factors"
    rough = BatchFiles(tmp_path / "rough.jsonl", tmp_path / "traces", tmp_path / "other")
    (other,) = run("ism", rough, evaluation={"evaluator": "low_rank", "tolerance": 0.1})
    assert other.evaluation == "low_rank: asked for"
    # A tenth of the kernel's trace is left out, yet the cost is that of the whole kernel.
    assert other.cost == pytest.approx(record.cost, rel=2e-2)
    assert other.batch_sha256 != record.batch_sha256
    fold = make_fold(load_dataset("wine"), 0, 10, other.seed)
    objective = TraceObjective(
        fold.train_features,
        build_kernel({"family": "gaussian"}, fold.train_features, 4),
        supervised_gamma(fold.train_labels),
    )
    approximate = build_problem(objective, Evaluation(evaluator="low_rank", tolerance=0.1))
    start = make_start("surrogate", approximate, 4, np.random.default_rng(0))
    result = solve(build_solver({"method": "ism"}), approximate, start, IterationMonitor())
    assert other.cost == pytest.approx(-DenseProblem(objective).value(result.projection), rel=1e-9)
    assert abs(other.cost + approximate.value(result.projection)) > 1e-3


@pytest.mark.parametrize(
    ("solver", "status", "message"),
    [
        ("Sleeps", "time_limit", "killed at the time limit of 1 s"),
        ("ForksGrandchild", "time_limit", "killed at the time limit of 1 s"),
        ("NeverEnds", "time_limit", "stopped at the time limit of 1 s"),
        ("Allocates", "memory_limit", "out of memory: Unable to allocate 64.0 GiB"),
        ("AllocatesInChildren", "memory_limit", "killed beyond the memory limit of 256 MiB"),
        ("Raises", "failed", "ZeroDivisionError: the step length is 0/0"),
        ("IsKilled", "failed", "ended by SIGKILL, twice"),
        ("Leaves", "failed", "ended with exit code 7 and no result"),
        ("Lies", "failed", "InputError: the result is not orthonormal"),
        ("LiesOnTheWay", "failed", "InputError: the iterate is not orthonormal"),
        ("Diverges", "failed", "InputError: the iterate holds NaN or infinite values"),
        ("LiesAndGoesOn", "failed", "InputError: the iterate is not orthonormal"),
        ("TooWide", "failed", "InputError: the iterate has 5 components, 4 were asked for"),
        ("ExitsLikeABenchFault", "failed", "SystemExit: 70"),
        ("DiesOfARealTimeSignal", "failed", "ended by signal 40"),
        ("ConvergesTooLate", "time_limit", "stopped at the time limit of 1 s"),
        ("HasItsOwnStatus", "failed", "InputError: HasItsOwnStatus ended with status 'fine'; allowed: converged"),
    ],
)
def test_a_bad_run_leaves_its_row_with_the_trace_so_far(files, monkeypatch, tmp_path, solver, status, message):
    monkeypatch.setenv("GRANDCHILD_NOTE", str(tmp_path / "grandchild"))
    # What hoards memory in children is given time to do so: it must not be the clock that ends it.
    limits = Limits(time_s=30.0, memory_mib=256) if status == "memory_limit" else LIMITS
    (record,) = run(f"misbehaving:{solver}", files, limits=limits)
    assert record.status == status
    assert record.message.startswith(message)
    assert record.wall_s < limits.time_s + 1.0
    if status == "time_limit":
        assert record.time_s >= limits.time_s
    trace = [json.loads(line) for line in files.traces.read_text().splitlines()]
    assert len(trace) >= (1 if "Lies" in solver else 3)
    # The last iterate the referee passed is feasible, so its cost and quality are known.
    assert record.feasibility < FEASIBILITY_BOUND
    assert record.cost == pytest.approx(trace[-1]["cost"], rel=1e-12)
    assert 0 < record.quality <= 1
    if solver == "ForksGrandchild":
        assert not psutil.pid_exists(int((tmp_path / "grandchild").read_text()))


def test_an_interrupted_run_leaves_no_row(files):
    with pytest.raises(SupervisionError, match="ended by SIGTERM"):
        run("misbehaving:IsTerminated", files)
    assert not files.records.exists()
    assert read_records(files.state / "rows.jsonl") == []


def test_all_solvers_share_splits_and_starts(files, tmp_path):
    costs = set()
    for method in ("ism", "stiefel_cayley", "misbehaving:Raises"):
        run(method, files, folds=2)
        first = json.loads(files.traces.read_text().splitlines()[0])
        costs.add(first["cost"])
    assert len(costs) == 1


def test_rows_of_an_interrupted_batch_are_kept_and_the_rest_is_run(files):
    whole = run("ism", files, folds=3)
    files.records.unlink()
    batch, state = batch_of("ism", folds=3), files.state
    state.mkdir()
    (state / "key.json").write_text(json.dumps([batch.sha256, LIMITS.time_s, LIMITS.memory_mib, REPEAT_FOR_S, True]))
    (state / "fold-1").mkdir()
    (state / "fold-1" / "trace.jsonl").write_text("[0.5, -1.0, 0.1]\n")
    append_record(state / "rows.jsonl", whole[1])
    with (state / "rows.jsonl").open("a") as stream:
        stream.write('{"half a line')
    again = run("ism", files, folds=3)
    assert [record.fold for record in again] == [0, 1, 2]
    assert again[1] == whole[1]
    assert [record.cost for record in again] == [record.cost for record in whole]
    traces = [json.loads(line) for line in files.traces.read_text().splitlines()]
    assert {point["fold"] for point in traces} == {0, 1, 2}
    assert [point["cost"] for point in traces if point["fold"] == 1] == [-1.0]


def test_the_projections_that_were_judged_are_kept(files):
    records = run("ism", files, folds=2)
    found = projections(files)
    assert set(found) == {"projection_0", "projection_1"}
    for record in records:
        fold = make_fold(load_dataset("wine"), record.fold, 10, record.seed)
        kernel = build_kernel({"family": "gaussian"}, fold.train_features, 4)
        problem = build_problem(TraceObjective(fold.train_features, kernel, supervised_gamma(fold.train_labels)))
        assert -problem.value(found[f"projection_{record.fold}"]) == pytest.approx(record.cost, rel=1e-12)


def test_what_a_killed_batch_had_found_is_kept(files):
    run("ism", files, folds=2)
    whole, kept = projections(files), files.findings.read_bytes()
    batch, state = batch_of("ism", folds=2), files.state
    with claimed(files, batch, LIMITS, REPEAT_FOR_S, TIMED):
        # The first run has ended, and its files lie where it left them; the second has not begun.
        append_record(files.rows, read_records(files.records)[0])
        (state / "fold-0").mkdir()
        np.save(files.run(0).projection, -whole["projection_0"])
    files.records.unlink()
    files.findings.with_name(f".{files.findings.name}.cut").write_bytes(b"half")
    run("ism", files, folds=2)
    again = projections(files)
    np.testing.assert_array_equal(again["projection_0"], -whole["projection_0"])
    np.testing.assert_array_equal(again["projection_1"], whole["projection_1"])
    assert not list(files.findings.parent.glob(".findings*"))
    files.records.unlink()
    run("ism", files, folds=2)
    assert files.findings.read_bytes() == kept


def test_a_trace_counts_the_calls_of_oracles(files):
    (record,) = run("dimension_growth", files)
    calls = [json.loads(line)["calls"] for line in files.traces.read_text().splitlines()]
    counted = (record.value_calls, record.gradient_calls, record.hessian_vector_calls, record.hessian_calls)
    assert calls == sorted(calls)
    assert calls[-1] == sum(counted) + record.surrogate_calls
    assert 0 < calls[1] < calls[-1]


def test_two_processes_never_work_on_one_batch(files):
    with (
        claimed(files, batch_of("ism"), LIMITS, REPEAT_FOR_S, TIMED),
        pytest.raises(SupervisionError, match=r"another process works on .*state; wait until it has ended"),
    ):
        run("ism", files)
    assert not files.records.exists()


def test_a_batch_is_published_whole_or_not_at_all(files):
    (record,) = run("ism", files)
    batch = batch_of("ism", folds=2)
    with claimed(files, batch, LIMITS, REPEAT_FOR_S, TIMED):
        append_record(files.rows, record)
        files.records.unlink()
        with pytest.raises(RecordError, match=r"holds folds \[0\], not \[0, 1\]"):
            made(batch, files, [record])
    assert not files.records.exists()


@pytest.mark.parametrize(
    ("solver", "error", "message"),
    [
        ("ImportsWhatIsNotThere", SupervisionError, "the bench failed within the run"),
        (
            "WantsAnOracle",
            InputError,
            "WantsAnOracle needs the oracle third_derivative, which DispatchedProblem does not",
        ),
    ],
)
def test_faults_that_are_not_the_solvers_leave_no_row(files, solver, error, message):
    with pytest.raises(error, match=message):
        run(f"misbehaving:{solver}", files)
    assert not files.records.exists()


def test_a_solver_of_ones_own_must_keep_the_contract():
    with pytest.raises(InputError, match=r"'misbehaving:NoSolver' must be a dataclass .*; it lacks requires"):
        build_solver({"method": "misbehaving:NoSolver"})


def test_unfinished_rows_of_other_limits_are_not_kept(files):
    (record,) = run("ism", files)
    files.records.unlink()
    files.state.mkdir()
    (files.state / "key.json").write_text(
        json.dumps([batch_of("ism").sha256, 99.0, LIMITS.memory_mib, REPEAT_FOR_S, True])
    )
    append_record(files.state / "rows.jsonl", record)
    (again,) = run("ism", files)
    assert again.wall_s != record.wall_s


def test_other_data_than_the_batch_names_are_refused(files):
    with pytest.raises(DataError, match=r"'wdbc' has SHA-256 .*, the run wants"):
        run_batch(batch_of("ism"), load_dataset("wdbc"), Surroundings(LIMITS, REPEAT_FOR_S), files)
    assert not files.records.exists()


def test_records_are_checked_when_read(files):
    (record,) = run("ism", files)
    line = row_json(record)
    assert parse_row(line, RunRecord) == record
    for change, message in (
        ({"schema_version": 99}, "a RunRecord must have schema version 5, got 99"),
        ({"status": "fine"}, "unknown status 'fine'; allowed: converged"),
        ({"cost": "low"}, "column cost holds 'low'"),
        ({"colour": 1}, "columns differ from the schema in: colour"),
    ):
        with pytest.raises(RecordError, match=message):
            parse_row(json.dumps(json.loads(line) | change), RunRecord)
    with pytest.raises(RecordError, match="must be a JSON object"):
        parse_row("[]", RunRecord)
    with pytest.raises(RecordError, match="not a line of JSON"):
        parse_row("{", RunRecord)


def test_merging_tolerates_no_hole_no_double_and_no_stranger(files, tmp_path):
    records = run("ism", files, folds=2)
    expected = {record.axes: record.definition_sha256 for record in records}
    table = tmp_path / "runs.csv"
    assert merge_records([files.records], expected, table) == records
    assert len(table.read_text().splitlines()) == 3
    with pytest.raises(RecordError, match="stands twice"):
        merge_records([files.records, files.records], expected, table)
    with pytest.raises(RecordError, match=r"1 row\(s\) have no record, the first is .*'it', 7\)"):
        merge_records([files.records], expected | {(*records[0].axes[:4], 7): ""}, table)
    with pytest.raises(RecordError, match=r"1 record\(s\) belong to no row of the configuration"):
        merge_records([files.records], dict(list(expected.items())[:1]), table)
    with pytest.raises(RecordError, match=r"'it', 0\) in .*records.jsonl was made for another definition"):
        merge_records([files.records], dict.fromkeys(expected, "of another"), table)
