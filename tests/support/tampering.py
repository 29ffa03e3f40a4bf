"""What is done to the record of :mod:`verification.conftest`, and in which column of which row that is found."""

import json
import os

import numpy as np

from kdrbench.csv_files import csv_text, read_csv
from support.damage import unfolding

FOLD = "folds/wine/gaussian/ism/0"


def change(record, place, **columns):
    """Overwrite columns of the row whose axes are ``place``."""
    rows = read_csv(record / "ikdr.csv")
    (row,) = [row for row in rows if place_of(row) == place]
    for name, value in columns.items():
        assert row[name] != value
        row[name] = value
    write(record, rows)


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


def without(record, place):
    write(record, [row for row in read_csv(record / "ikdr.csv") if place_of(row) != place])


def doubled(record, place):
    rows = read_csv(record / "ikdr.csv")
    write(record, [*rows, next(row for row in rows if place_of(row) == place)])


def exchanged(record, first, second, *names):
    values = {place: {name: value(record, place, name) for name in names} for place in (first, second)}
    change(record, first, **values[second])
    change(record, second, **values[first])


OTHER_FOLD, FAILED = "folds/wine/gaussian/ism/1", "folds/wine/gaussian/fails/0"
SVM, CLUSTERS = "folds/wine/none/svm/0", "clusters/wine/gaussian/ism/0"
OTHERS, HIDDEN = "others/four-gaussians/gaussian/ism/0", "hidden/wine/none/label_spreading/0"

# What is done to the record, and in which column of which row that is found.
TAMPERINGS = {
    "a digit of a cost": (lambda r: last_digit(r, FOLD, "cost"), "cost"),
    "a digit of a cost of clusters": (lambda r: last_digit(r, CLUSTERS, "cost"), "cost"),
    "a digit of an accuracy": (lambda r: last_digit(r, FOLD, "quality"), "quality"),
    "a digit of a training accuracy": (lambda r: change(r, FOLD, train_accuracy="0.97"), "train_accuracy"),
    "a digit of an NMI": (lambda r: last_digit(r, CLUSTERS, "quality"), "quality"),
    "the NMI with the given labelling": (lambda r: change(r, OTHERS, nmi_given="0.0"), "nmi_given"),
    "a baseline's accuracy": (lambda r: change(r, SVM, quality="1.0"), "quality"),
    "the NMI over hidden labels": (lambda r: change(r, HIDDEN, quality="0.999"), "quality"),
    "a better stationarity": (lambda r: change(r, FOLD, stationarity="1e-12"), "stationarity"),
    "another curvature": (lambda r: change(r, FOLD, curvature="0.5"), "curvature"),
    "a curvature taken out": (lambda r: change(r, FOLD, curvature=""), "curvature"),
    "another feasibility": (lambda r: change(r, FOLD, feasibility="1e-3"), "feasibility"),
    "another optimality": (lambda r: change(r, FOLD, optimality="second_order"), "optimality"),
    "a number of components": (lambda r: change(r, FOLD, n_components="3"), "n_components"),
    "a number of test samples": (lambda r: change(r, FOLD, n_test="10"), "n_test"),
    "a time before the trace's end": (lambda r: change(r, FOLD, time_s="1e-9"), "time_s"),
    "a negative time": (lambda r: change(r, SVM, time_s="-1.0"), "time_s"),
    "a time limit": (lambda r: change(r, FOLD, time_limit_s="50.0"), "time_limit_s"),
    "a memory limit": (lambda r: change(r, FOLD, memory_limit_mib="9999.0"), "memory_limit_mib"),
    "a run at its limit called converged": (lambda r: change(r, FOLD, time_s="300.0"), "status"),
    "a failure called converged": (lambda r: change(r, FAILED, status="converged"), "status"),
    "a failure's cost": (lambda r: change(r, FAILED, cost="-2000.0"), "cost"),
    "a failure taken out": (lambda r: without(r, FAILED), "row"),
    "a row twice": (lambda r: doubled(r, FOLD), "row"),
    "a row of another run": (lambda r: change(r, FOLD, run="7"), "row"),
    "names of two methods exchanged": (lambda r: exchanged(r, FOLD, FAILED, "definition_sha256"), "definition_sha256"),
    "two rows' costs exchanged": (lambda r: exchanged(r, FOLD, OTHER_FOLD, "cost"), "cost"),
    "the hash of the data": (lambda r: change(r, FOLD, data_sha256="0" * 64), "data_sha256"),
    "another seed": (lambda r: change(r, FOLD, seed="1"), "seed"),
    "another trace's name": (lambda r: change(r, FOLD, trace_file=value(r, CLUSTERS, "trace_file")), "trace_file"),
    "a name out of the results": (lambda r: change(r, CLUSTERS, trace_file="../../x.jsonl"), "trace_file"),
    "a drift": (lambda r: change(r, FOLD, drift="0.01"), "drift"),
    "no time of a run that converged": (lambda r: change(r, FOLD, time_s=""), "time_s"),
    "a calibration taken out": (lambda r: change(r, FOLD, calibration_after_s=""), "calibration_after_s"),
    "a calibration": (lambda r: change(r, FOLD, calibration_after_s="0.05"), "drift"),
    "a mark of drift": (lambda r: change(r, FOLD, drifted="True"), "drifted"),
    "a projection turned a little": (lambda r: change_array(r, FOLD, "projection", turned_a_little), "cost"),
    "another run's projection": (
        lambda r: change_array(r, FOLD, "projection", lambda _, found: found[key(OTHER_FOLD, "projection")]),
        "cost",
    ),
    "a projection that is missing": (lambda r: drop_array(r, FOLD, "projection"), "cost"),
    "a projection of another shape": (
        lambda r: change_array(r, FOLD, "projection", lambda projection, _: projection[:-1]),
        "result",
    ),
    "an array of objects": (
        lambda r: change_array(r, FOLD, "projection", lambda projection, _: projection.astype(object)),
        "result",
    ),
    "a cluster's label": (lambda r: change_array(r, CLUSTERS, "labels", lambda labels, _: labels[::-1]), "quality"),
    "a label less": (lambda r: change_array(r, SVM, "labels", lambda labels, _: labels[:-1]), "result"),
    "an archive cut short": (
        lambda r: arrays(r, FOLD)[0].write_bytes(arrays(r, FOLD)[0].read_bytes()[:100]),
        "result",
    ),
    "the last cost of a trace": (
        lambda r: change_lines(r, FOLD, lambda point: {**point, "cost": point["cost"] * 1.001}),
        "cost",
    ),
    "times of a trace": (
        lambda r: change_lines(r, FOLD, lambda point: {**point, "time_s": -point["time_s"]}),
        "trace",
    ),
    "a trace without its run": (lambda r: change_lines(r, FOLD, lambda point: None), "trace"),
    "a trace that is no JSON": (lambda r: trace(r, FOLD).write_text("no\n"), "trace"),
    "a trace that is missing": (lambda r: trace(r, FOLD).unlink(), "trace"),
    "the configuration's limit": (
        lambda r: change_config(r, lambda config: config["limits"].update(time_s=60.0)),
        "time_limit_s",
    ),
    "the configuration's bandwidth": (
        lambda r: change_config(r, lambda config: config["kernels"]["gaussian"].update(sigma="0.5 median")),
        "definition_sha256",
    ),
    "the configuration's folds": (
        lambda r: change_config(r, lambda config: config["experiments"]["folds"].update(folds=3)),
        "row",
    ),
}


def trace_of(record, place, content):
    trace(record, place).write_bytes(content)


def piped(path):
    path.unlink()
    os.mkfifo(path)


def bomb(record, place):
    """Declare a projection of more than a gigabyte in an archive of a megabyte."""
    path, _ = arrays(record, place)
    unfolding(path, key(place, "projection"), 2**10 + 1)


# What no run leaves, and in which column it is found.
HOSTILE = {
    **{
        f"{column} = {word}": (lambda r, column=column, word=word: change(r, FOLD, **{column: word}), "row")
        for column, word in {
            "cost": "nan",
            "quality": "inf",
            "time_s": "NaN",
            "iterations": "x",
            "n_train": "",
            "stationarity": "1e999",
            "status": "solved",
            "uses_degrees": "maybe",
        }.items()
    },
    "a drift of nan": (lambda r: change(r, FOLD, drift="nan"), "drift"),
    "calibrations of no time": (
        lambda r: change(r, FOLD, calibration_before_s="0", calibration_after_s="0"),
        "calibration_before_s",
    ),
    "a projection of NaN": (lambda r: change_array(r, CLUSTERS, "projection", lambda p, _: p * np.nan), "result"),
    "a projection of zeros": (lambda r: change_array(r, FOLD, "projection", lambda p, _: p * 0), "result"),
    "a huge projection": (lambda r: change_array(r, FOLD, "projection", lambda p, _: p * 1e300), "result"),
    "no columns": (lambda r: change_array(r, FOLD, "projection", lambda p, _: p[:, :0]), "result"),
    "labels of NaN": (lambda r: change_array(r, CLUSTERS, "labels", lambda labels, _: labels * np.nan), "result"),
    "few labels": (lambda r: change_array(r, OTHERS, "labels", lambda labels, _: labels[:-1]), "result"),
    "labels in records": (
        lambda r: change_array(r, SVM, "labels", lambda labels, _: np.zeros(len(labels), [("a", "i4")])),
        "result",
    ),
    "an archive that unfolds": (lambda r: bomb(r, FOLD), "result"),
    "an archive that is a pipe": (lambda r: piped(arrays(r, FOLD)[0]), "result"),
    "a trace that is a pipe": (lambda r: piped(trace(r, FOLD)), "trace"),
    "a trace of brackets": (lambda r: trace_of(r, FOLD, b"[" * 200_000 + b"\n"), "trace"),
    "a trace with a cost of no number": (lambda r: change_lines(r, FOLD, lambda p: {**p, "cost": None}), "trace"),
    "a trace without times": (lambda r: change_lines(r, FOLD, lambda p: {**p, "time_s": "x"}), "trace"),
    "a trace with a huge cost": (lambda r: change_lines(r, FOLD, lambda p: {**p, "cost": 10**400}), "trace"),
    "a trace with a cost of NaN": (lambda r: change_lines(r, FOLD, lambda p: {**p, "cost": float("nan")}), "trace"),
    "a trace's name that is no file": (lambda r: change(r, FOLD, trace_file="a" * 5000), "trace"),
}


# What a packed record cannot show, and why.
UNSEEN_WHEN_PACKED = {
    "a digit of a cost of clusters": "rounding of W to float32 moves its ninth digit; the fifth is found",
}
PACKED = {name: one for name, one in TAMPERINGS.items() if name not in UNSEEN_WHEN_PACKED} | {
    "the fifth digit of a cost of clusters": (lambda r: last_digit(r, CLUSTERS, "cost", 5), "cost"),
    "a forged mark of what is not stored": (lambda r: forge_mark(r, FOLD), "projection"),
}


def forge_mark(record, place):
    """Say of a run's projection that the record does not store it."""
    path, found = arrays(record, place)
    del found[key(place, "projection")]
    found[key(place, "not_stored")] = np.array(["projection"])
    np.savez(path, **found)
