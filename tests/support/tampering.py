"""Ways of tampering with the record of :mod:`verification.conftest`, and where each is found.

Those of one group touch different columns or rows, so that a single verification finds all of them.
"""

import json
import os
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kdrbench.suite.csv_files import csv_text, read_csv

FOLD = "folds/wine/gaussian/ism/0"


def change(record, place, **columns):
    """Overwrite columns of the row whose axes are ``place``."""
    rows = read_csv(record / "ikdr.csv")
    (row,) = [row for row in rows if place_of(row) == place]
    for name, value in columns.items():
        assert row[name] != value
        row[name] = value
    write(record, rows)


def put(record, place, **columns):
    """Put words into a row, whatever was there."""
    rows = read_csv(record / "ikdr.csv")
    write(record, [{**row, **columns} if place_of(row) == place else row for row in rows])


def place_of(row):
    return "/".join(row[name] for name in ("experiment", "dataset", "kernel", "method", "run"))


def write(record, rows):
    (record / "ikdr.csv").write_text(csv_text(rows[0], (row.values() for row in rows)))


def value(record, place, name):
    return next(row[name] for row in read_csv(record / "ikdr.csv") if place_of(row) == place)


def last_digit(record, place, name, nth=9):
    """Change the ninth digit of a number, or another."""
    word = value(record, place, name)
    digits = [at for at, letter in enumerate(word) if letter.isdigit()]
    at = digits[min(nth, len(digits)) - 1]
    change(record, place, **{name: word[:at] + str((int(word[at]) + 5) % 10) + word[at + 1 :]})


def arrays(record, place):
    path = (record / "findings" / value(record, place, "trace_file")).with_suffix(".npz")
    with np.load(path) as archive:
        return path, dict(archive)


def key(place, kind):
    _, *cell, run = place.split("/")
    return f"{'/'.join(cell)}/{kind}_{run}"


def change_array(record, place, kind, work):
    path, found = arrays(record, place)
    found[key(place, kind)] = work(found[key(place, kind)], found)
    np.savez(path, **found)


def drop_array(record, place, kind):
    path, found = arrays(record, place)
    del found[key(place, kind)]
    np.savez(path, **found)


def turned_a_little(projection, _):
    other = projection.copy()
    other[:, 0] += 1e-4 * np.arange(len(other))
    return np.linalg.qr(other)[0]


def trace(record, place):
    return record / "traces" / value(record, place, "trace_file")


def change_lines(record, place, work):
    """Change the lines of a run in its trace."""
    _, *cell, run = place.split("/")
    path, done = trace(record, place), []
    for line in path.read_text().splitlines():
        point = json.loads(line)
        own = point["cell"] == "/".join(cell) and point["run"] == int(run)
        done.append(work(point) if own else point)
    path.write_text("".join(json.dumps(point) + "\n" for point in done if point is not None))


def change_config(record, work):
    path = record / "config.json"
    config = json.loads(path.read_text())
    work(config)
    path.write_text(json.dumps(config))


def exchanged(record, first, second, *names):
    values = {place: {name: value(record, place, name) for name in names} for place in (first, second)}
    change(record, first, **values[second])
    change(record, second, **values[first])


def piped(path):
    path.unlink()
    os.mkfifo(path)


OTHER_FOLD, FAILED = "folds/wine/gaussian/ism/1", "folds/wine/gaussian/fails/0"
SVM, CLUSTERS = "folds/wine/none/svm/0", "clusters/wine/gaussian/ism/0"
OTHERS, HIDDEN = "others/four-gaussians/gaussian/ism/0", "hidden/wine/none/label_spreading/0"
POLYNOMIAL, MULTIQUADRIC = "folds/wine/polynomial/ism/0", "folds/wine/multiquadric/ism/0"
COMBINED, LINEAR, SQUARED = "folds/wine/gaussian_polynomial/ism/0", "rows/wine/linear/ism/0", "rows/wine/squared/ism/0"
MORE_CLUSTERS, HIDDEN_ISM = "clusters/wine/polynomial/ism/0", "hidden/wine/gaussian/ism/0"


class Tampering(NamedTuple):
    """What is done to a row or its files, and the column in which it is found."""

    place: str
    column: str
    work: Callable[[object, str], object]


def row(place, *columns, **words):
    """Overwrite cells of a row, each of which is found, or the columns that are named."""
    found = columns or words
    works = [lambda record, place: change(record, place, **words), *(lambda record, place: None for _ in found)]
    return [Tampering(place, column, work) for column, work in zip(found, works, strict=False)]


def digit(place, column, nth=9):
    return [Tampering(place, column, lambda record, place: last_digit(record, place, column, nth))]


def array(place, column, kind, work):
    return [Tampering(place, column, lambda record, place: change_array(record, place, kind, work))]


def points(place, column, work):
    return [Tampering(place, column, lambda record, place: change_lines(record, place, work))]


def files(place, column, work):
    return [Tampering(place, column, work)]


def halved(place, column):
    def work(record, place):
        change(record, place, **{column: repr(0.5 * float(value(record, place, column)))})

    return [Tampering(place, column, work)]


def first_point(place, **changes):
    """Change the first point of a trace alone."""

    def work(record, place):
        ahead = [changes]
        change_lines(record, place, lambda point: {**point, **(ahead.pop() if ahead else {})})

    return files(place, "trace", work)


def cut_short(record, place):
    path, _ = arrays(record, place)
    path.write_bytes(path.read_bytes()[:100])


def doubled(record, place):
    rows = read_csv(record / "ikdr.csv")
    write(record, [*rows, next(row for row in rows if place_of(row) == place)])


def removed(record, place):
    write(record, [row for row in read_csv(record / "ikdr.csv") if place_of(row) != place])


def forge_mark(record, place):
    """Say of a run's projection that the record does not store it."""
    path, found = arrays(record, place)
    del found[key(place, "projection")]
    found[key(place, "not_stored")] = np.array(["projection"])
    np.savez(path, **found)


GROUPS = {
    "numbers": [
        *digit(FOLD, "cost"),
        *digit(CLUSTERS, "cost", 5),
        *digit(CLUSTERS, "quality"),
        *row(FOLD, train_accuracy="0.97", stationarity="1e-12", curvature="0.5", feasibility="1e-3"),
        *row(OTHER_FOLD, optimality="second_order"),
        *row(FOLD, n_components="3", n_test="10", drift="0.01"),
        *row(OTHERS, nmi_given="0.0"),
        *row(SVM, quality="1.0", time_s="-1.0"),
        *row(HIDDEN, quality="0.999"),
        *row(POLYNOMIAL, time_s="1e-9", curvature=""),
        *row(LINEAR, optimality="saddle"),
        *halved(COMBINED, "eigengap"),
        *halved(COMBINED, "eigengap_needed"),
    ],
    "definitions": [
        *row(FOLD, time_limit_s="50.0", memory_limit_mib="9999.0", data_sha256="0" * 64, seed="1"),
        *row(CLUSTERS, trace_file="../../x.jsonl"),
        *row(FAILED, status="converged", cost="-2000.0"),
        *files(OTHER_FOLD, "definition_sha256", lambda r, p: exchanged(r, p, FAILED, "definition_sha256")),
        *row(POLYNOMIAL, calibration_after_s=""),
        *row(MULTIQUADRIC, "drift", calibration_after_s="0.05"),
        *row(COMBINED, drifted="True", kernel_weights="1, 1"),
        *row(LINEAR, status="time_limit"),
        *row(SVM, "status", time_s="300.0"),
    ],
    "columns that make a run look better": [
        *row(FOLD, iterations="-1", value_calls="-7", repeats="-1", involuntary_switches="-1", blas_threads="-1"),
        *row(FOLD, load="-1.0", memory_mib="-5.0", wall_s="-1.0", cpu_s="1e7", warm_s="1e300", unclocked_s="-3.0"),
        *row(FOLD, evaluation_s="1e300", quality="17.0", paradigm="unsupervised", split="none", partition="1"),
        *row(FOLD, quality_metric="error", n_constant_features="3", kernel_weights="1, 1", eigengap="-0.5"),
        *row(FOLD, unaccounted="", optimality="", git_commit="HEAD"),
        *row(OTHER_FOLD, load="1e300", memory_mib="1e300", cpu_s="-1.0", eigengap=""),
        *row(OTHER_FOLD, "drift", calibration_before_s="", calibration_after_s=""),
        *row(
            POLYNOMIAL,
            "calibration_before_s",
            calibration_before_s="",
            calibration_after_s="",
            drift="",
            drifted="",
        ),
        *row(
            MULTIQUADRIC,
            "timed",
            timed="False",
            calibration_before_s="",
            calibration_after_s="",
            drift="",
            drifted="",
        ),
        *row(LINEAR, "message", status="max_iterations", message=""),
        *row(SQUARED, optimality="first_order"),
        *row(CLUSTERS, quality="-0.5"),
        *row(SVM, kernel_weights="1"),
        *halved(SVM, "time_s"),
    ],
    "arrays": [
        *array(FOLD, "cost", "projection", turned_a_little),
        *array(OTHER_FOLD, "result", "projection", lambda projection, _: projection[:-1]),
        *array(SVM, "result", "labels", lambda labels, _: labels[:-1]),
        *array(CLUSTERS, "quality", "labels", lambda labels, _: labels[::-1]),
        *array(MORE_CLUSTERS, "result", "labels", lambda labels, _: labels * np.nan),
        *files(POLYNOMIAL, "cost", lambda r, p: drop_array(r, p, "projection")),
        *files(MULTIQUADRIC, "projection", forge_mark),
        *array(SQUARED, "result", "projection", lambda projection, _: projection * np.nan),
        *array(LINEAR, "result", "projection", lambda projection, _: projection * 0),
        *array(OTHERS, "result", "projection", lambda projection, _: projection[:, :0]),
        *array(HIDDEN_ISM, "result", "projection", lambda projection, _: projection.astype(float) * 1e300),
    ],
    # An experiment has one archive and one trace.
    "archives": [
        *files(LINEAR, "result", lambda r, p: piped(arrays(r, p)[0])),
        *files(CLUSTERS, "result", cut_short),
        *array(OTHERS, "result", "projection", lambda projection, _: projection.astype(object)),
        *array(HIDDEN, "result", "labels", lambda labels, _: np.zeros(len(labels), [("a", "i4")])),
    ],
    "traces": [
        *files(FOLD, "trace", lambda r, p: piped(trace(r, p))),
        *files(LINEAR, "trace", lambda r, p: trace(r, p).write_bytes(b"[" * 200_000 + b"\n")),
        *files(CLUSTERS, "trace", lambda r, p: trace(r, p).write_text("no\n")),
        *files(OTHERS, "trace", lambda r, p: trace(r, p).unlink()),
        *row(HIDDEN_ISM, "trace", trace_file="a" * 5000),
    ],
    "points of traces": [
        *points(FOLD, "cost", lambda point: {**point, "cost": point["cost"] * 1.001}),
        *points(OTHER_FOLD, "trace", lambda point: {**point, "time_s": -point["time_s"]}),
        *points(POLYNOMIAL, "trace", lambda point: None),
        *points(MULTIQUADRIC, "stationarity", lambda point: {**point, "stationarity": 0.5}),
        *points(COMBINED, "trace", lambda point: {**point, "calls": (point["calls"] or 0) + 10**6}),
        *first_point(LINEAR, stationarity=-3.0),
        *first_point(CLUSTERS, calls=10**6),
        *first_point("folds/wine/polynomial/ism/1", cost=-1e9),
        *points(MORE_CLUSTERS, "trace", lambda point: {**point, "cost": None}),
        *points(OTHERS, "trace", lambda point: {**point, "cost": float("nan")}),
        *points(HIDDEN_ISM, "trace", lambda point: {**point, "cost": 10**400}),
    ],
    "words that no run writes": [
        *row(FOLD, "row", cost="nan"),
        *row(OTHER_FOLD, "row", quality="inf"),
        *row(POLYNOMIAL, "row", iterations="x"),
        *row(MULTIQUADRIC, "row", n_train=""),
        *row(COMBINED, "row", stationarity="1e999"),
        *row(LINEAR, "row", status="solved"),
        *row(SQUARED, "row", uses_degrees="maybe"),
        *row(CLUSTERS, drift="nan"),
        *row(OTHERS, "calibration_before_s", calibration_before_s="0", calibration_after_s="0"),
        *files(HIDDEN, "row", doubled),
        *files(FAILED, "row", removed),
        *row(SVM, "row", run="7"),
    ],
}
