"""What the system refuses - a full disk, a folder that may not be written - is one sentence, and the way on works."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from kdrbench.datasets import load_dataset, save_prepared
from kdrbench.suite.engine.batch import Order
from kdrbench.suite.engine.record import read_records
from kdrbench.suite.systems.ikdr.system import IKDRRecord
from support.one_batch import alone, batch_of

BATCH = batch_of("ism", folds=3)
COMPARED = ("axes", "status", "iterations", "cost", "quality")


def kdrbench(*words, **options):
    # Without bytecode, which Python leaves cut short on a full disk.
    command = [sys.executable, "-B", "-m", "kdrbench", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def batch(results, data, **options):
    order = Order(alone(BATCH), timed=False).write(data.parent / "order.json")
    limits = ["--time-limit-s", 60, "--memory-limit-mib", 512, "--repeat-for-s", 0]
    return kdrbench("batch", order, "--data", data, "--results", results, *limits, **options)


def rows(results):
    records = read_records(results / "runs" / f"{BATCH.path}.jsonl", IKDRRecord)
    return [tuple(getattr(record, name) for name in COMPARED) for record in records]


def sentence_of(done):
    """Return the last sentence of a command that was refused something."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return [line for line in done.stderr.splitlines() if line.startswith("kdrbench: ")][-1]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    save_prepared(load_dataset("wine"), folder / "wine.npz")
    return folder


@pytest.fixture(scope="module")
def expected(data, tmp_path_factory):
    results = tmp_path_factory.mktemp("expected")
    assert batch(results, data).returncode == 0
    return rows(results)


@pytest.fixture
def disk(tmp_path):
    """A disk of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=False).returncode:
        pytest.skip("only root may mount a disk")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.needs("root")
@pytest.mark.attack("disk: full")
def test_a_disk_that_is_full_at_any_moment_costs_no_run(disk, data, expected, attack_rng):
    stuffing = disk / "stuffing"
    with stuffing.open("wb") as stream:
        # The job writes some 60 KiB.
        stream.truncate(0)
        stream.write(bytes(2**20 - 4096 * int(attack_rng.integers(2, 14))))
    said = sentence_of(batch(disk / "results", data))
    assert "No space left on device" in said or "came to no end" in said or "the bench failed" in said
    stuffing.unlink()
    assert batch(disk / "results", data).returncode == 0
    assert rows(disk / "results") == expected


@pytest.mark.slow("a full disk, with three batches in processes of their own")
@pytest.mark.attack("disk: full")
def test_files_that_may_not_grow_are_as_a_full_disk(tmp_path, data, expected, attack_rng):
    most = int(attack_rng.integers(100, 6000))
    limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))}
    sentence_of(batch(tmp_path, data, **limited))
    assert batch(tmp_path, data).returncode == 0
    assert rows(tmp_path) == expected


@pytest.mark.needs("root")
@pytest.mark.attack("disk: read-only")
def test_read_only_results_end_every_writer_with_one_sentence(disk, data, expected):
    results = disk / "results"
    assert batch(results, data).returncode == 0
    (results / "runs" / f"{BATCH.path}.jsonl").unlink()
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    for done in (
        batch(results, data),
        kdrbench("prepare", "wine", "--out", results / "wine.npz"),
        kdrbench("forget", BATCH.experiment, "--results", results),
    ):
        assert "Read-only file system" in sentence_of(done)
        assert "make it writable, or work in another folder" in sentence_of(done)
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    assert batch(results, data).returncode == 0
    assert rows(results) == expected


def list_solvers(stdout):
    command = [sys.executable, "-m", "kdrbench", "list", "solvers"]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


@pytest.mark.attack("disk: full")
def test_an_answer_that_cannot_be_written_is_said():
    with Path("/dev/full").open("w") as full:
        done = list_solvers(full)
    assert done.stderr == (
        "kdrbench: No space left on device; free some space on that disk, and give the same command again: what is "
        "finished is kept\n"
    )
    assert done.returncode == 2


def test_a_reader_that_has_gone_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        done = list_solvers(stream)
    assert (done.returncode, done.stderr) == (1, "")
