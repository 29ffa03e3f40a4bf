"""Records that the engine makes in a folder, and ways of tampering with them."""

import json

import numpy as np

from kdrbench.datasets import load_dataset
from kdrbench.suite.csv_files import csv_text, read_csv
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.publish import JobFiles, merge_records
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.systems import build_system
from support.one_batch import Limits, context_of

FOLD = "folds/wine/gaussian/ism/0"


def made_record(folder, config, system, limit_s=60.0):
    """Make all runs of a configuration of one system, and return the folder."""
    grid, system_class, paths = load_grid(config), build_system(system), []
    for bundle in grid.bundles():
        files = JobFiles.of(folder, bundle.path)
        run_job(system_class, bundle, lambda name: load_dataset(name), context_of(Limits(limit_s, 1024)), files)
        paths.append(files.records)
    merge_records(paths, system_class.record, grid.expected(grid.experiments), folder / f"{system}.csv")
    (folder / "config.json").write_text(json.dumps(grid.config))
    return folder


def _table(record):
    (path,) = record.glob("*.csv")
    return path, build_system(path.stem).record


def place_of(row, axes=("experiment", "dataset", "kernel", "method", "run")):
    return "/".join(row[name] for name in axes)


def _placed(record):
    path, kind = _table(record)
    return [(place_of(row, kind.axis_names()), row) for row in read_csv(path)]


def rows_of(record):
    """Return the rows of the only table by place."""
    return dict(_placed(record))


def write(record, rows):
    _table(record)[0].write_text(csv_text(rows[0], (row.values() for row in rows)))


def value(record, place, name):
    return rows_of(record)[place][name]


def put(record, place, **columns):
    """Put words into the row whose axes are ``place``."""
    write(record, [{**row, **columns} if one == place else row for one, row in _placed(record)])


def scaled(record, place, column, factor):
    put(record, place, **{column: repr(factor * float(value(record, place, column)))})


def last_digit(record, place, name, nth=9):
    """Change the ninth digit of a number, or another."""
    word = value(record, place, name)
    digits = [at for at, letter in enumerate(word) if letter.isdigit()]
    at = digits[min(nth, len(digits)) - 1]
    put(record, place, **{name: word[:at] + str((int(word[at]) + 5) % 10) + word[at + 1 :]})


def archive(record, place):
    return (record / "findings" / value(record, place, "trace_file")).with_suffix(".npz")


def change_arrays(record, place, work):
    """Let ``work`` change the arrays of the job of a row, given all by name and what begins and ends those of its run.

    What it makes ``None`` is removed.
    """
    path, row = archive(record, place), rows_of(record)[place]
    with np.load(path) as found:
        arrays = dict(found)
    cell = "/".join(row[name] for name in ("dataset", *_table(record)[1].CELL))
    work(arrays, lambda kind: f"{cell}/{kind}_{row['run']}")
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def change_array(record, place, kind, work):
    """Put what ``work`` makes of an array, given all by name, in its place; ``None`` removes it."""
    change_arrays(record, place, lambda arrays, name: arrays.update({name(kind): work(arrays[name(kind)], arrays)}))


def change_config(record, work):
    path = record / "config.json"
    config = json.loads(path.read_text())
    work(config)
    path.write_text(json.dumps(config))
