"""An honest record is as its runs are made again; what was tampered with is found."""

import itertools
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kdrbench.datasets import load_dataset
from kdrbench.errors import DataError
from kdrbench.suite.commands.verify import attested_folder
from kdrbench.suite.csv_files import csv_text, read_csv
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.verification import audit as audits
from kdrbench.suite.verification.verify import Record
from support.command_line import kdrbench
from support.one_batch import Limits, context_of, run_batch
from support.tampering import FOLD, change_array, place_of, put

LIMIT_S = 300.0


def made_here(batch, dataset, folder):
    """Make a run by the engine, in children of this process."""
    return run_batch(batch, dataset, context_of(Limits(LIMIT_S, 1024)), JobFiles.of(folder, batch.path))


def audited(record, folder, n_cells=100, **changes):
    settings = {"n_cells": n_cells, "seed": 0, "limit_s": 60.0} | changes
    return audits.audit(Record(record, own_code=True), made_here, folder, **settings)


@pytest.mark.slow("makes a record, and its runs again")
def test_an_honest_record_is_as_its_runs_are_made_again(made, tmp_path, monkeypatch):
    monkeypatch.setattr(audits, "same_rounding", lambda *_: True)
    found = audited(made, tmp_path)
    assert [str(finding) for finding in found.findings] == []
    # A run of each cell: of those with folds one.
    assert len(found.runs) == len(
        {row["experiment"] + row["kernel"] + row["method"] for row in read_csv(made / "ikdr.csv")}
    )
    assert not found.passed_over
    assert all(run.time_ratio is None or run.time_ratio > 0 for run in found.runs)
    assert any(run.time_ratio for run in found.runs)


def array(work):
    return lambda record, _: change_array(record, FOLD, "projection", work)


def turned(projection, _):
    """The projection turned by a thousandth, which moves its cost by a millionth or less."""
    return np.linalg.qr(projection + 1e-3 * np.eye(len(projection), 1))[0]


# What is done to the record, and in which column that is found, also on another machine.
TAMPERINGS = [
    (lambda r, cost: put(r, FOLD, cost=str(float(cost) * (1 - 1e-6))), "cost"),
    (lambda r, _: put(r, FOLD, status="failed"), "status"),
    (lambda r, _: put(r, FOLD, status="time_limit", message="4.9 s"), "status"),
    (lambda r, _: put(r, FOLD, iterations="77"), "iterations"),
    (lambda r, _: put(r, FOLD, quality="0.5"), "quality"),
    (array(lambda _, arrays: arrays["wine/gaussian/ism/projection_1"]), "projection"),
    (array(turned), "projection"),
    (array(lambda projection, _: projection[:, :1]), "projection"),
    (array(lambda projection, _: projection * np.nan), "projection"),
    (lambda r, _: put(r, FOLD, cost="much"), "row"),
]


def only(monkeypatch, place):
    """Draw one run alone."""
    cell, _, run = place.rpartition("/")

    def chosen(batches, _):
        for batch in batches:
            if batch.path.startswith(f"{cell}/"):
                yield replace(batch, runs=(int(run),))

    monkeypatch.setattr(audits, "drawn", chosen)


@pytest.fixture(scope="session")
def again(made, tmp_path_factory):
    """The rows and files of one run that is made again, once for all tamperings."""
    folder = tmp_path_factory.mktemp("again")
    (batch,) = [one for one in Record(made, own_code=True).grid.batches() if one.path == "folds/wine/gaussian/ism/0-1"]
    one = replace(batch, runs=(0,))
    return folder, made_here(one, load_dataset("wine"), folder)


@pytest.mark.parametrize("same", [True, False], ids=["same machine", "another"])
def test_tampering_is_found(made, again, same, tmp_path, monkeypatch):
    only(monkeypatch, FOLD)
    monkeypatch.setattr(audits, "same_rounding", lambda *_: same)
    (row,) = [row for row in read_csv(made / "ikdr.csv") if place_of(row) == FOLD]
    folder, rows = again
    # The last digit of a cost is rounding on another machine.
    digit = (lambda r, cost: put(r, FOLD, cost=repr(float(np.nextafter(float(cost), 0.0)))), "cost")
    for number, (tamper, column) in enumerate([*TAMPERINGS, digit]):
        record = shutil.copytree(made, tmp_path / str(number), ignore=shutil.ignore_patterns(".workspace"))
        tamper(record, row["cost"])
        read = Record(record, own_code=True)
        found = audits.audit(read, lambda *_: rows, folder, n_cells=1, seed=0, limit_s=60.0).findings
        is_rounding = number == len(TAMPERINGS) and not same
        assert (column in {finding.column for finding in found}) != is_rounding, (number, column)


def test_a_run_that_is_missing_is_found(record, tmp_path, monkeypatch):
    only(monkeypatch, FOLD)
    rows = [row for row in read_csv(record / "ikdr.csv") if place_of(row) != FOLD]
    (record / "ikdr.csv").write_text(csv_text(rows[0], (row.values() for row in rows)))
    assert [str(one) for one in audited(record, tmp_path).findings] == [
        f"{FOLD}: row is missing, should be in the table"
    ]


@pytest.mark.parametrize(
    ("columns", "settings", "reason"),
    [
        ({}, {"limit_s": 1e-6}, "runs that took more than 1e-06 s"),
        ({"memory_mib": "1e9"}, {}, "MiB that are free here"),
        ({"status": "skipped"}, {}, "runs that were skipped in the record"),
        ({}, {"mirror": None}, "wine is nowhere"),
    ],
)
def test_what_cannot_be_made_again_is_passed_over(record, tmp_path, monkeypatch, columns, settings, reason):
    def missing(*_):
        raise DataError("wine is nowhere")

    only(monkeypatch, FOLD)
    if "mirror" in settings:
        monkeypatch.setattr(audits, "load_defined", missing)
    put(record, FOLD, **columns)
    found = audited(record, tmp_path, **settings)
    assert not found.runs
    ((said, count),) = found.passed_over.items()
    assert reason in said
    assert count == 1


def test_a_run_of_each_cell_is_drawn_by_the_seed():
    def cell(system, number):
        return Batch(system, "e", f"set{number}", "", ("m",), {}, (0, 1, 2), ((),), 0, 1)

    batches = [cell("many", number) for number in range(30)] + [cell("few", 40 + number) for number in range(10)]

    def first(k, seed):
        return list(itertools.islice(audits.drawn(batches, np.random.default_rng(seed)), k))

    assert first(8, 1) == first(8, 1) != first(8, 2)
    everything = first(99, 0)
    assert len({one.dataset for one in everything}) == len(everything) == 40
    assert {one.runs for one in everything} == {(0,), (1,), (2,)}


def test_a_run_near_its_limit_may_end_on_either_side(again):
    _, (row,) = again
    near = replace(row, status="time_limit", provenance=replace(row.provenance, time_limit_s=1.5 * row.time_s))
    far = replace(row, status="time_limit", provenance=replace(row.provenance, time_limit_s=100 * row.time_s))
    assert not list(audits.compared("run", (near, {}), (row, {})))
    assert [one.column for one in audits.compared("run", (far, {}), (row, {}))] == ["status"]
    assert not list(audits.compared("run", (row, {}), (near, {})))


@pytest.mark.parametrize("clean", [True, False])
def test_a_projection_that_is_not_stored_is_not_compared(again, clean):
    _, (row,) = again
    row = replace(row, provenance=replace(row.provenance, git_dirty=not clean))
    here = (row, {"projection": np.eye(3)[:, :2]})
    said = (row, {"not_stored": np.array(["projection"])})
    assert not list(audits.compared("run", said, here))
    # One that is neither there nor said to be left out is missing.
    assert [one.column for one in audits.compared("run", (row, {}), here)] == ["projection"]


def test_the_same_machine_has_processor_packages_and_commit(again):
    _, (row,) = again
    clean = replace(row, provenance=replace(row.provenance, git_dirty=False))
    assert audits.same_rounding(clean, clean)
    for change_of in ({"processor": "other"}, {"git_dirty": True}, {"numpy_version": "0"}, {"git_commit": "0"}):
        assert not audits.same_rounding(clean, replace(clean, provenance=replace(clean.provenance, **change_of)))


@pytest.mark.whole
def test_the_command_makes_runs_by_the_engine(record, packed_place, monkeypatch):
    tests, source = Path(__file__).parents[1], Path(__file__).parents[2] / "src"
    monkeypatch.setenv("PYTHONPATH", f"{source}:{tests}")

    options = ("--own-code", "--cells", "1", "--seed", "3")
    done = kdrbench("verify", "--rerun", record, *options)
    assert done.exit_code == 0, done.output
    assert ": as recorded" in done.output
    assert "1 run made again, 0 findings" in done.output
    packed = kdrbench("verify", "--rerun", packed_place, *options)
    # But for its time.
    assert packed.stdout.partition(";")[0] == done.stdout.partition(";")[0]
    assert "1 run made again, 0 findings" in packed.output
    nothing = kdrbench("verify", "--rerun", record, "--own-code", "--time-s", "1e-9")
    assert (nothing.exit_code, "no cell could be made again" in nothing.output) == (2, True)
    refused = kdrbench("verify", "--rerun", record)
    assert (refused.exit_code, "--own-code" in refused.output) == (2, True)
    unused = kdrbench("verify", "--attest", record)
    assert (unused.exit_code, "--attest needs --rerun" in unused.output) == (2, True)


def test_an_attestation_lies_where_it_is_read(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "papers").mkdir()
    for place, name in ((tmp_path, ""), (tmp_path, "papers"), (tmp_path / "papers", "")):
        assert attested_folder(place, name) == tmp_path
    base = tmp_path / "record"
    for folder in (base, base / "layers" / "2026-12-01"):
        folder.mkdir(parents=True)
        (folder / "manifest.json").touch()
    assert {attested_folder(place, "") for place in (base, base / "layers/base", base / "layers/2026-12-01")} == {base}
