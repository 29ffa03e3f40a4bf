"""What is believed of a run: all that it leaves passes here, in the batch's process, before it becomes a row.

The run's process is the method's: it may write the files of the run itself, or claim what it likes. So a result must
say one of the statuses that the one who says it may say, in columns of its stage, beside files that can be read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from kdrbench.errors import error_text, text_of, visible
from kdrbench.status import BY_METHODS, Status
from kdrbench.suite.engine.record import Record, RecordError, check_value, own_column_types
from kdrbench.suite.engine.run import RunResult
from kdrbench.suite.engine.run_files import RunFiles, read_array, trace_lines
from kdrbench.suite.engine.untrusted import (
    MOST_ARRAY,
    MOST_MESSAGE,
    UnreadableError,
    claim_folder,
    is_number,
    lines_of,
    opened,
    remove,
)

Key = tuple[Any, ...]
Results = dict[Key, RunResult]
# Some thousand rows with all their columns.
_MOST_RESULTS = 2**23
_MOST_TEXT, _MOST_NAME = 2**16, 200
_SECONDS = ("time_s", "cpu_s", "clocked_s", "clocked_cpu_s")
_FIELDS = {"status", "message", *_SECONDS, "columns", "key"}
# What a stage calls its arrays; publishing adds the cell and the number of the run.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True)
class Asked:
    """What is asked of a run: a result for each of the ``keys``, in the columns of ``record``.

    A method that ended by itself leaves the ``arrays`` by which it is judged, and no others are kept. Where none are
    named, a run may leave any.
    """

    keys: tuple[Key, ...]
    record: type[Record]
    arrays: tuple[str, ...] = ()


def collect(files: RunFiles, asked: Asked, used_s: float, limit_s: float) -> Results:
    """Return by key the results that a run has handed over, as far as they are believed.

    Its folder then holds files that can be read, and no others. ``used_s`` are the seconds of the run's process, by
    the batch's own clock.
    """
    try:
        faults = _sweep(files, asked)
        results = {} if faults else read_results(files)
    except UnreadableError as fault:
        faults, results = [str(fault)], {}
    if faults:
        return dict.fromkeys(asked.keys, RunResult(Status.FAILED, "; ".join(faults[:3])))
    if others := set(results) - set(asked.keys):
        click.echo(f"results that were not asked for are left out: {visible(str(others)[:MOST_MESSAGE])}", err=True)
    found = {key: _checked_columns(results[key], asked.record) for key in asked.keys if key in results}
    return {key: _believed(result, files, asked, used_s, limit_s) for key, result in found.items()}


def read_results(files: RunFiles) -> Results:
    """Return by key what is in the run's list of results; an unfinished last line is left out.

    Raises ``UnreadableError`` for a line that is no result.
    """
    results = {}
    for number, values in enumerate(lines_of(files.results, _MOST_RESULTS), 1):
        if (result := _result(values)) is None:
            raise UnreadableError(f"line {number} of {files.results.name} is no result: {str(values)[:60]}")
        results[result.key] = result
    return results


def read_module(files: RunFiles) -> str:
    """Return the name of the module that a run says it could not import; nothing where it says no such name."""
    try:
        stream = opened(files.missing_module, _MOST_NAME)
    except UnreadableError:
        return ""
    if stream is None:
        return ""
    with stream:
        name = stream.read(_MOST_NAME).decode("utf-8", "replace")
    return name if all(part.isidentifier() for part in name.split(".")) else ""


def row_message(message: object) -> str:
    """Return a message as rows hold it: visible characters, 1,000 of them at most; the rest goes to the job's log."""
    text = visible(text_of(message))
    if len(text) <= MOST_MESSAGE:
        return text
    click.echo(f"a message in full: {text}", err=True)
    return f"{text[: MOST_MESSAGE - 3]}..."


def _sweep(files: RunFiles, asked: Asked) -> list[str]:
    """Remove what is none of the run's files, or cannot be read as one; return what is wrong with the latter."""
    claim_folder(files.folder)
    if not files.folder.exists():
        return []
    faults, left = [], MOST_ARRAY
    for path in sorted(Path(entry.path) for entry in os.scandir(files.folder)):
        if path == files.checkpoint:
            continue
        try:
            if not _is_readable(path, files, asked):
                remove(path)
            elif path.suffix == ".npy" and (left := left - path.stat().st_size) < 0:
                raise UnreadableError(f"the arrays up to {path.name} hold more than {MOST_ARRAY} bytes")
        except UnreadableError as fault:
            remove(path)
            faults.append(str(fault))
    return faults


def _is_readable(path: Path, files: RunFiles, asked: Asked) -> bool:
    """Return whether a path is one of the run's files, which is read; ``UnreadableError`` when it cannot be."""
    if path == files.results:
        read_results(files)
    elif path == files.trace:
        for _ in trace_lines(path):
            continue
    elif path.suffix == ".npy" and (path.stem in asked.arrays if asked.arrays else _PLAIN_NAME.fullmatch(path.stem)):
        read_array(path)
    else:
        return False
    return True


def _result(values: object) -> RunResult | None:
    """Return the result that a line holds, ``None`` if it holds none."""
    if not isinstance(values, dict) or set(values) != _FIELDS:
        return None
    key, columns = values["key"], values["columns"]
    if not isinstance(key, list) or not isinstance(columns, dict) or any(isinstance(one, list | dict) for one in key):
        return None
    if not all(_is_seconds(values[name]) for name in _SECONDS):
        return None
    if (values["clocked_s"] is None) != (values["clocked_cpu_s"] is None):
        return None
    said = values["status"]
    if said not in list(Status):
        values = {**values, "message": f"{text_of(said)!r} is no status: {text_of(values['message'])}"}
        said = Status.FAILED
    return RunResult(**{**values, "status": Status(said), "key": tuple(key)})


def _is_seconds(value: object) -> bool:
    return value is None or (is_number(value) and value >= 0)  # type: ignore[operator]


def _checked_columns(result: RunResult, record: type[Record]) -> RunResult:
    """Return the result with its texts made visible, or a failed one if the stage has no such column or type."""
    types, columns = own_column_types(record), {}  # type: ignore[arg-type]
    for name, value in result.columns.items():
        if name not in types:
            return _refused(result, f"a run leaves no column {visible(name[:60])!r} of {record.__name__}")
        try:
            check_value(name, value, types[name])
        except RecordError as error:
            return _refused(result, str(error))
        if isinstance(value, str) and len(value) > _MOST_TEXT:
            return _refused(result, f"column {name} holds {len(value)} characters; at most {_MOST_TEXT} are kept")
        columns[name] = visible(value) if isinstance(value, str) else value
    return replace(result, columns=columns)


def _refused(result: RunResult, why: str) -> RunResult:
    return RunResult(Status.FAILED, f"{why}; it said {result.status}: {text_of(result.message)}", key=result.key)


def _believed(result: RunResult, files: RunFiles, asked: Asked, used_s: float, limit_s: float) -> RunResult:
    """Return the result, failed where its status is not for a run to say, or lacks its evidence."""
    if result.status is Status.SKIPPED:
        return _refused(result, "only the bench skips runs")
    if result.status is Status.TIME_LIMIT and used_s < limit_s:
        return _refused(result, f"the run's process took {used_s:.3g} s of its limit of {limit_s:g} s")
    lacking = [name for name in asked.arrays if not files.array(name).exists()]
    if result.status in BY_METHODS and lacking:
        return _refused(result, f"the run left no {lacking[0]}")
    return result


def failed_to_score(results: Mapping[Key, RunResult], error: Exception) -> Results:
    """Return the results of a run whose files the bench could read, but not evaluate."""
    why = f"what the run left cannot be evaluated: {error_text(error)}"
    return {key: _refused(result, why) for key, result in results.items()}
