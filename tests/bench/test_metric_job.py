import dataclasses
import json
import os
import signal
import time
from functools import partial

import pytest

from kdrbench.bench import metric_job
from kdrbench.bench.limits import Limits
from kdrbench.bench.metric_job import run_metric_batch
from kdrbench.bench.metric_record import MetricRecord
from kdrbench.bench.metric_split import MethodRow
from kdrbench.bench.parts import PartFiles, Supervision, claimed
from kdrbench.bench.rows import RecordError, merge_rows, parse_row, read_rows, row_json, write_rows
from kdrbench.bench.supervisor import SupervisionError
from kdrbench.datasets import load_dataset
from kdrbench.errors import DataError
from metric_cases import metric_batch, metric_record

IRIS = load_dataset("iris")
AROUND = Supervision(Limits(60.0, 1024.0))
METHODS = ("plain", "aligned")


def files_in(folder):
    return PartFiles(folder / "records" / "0-1.jsonl", folder / "state" / "0-1")


def run(tmp_path, limits=AROUND, **changes):
    return run_metric_batch(metric_batch(variants=METHODS, **changes), IRIS, limits, files_in(tmp_path))


def endings(records):
    return [(record.split, record.variant, record.status) for record in records]


def test_every_method_of_every_split_leaves_a_row(tmp_path):
    records = run(tmp_path)
    assert [record.axes for record in records] == metric_batch(variants=METHODS).axes
    assert read_rows(files_in(tmp_path).records, MetricRecord) == records
    assert not files_in(tmp_path).state.exists()
    for record in records:
        assert (record.status, record.n_train, record.n_test, record.n_features) == ("converged", 100, 50, 4)
        assert 0.8 < record.accuracy <= 1.0
        assert record.split_wall_s >= record.learning_cpu_s
        assert record.git_commit
        assert record.processor


def replaced(monkeypatch, made):
    monkeypatch.setattr(metric_job, "run_split", made)


def stuck(batch, dataset, number):
    yield MethodRow("dne", "plain", accuracy=0.5)
    time.sleep(60)


def test_a_limit_takes_only_what_had_not_ended(tmp_path, monkeypatch):
    replaced(monkeypatch, stuck)
    records = run(tmp_path, Supervision(Limits(0.3, 1024.0)), splits=(0,))
    assert endings(records) == [(0, "plain", "converged"), (0, "aligned", "time_limit")]
    assert records[0].accuracy == 0.5
    assert records[1].accuracy is records[1].tuning_cpu_s is None
    assert records[1].message == "killed at the time limit of 0.3 s"


def hoards(batch, dataset, number):
    yield MethodRow("dne", "plain", message="ValueError: no")
    yield MethodRow("dne", "aligned", kernel=str(bytearray(200 * 2**20)[0]))


def test_failures_and_memory_are_rows(tmp_path, monkeypatch):
    replaced(monkeypatch, hoards)
    records = run(tmp_path, Supervision(Limits(60.0, 64.0)), splits=(0,))
    assert endings(records) == [(0, "plain", "failed"), (0, "aligned", "memory_limit")]
    assert records[0].message == "ValueError: no"
    assert records[0].learning_cpu_s is None


def killed(number_killed, times, batch, dataset, number):
    """Be killed in one split, so many times, and be quick in the others; a file counts."""
    if number == number_killed:
        with times.open("a") as stream:
            stream.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
    yield from (MethodRow("dne", variant, accuracy=1.0) for variant in METHODS)


def test_a_split_that_is_killed_is_tried_once_more_and_then_failed(tmp_path, monkeypatch):
    replaced(monkeypatch, partial(killed, 1, tmp_path / "times"))
    records = run(tmp_path)
    assert endings(records)[:2] == [(0, "plain", "converged"), (0, "aligned", "converged")]
    assert endings(records)[2:] == [(1, "plain", "failed"), (1, "aligned", "failed")]
    assert records[2].message == "ended by SIGKILL"
    assert (tmp_path / "times").read_text() == "xx"


def interrupted(batch, dataset, number):
    if number == 1:
        os.kill(os.getpid(), signal.SIGTERM)
    yield from (MethodRow("dne", variant, accuracy=0.25) for variant in METHODS)


def test_finished_splits_are_not_done_again(tmp_path, monkeypatch):
    replaced(monkeypatch, interrupted)
    with pytest.raises(SupervisionError, match="the run was ended by SIGTERM; start the workflow again"):
        run(tmp_path)
    assert not files_in(tmp_path).records.exists()
    # As a killed writer leaves it: some rows of the next split, the last of them cut short.
    (line, _) = files_in(tmp_path).rows.read_text().splitlines()
    half = json.dumps({**json.loads(line), "split": 1})
    with files_in(tmp_path).rows.open("a") as stream:
        stream.write(f"{half}\n{half[:40]}")
    replaced(monkeypatch, lambda *_: iter(MethodRow("dne", variant, accuracy=0.75) for variant in METHODS))
    assert [record.accuracy for record in run(tmp_path)] == [0.25, 0.25, 0.75, 0.75]


def test_rows_of_another_batch_or_limit_do_not_count(tmp_path, monkeypatch):
    for changes in ({"seed": 1}, {"limits": Supervision(Limits(59.0, 1024.0))}):
        replaced(monkeypatch, interrupted)
        with pytest.raises(SupervisionError):
            run(tmp_path / str(changes))
        replaced(monkeypatch, lambda *_: iter(MethodRow("dne", variant, accuracy=0.75) for variant in METHODS))
        assert {record.accuracy for record in run(tmp_path / str(changes), **changes)} == {0.75}


def test_a_second_process_and_other_data_are_refused(tmp_path):
    batch = metric_batch(variants=METHODS)
    with (
        claimed(batch, MetricRecord, AROUND.limits, files_in(tmp_path)),
        pytest.raises(SupervisionError, match="another process works on"),
    ):
        run(tmp_path)
    with pytest.raises(DataError, match="the batch wants 0123; delete its file"):
        run(tmp_path, data_sha256="0123")


def test_records_say_what_is_wrong_with_them():
    record = metric_record()
    assert parse_row(row_json(record), MetricRecord) == record
    values = dataclasses.asdict(record)
    for changes, message in (
        ({"schema_version": 9}, "a MetricRecord must have schema version 1, got 9"),
        ({"further": 1}, "columns differ from the schema in: further"),
        ({"split": "0"}, "column split holds '0', which is not of type"),
        ({"status": "done"}, "unknown status 'done'; allowed: converged"),
    ):
        with pytest.raises(RecordError, match=message):
            parse_row(json.dumps({**values, **changes}), MetricRecord)
    with pytest.raises(RecordError, match="not a line of JSON"):
        parse_row("{", MetricRecord)


def test_merging_leaves_no_silent_holes(tmp_path):
    first, second = metric_record(), metric_record(split=1)
    path, table = tmp_path / "rows.jsonl", tmp_path / "kpca.csv"
    write_rows(path, [second, first])
    assert merge_rows([path], MetricRecord, [first.axes, second.axes], table) == [first, second]
    assert table.read_text().startswith("schema_version,dataset,split,learner,variant,status,")
    for expected, message in (
        ([first.axes], r"1 record\(s\) belong to no row"),
        ([first.axes, second.axes, ("iris", 2, "dne", "plain")], r"1 row\(s\) have no record"),
    ):
        with pytest.raises(RecordError, match=message):
            merge_rows([path], MetricRecord, expected, table)
    with pytest.raises(RecordError, match="stands twice in the results"):
        merge_rows([path, path], MetricRecord, [first.axes, second.axes], table)
