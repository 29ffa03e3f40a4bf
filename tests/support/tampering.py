"""Ways of tampering with the record of :mod:`verification.conftest`."""

import json

import numpy as np

from kdrbench.suite.csv_files import csv_text, read_csv

FOLD = "folds/wine/gaussian/ism/0"


def place_of(row):
    return "/".join(row[name] for name in ("experiment", "dataset", "kernel", "method", "run"))


def write(record, rows):
    (record / "ikdr.csv").write_text(csv_text(rows[0], (row.values() for row in rows)))


def value(record, place, name):
    return next(row[name] for row in read_csv(record / "ikdr.csv") if place_of(row) == place)


def put(record, place, **columns):
    """Put words into the row whose axes are ``place``."""
    rows = read_csv(record / "ikdr.csv")
    write(record, [{**row, **columns} if place_of(row) == place else row for row in rows])


def last_digit(record, place, name, nth=9):
    """Change the ninth digit of a number, or another."""
    word = value(record, place, name)
    digits = [at for at, letter in enumerate(word) if letter.isdigit()]
    at = digits[min(nth, len(digits)) - 1]
    put(record, place, **{name: word[:at] + str((int(word[at]) + 5) % 10) + word[at + 1 :]})


def archive(record, place):
    return (record / "findings" / value(record, place, "trace_file")).with_suffix(".npz")


def key(place, kind):
    _, *cell, run = place.split("/")
    return f"{'/'.join(cell)}/{kind}_{run}"


def change_array(record, place, kind, work):
    """Put what ``work`` makes of an array, given all by name, in its place; ``None`` removes it."""
    path = archive(record, place)
    with np.load(path) as found:
        arrays = dict(found)
    arrays[key(place, kind)] = work(arrays[key(place, kind)], arrays)
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def change_config(record, work):
    path = record / "config.json"
    config = json.loads(path.read_text())
    work(config)
    path.write_text(json.dumps(config))
