"""Rows of runs that never were, for tests of progress, tables and reports."""

import dataclasses
import json
import typing

from kdrbench.bench.provenance import Provenance
from kdrbench.bench.record import column_types
from kdrbench.stages.ikdr.record import IKDRRecord

_BLANK = {float: 0.0, int: 0, str: "", bool: False}


def run(dataset, method, number, **columns):
    """A row of the merged table."""
    return _columns(dataset, method, number, **columns) | {"drift": 0.0, "drifted": False} | columns


def _columns(dataset, method, number, **columns):
    blank = {name: _BLANK.get(kind) for name, kind in column_types(IKDRRecord).items()}
    axes = {"dataset": dataset, "kernel": "gaussian", "method": method, "run": number, "status": "converged"}
    axes |= {"paradigm": "supervised", "split": "folds", "schema_version": IKDRRecord.SCHEMA_VERSION}
    numbers = {"time_s": 0.02, "cost": -1311.0, "quality": 0.95, "quality_metric": "accuracy", "time_limit_s": 2.0}
    place = {"experiment": "e", "trace_file": f"{dataset}-{method}.jsonl"}
    return blank | axes | numbers | place | {"timed": True} | columns


def record(dataset, method, number, **columns):
    """The same as a record, which knows of no drift; columns of its provenance may be named as well."""
    values = _columns(dataset, method, number, **columns)
    made = provenance(**{field.name: values.pop(field.name) for field in dataclasses.fields(Provenance)})
    return IKDRRecord(**values, provenance=made)


def provenance(**columns):
    hints = typing.get_type_hints(Provenance)
    return Provenance(**({name: _BLANK.get(hint) for name, hint in hints.items()} | columns))


def trace_line(method, number, *, kernel="gaussian", **point):
    """A line of a published trace."""
    return json.dumps({"cell": f"{kernel}/{method}", "run": number} | point) + "\n"
