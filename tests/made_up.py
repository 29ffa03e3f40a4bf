"""Rows of runs that never were, for tests of the reports."""

import dataclasses
import json
import typing

from kdrbench.bench.record import RunRecord

BLANK = {float: 0.0, int: 0, str: "", bool: False}


def run(dataset, solver, fold, **columns):
    """A row of the merged table."""
    return {"drift": 0.0, "drifted": False} | _columns(dataset, solver, fold, **columns)


def _columns(dataset, solver, fold, **columns):
    hints = typing.get_type_hints(RunRecord)
    blank = {field.name: BLANK.get(hints[field.name]) for field in dataclasses.fields(RunRecord)}
    axes = {"dataset": dataset, "kernel": "gaussian", "solver": solver, "fold": fold, "status": "converged"}
    axes |= {"paradigm": "supervised", "split": "folds"}
    numbers = {"time_s": 0.02, "cost": -1311.0, "quality": 0.95, "quality_metric": "accuracy", "time_limit_s": 2.0}
    place = {"experiment": "e", "trace_file": f"{dataset}-{solver}.jsonl"}
    return blank | axes | numbers | place | {"timed": True} | columns


def record(dataset, solver, fold, **columns):
    """The same as a record, which knows of no drift, of today's schema."""
    return RunRecord(**_columns(dataset, solver, fold, schema_version=RunRecord.SCHEMA_VERSION, **columns))


def trace_line(solver, fold, *, kernel="gaussian", **point):
    """A line of a published trace."""
    return json.dumps({"kernel": kernel, "solver": solver, "fold": fold} | point) + "\n"
