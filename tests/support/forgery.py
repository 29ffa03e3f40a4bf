"""Forgeries of single columns, which make a run look better, or hide it, and in which column each is found."""

from kdrbench.csv_files import read_csv
from support.tampering import CLUSTERS, FAILED, FOLD, SVM, change, change_lines, place_of, value, write

COMBINED, SECOND_ORDER = "folds/wine/gaussian_polynomial/ism/0", "rows/wine/linear/ism/0"


def put(record, place, **columns):
    """Put words into a row, whatever was there."""
    rows = read_csv(record / "ikdr.csv")
    write(record, [{**row, **columns} if place_of(row) == place else row for row in rows])


def turned(record, place, name):
    """Turn a mark."""
    put(record, place, **{name: str(value(record, place, name) != "True")})


def halved(record, place, name):
    change(record, place, **{name: repr(0.5 * float(value(record, place, name)))})


def early(change_point):
    """Change the first point of a trace alone."""
    seen = []

    def work(point):
        seen.append(point)
        return {**point, **change_point(point)} if len(seen) == 1 else point

    return lambda record: change_lines(record, FOLD, work)


FORGERIES = {
    **{
        f"a run that converged called {status}": (
            lambda r, status=status: change(r, FOLD, status=status, message="so it is said"),
            "status",
        )
        for status in ("time_limit", "memory_limit", "failed", "skipped")
    },
    "an ending without a word": (lambda r: change(r, FOLD, status="max_iterations", message=""), "message"),
    "a failure at its limit": (lambda r: change(r, FAILED, status="time_limit"), "status"),
    "another eigengap": (lambda r: halved(r, FOLD, "eigengap"), "eigengap"),
    "another sign of an eigengap": (lambda r: change(r, FOLD, eigengap="-0.5"), "eigengap"),
    "an eigengap taken out": (lambda r: change(r, FOLD, eigengap=""), "eigengap"),
    "another gap that is needed": (lambda r: halved(r, FOLD, "eigengap_needed"), "eigengap_needed"),
    "an optimality taken out": (lambda r: change(r, FOLD, optimality=""), "optimality"),
    "a saddle": (lambda r: change(r, SECOND_ORDER, optimality="saddle"), "optimality"),
    "no word on the curvature": (lambda r: change(r, SECOND_ORDER, optimality="first_order"), "optimality"),
    "both calibrations taken out": (
        lambda r: change(r, FOLD, calibration_before_s="", calibration_after_s="", drift="", drifted=""),
        "calibration_before_s",
    ),
    "a run that counts as not timed": (
        lambda r: change(r, FOLD, timed="False", calibration_before_s="", calibration_after_s="", drift="", drifted=""),
        "timed",
    ),
    "a drift without calibrations": (
        lambda r: change(r, FOLD, calibration_before_s="", calibration_after_s=""),
        "drift",
    ),
    "an unknown state of the checkout": (
        lambda r: put(r, FOLD, git_commit="0" * 40, git_dirty=""),
        "git_dirty",
    ),
    "a commit that is none": (lambda r: change(r, FOLD, git_commit="HEAD"), "git_commit"),
    "a mark of a shared core": (lambda r: turned(r, FOLD, "contaminated"), "contaminated"),
    "a row that is not accounted for": (lambda r: change(r, FOLD, unaccounted=""), "unaccounted"),
    **{
        f"{column} = {word}": (lambda r, column=column, word=word: change(r, FOLD, **{column: word}), column)
        for column, word in (
            ("iterations", "-1"),
            ("value_calls", "-7"),
            ("repeats", "-1"),
            ("involuntary_switches", "-1"),
            ("blas_threads", "-1"),
            ("load", "-1.0"),
            ("load", "1e300"),
            ("memory_mib", "-5.0"),
            ("memory_mib", "1e300"),
            ("wall_s", "-1.0"),
            ("cpu_s", "1e7"),
            ("cpu_s", "-1.0"),
            ("warm_s", "1e300"),
            ("unclocked_s", "-3.0"),
            ("evaluation_s", "1e300"),
            ("quality", "17.0"),
            ("paradigm", "unsupervised"),
            ("split", "none"),
            ("partition", "1"),
            ("quality_metric", "error"),
            ("n_constant_features", "3"),
            ("kernel_weights", "1, 1"),
        )
    },
    "a time that its clock has not shown": (lambda r: halved(r, SVM, "time_s"), "time_s"),
    "an NMI below zero": (lambda r: change(r, CLUSTERS, quality="-0.5"), "quality"),
    "a baseline with weights": (lambda r: change(r, SVM, kernel_weights="1"), "kernel_weights"),
    "weights of sum two": (lambda r: change(r, COMBINED, kernel_weights="1, 1"), "kernel_weights"),
    "a paradigm and the last cost of a trace": (
        lambda r: (
            change(r, FOLD, paradigm="x"),
            change_lines(r, FOLD, lambda point: {**point, "cost": point["cost"] * 1.001}),
        ),
        "cost",
    ),
    "a negative stationarity on the way": (early(lambda _: {"stationarity": -3.0}), "trace"),
    "a stationarity that is no number": (early(lambda _: {"stationarity": "x"}), "trace"),
    "calls that fall": (early(lambda _: {"calls": 10**6}), "trace"),
    "calls below zero": (early(lambda _: {"calls": -1}), "trace"),
    "a cost below all ends on the way": (early(lambda point: {"cost": 1.5 * point["cost"]}), "trace"),
    "more calls than the row counts": (
        lambda r: change_lines(r, FOLD, lambda point: {**point, "calls": (point["calls"] or 0) + 10**6}),
        "trace",
    ),
    "another last stationarity": (
        lambda r: change_lines(r, FOLD, lambda point: {**point, "stationarity": 0.5}),
        "stationarity",
    ),
}
