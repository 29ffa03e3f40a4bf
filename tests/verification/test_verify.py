"""A sound record verifies; thirty and more kinds of tampering do not."""

import csv
import json
import os
import re

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.distance import cdist

from kdrbench.bench.record import RecordError
from kdrbench.cli import main
from kdrbench.csv_files import csv_text, read_csv
from kdrbench.verification.large import median_distance, within_budget
from kdrbench.verification.record import Record
from kdrbench.verification.verify import verify
from support.damage import unfolding

FOLD = "folds/wine/gaussian/ism/0"


def test_a_sound_record_verifies(record):
    found = verify(Record(record, own_code=True))
    assert [str(finding) for finding in found.findings] == []
    # Of each solver's run on folds ten numbers, of others at least seven.
    assert found.rows == 25
    assert found.numbers > 200


def test_of_many_samples_cost_and_stationarity_are_computed_as_the_budget_allows(record):
    found = verify(Record(record, own_code=True), most=80)
    assert [str(finding) for finding in found.findings] == []
    assert found.left_out["accuracies and curvatures of runs of more than 80 samples"] > 10
    assert found.left_out["baselines of more than 80 samples"] > 0
    assert any(reason.startswith("clusterings") for reason in found.left_out)
    nothing = verify(Record(record, own_code=True), most=80, budget_s=0.0)
    assert nothing.left_out["runs that the budget did not reach, of more than 80 samples"] > 10
    last_digit(record, FOLD, "cost")
    assert "cost" in {finding.column for finding in verify(Record(record, own_code=True), most=80).findings}


def test_a_budget_chooses_by_the_seed_and_goes_as_far_as_it_can():
    places = [(str(number), 1.0) for number in range(100)]
    first, second = (within_budget(places, seed, 10.0) for seed in (0, 1))
    assert len(first) == len(second) == 10
    assert first != second
    assert first == within_budget(reversed(places), 0, 10.0)
    assert first < within_budget(places, 0, 50.0)


@pytest.mark.parametrize("n", [40, 41, 300])
def test_the_median_distance_of_many_is_that_of_all_pairs(n):
    samples = np.random.default_rng(n).normal(size=(n, 3))
    samples[3] = samples[4]
    assert median_distance(samples, most=10) == pytest.approx(np.median(cdist(samples, samples)), rel=1e-12)


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


def last_digit(record, place, name):
    """Change the ninth digit of a number."""
    word = value(record, place, name)
    digits = [at for at, letter in enumerate(word) if letter.isdigit()]
    at = digits[min(8, len(digits) - 1)]
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
    "a run at its limit called converged": (lambda r: change(r, FOLD, time_s="5.0"), "status"),
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


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_run_leaves_is_found(record, name):
    hostile, column = HOSTILE[name]
    hostile(record)
    found = verify(Record(record, own_code=True)).findings
    assert column in {finding.column for finding in found}, [str(finding) for finding in found]


def without_column(record, name):
    rows = read_csv(record / "ikdr.csv")
    write(record, [{column: word for column, word in row.items() if column != name} for row in rows])


def longer_lines(record):
    path = record / "ikdr.csv"
    path.write_text(path.read_text().rstrip("\n") + ",1,2\n")


UNREADABLE = {
    "a column less": (lambda r: without_column(r, "trace_file"), "its columns differ .* in trace_file"),
    "cells too many": (longer_lines, "cells in place of"),
    "a cell of a megabyte": (lambda r: change(r, FOLD, message="x" * 2**20), "field larger than"),
    "a configuration of brackets": (lambda r: (r / "config.json").write_text("[" * 200_000), "RecursionError"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_record_that_cannot_be_read_is_said_to_be_none(record, name):
    hostile, said = UNREADABLE[name]
    hostile(record)
    found = CliRunner().invoke(main, ["verify", "--own-code", str(record)])
    assert found.exit_code == 2, found.output
    assert re.search(said, found.output)


def test_a_long_cell_is_refused_whatever_limit_another_reader_has_set(record):
    before = csv.field_size_limit(2**30)
    try:
        change(record, FOLD, message="x" * 2**20)
        with pytest.raises(RecordError, match=r"a field larger than 131072 characters: 1048576"):
            verify(Record(record, own_code=True))
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_found(record, name):
    tamper, column = TAMPERINGS[name]
    tamper(record)
    found = verify(Record(record, own_code=True)).findings
    assert column in {finding.column for finding in found}, [str(finding) for finding in found]


def test_nothing_of_the_evaluator_is_that_of_the_runs():
    """What recomputes numbers imports numpy, scipy, scikit-learn, and of kdrbench only errors and data."""
    import ast
    from pathlib import Path

    import kdrbench.verification

    folder = Path(kdrbench.verification.__file__).parent
    for name in ("members", "pairs", "clusters", "samples", "large", "runs"):
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("kdrbench"):
                assert re.match(r"kdrbench\.(errors|datasets|verification)", node.module), (name, node.module)


def test_the_command_says_what_it_found(record):
    sound = CliRunner().invoke(main, ["verify", "--own-code", str(record)])
    assert sound.exit_code == 0, sound.output
    assert "0 findings" in sound.output
    last_digit(record, FOLD, "cost")
    tampered = CliRunner().invoke(main, ["verify", "--own-code", str(record), "--json"])
    assert tampered.exit_code == 1
    (finding,) = [one for one in json.loads(tampered.output)["findings"] if one["column"] == "cost"][:1]
    assert finding["place"] == FOLD


def test_code_that_a_record_names_is_run_on_request_only(record, tmp_path):
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'was_run')!r}, 'w')\n")
    change_config(record, lambda config: config["solvers"]["fails"].update(method=f"{evil}:Solver"))
    refused = CliRunner().invoke(main, ["verify", str(record)])
    assert refused.exit_code == 2
    assert "names code that is not kdrbench's" in refused.output
    assert "--own-code" in refused.output
    assert not (tmp_path / "was_run").exists()


def test_a_folder_without_a_record_is_said_to_be_none(tmp_path):
    nothing = CliRunner().invoke(main, ["verify", str(tmp_path)])
    assert nothing.exit_code == 2
    assert "config.json is not there: start the workflow" in nothing.output
