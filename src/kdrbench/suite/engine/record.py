"""Records: the row that every run leaves, with where and how it was made; JSON lines while running, CSV when merged."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeVar, get_args, get_type_hints

from kdrbench.errors import KdrbenchError
from kdrbench.files import sealed, unsealed, write_text
from kdrbench.status import Status


class RecordError(KdrbenchError):
    """A record that does not match its schema, or a table with rows missing or double."""


def column(*, since: str, default: Any = None) -> Any:
    """Return the field of a column that tables made before kdrbench ``since`` lack; readers then take ``default``."""
    return field(default=default, metadata={"since": since})


@cache
def added_columns(kind: type[Any]) -> dict[str, Any]:
    """Return by name the defaults of the columns of a dataclass that older tables lack."""
    added = [one for one in fields(kind) if "since" in one.metadata]
    return {one.name: None if one.default is MISSING else one.default for one in added}


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """How, where and with what a row was made. Times in seconds, memory in MiB.

    ``wall_s`` to ``involuntary_switches`` are those of the run's process, from fork to end; ``memory_meter`` says how
    its memory was measured: ``sampled``, or ``cgroup`` in earlier rows. ``unclocked_s`` are the seconds of ``wall_s``
    in which no clock of the method ran. ``evaluation_s`` are the CPU seconds that the referee needed of them, measured
    apart from the method, and ``unaccounted`` marks a row of which more is left (:func:`.unclocked`). A row is
    ``contaminated`` whose wall time exceeds its CPU time by more than a tenth: it shared its core. ``timed`` runs owned
    their cores; a fixed piece of work was timed there before and after (``calibration_before_s``,
    ``calibration_after_s``). The version of a package that is not installed is empty. ``revisions`` are those of the
    components that decided the result, as JSON (:mod:`.identity`); ``code_id`` and ``env_id`` name files in
    ``results/evidence``.
    """

    wall_s: float
    memory_mib: float
    memory_meter: str
    involuntary_switches: int
    unclocked_s: float | None
    evaluation_s: float | None
    unaccounted: bool | None
    contaminated: bool | None
    time_limit_s: float
    memory_limit_mib: float
    timed: bool
    calibration_before_s: float | None
    calibration_after_s: float | None
    cores: str
    load: float
    started_at: str
    trace_file: str
    batch_sha256: str
    definition_sha256: str
    data_sha256: str
    kdrbench_version: str
    python_version: str
    numpy_version: str
    scipy_version: str
    scikit_learn_version: str
    pymanopt_version: str
    numba_version: str
    blas: str
    blas_threads: int
    processor: str
    machine: str
    git_commit: str
    git_dirty: bool | None
    lock_sha256: str
    revisions: str = column(since="0.2", default="")
    code_id: str = column(since="0.2", default="")
    env_id: str = column(since="0.2", default="")


# The columns of a row of one schema version to those of the next.
Migration = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Record:
    """The columns that the records of every system share; a system's record class adds its own.

    ``run`` is the number of the run in its cell: a fold, a subset, a split or a draw. ``time_s`` and ``cpu_s`` are
    seconds of the method alone; ``None`` where a run left no such number. ``CELL`` names the columns of a batch's
    ``cell``, ``KEYS`` those that tell the rows of one run apart.

    A column that is added is declared by :func:`.column`, and older tables stay readable. Where a column gets another
    meaning, ``SCHEMA_VERSION`` is raised, and ``MIGRATIONS`` has by the former version what makes a row of the next.
    """

    SCHEMA_VERSION: ClassVar[int] = 2
    MIGRATIONS: ClassVar[dict[int, Migration]] = {}
    CELL: ClassVar[tuple[str, ...]] = ()
    KEYS: ClassVar[tuple[str, ...]] = ()

    schema_version: int
    experiment: str
    dataset: str
    run: int
    seed: int
    status: str
    message: str
    time_s: float | None = None
    cpu_s: float | None = None
    provenance: Provenance

    @classmethod
    def axis_names(cls) -> tuple[str, ...]:
        """Return the columns that name a row: experiment, data set, cell, run and key."""
        return ("experiment", "dataset", *cls.CELL, "run", *cls.KEYS)

    @property
    def axes(self) -> tuple[Any, ...]:
        """What names the row, by :meth:`axis_names`."""
        return tuple(getattr(self, name) for name in self.axis_names())


AnyRecord = TypeVar("AnyRecord", bound=Record)


def flat(record: Record) -> dict[str, Any]:
    """Return the record's columns, those of its provenance last."""
    own = {name: getattr(record, name) for name in _types_of(type(record)) if name != "provenance"}  # type: ignore[arg-type]
    return own | {name: getattr(record.provenance, name) for name in _types_of(Provenance)}


def record_json(record: Record) -> str:
    """Return the record as one line of JSON."""
    return json.dumps(flat(record), separators=(",", ":"), allow_nan=False)


def parse_record(line: str, kind: type[AnyRecord]) -> AnyRecord:
    """Read one line, sealed or not.

    Raises ``RecordError`` when it was damaged, or a column is missing or of the wrong type.
    """
    return record_of(columns_in(line), kind)


def columns_in(line: str) -> dict[str, Any]:
    """Return what a line holds, sealed or not; ``RecordError`` for one that was damaged."""
    try:
        values = json.loads(unsealed(line), parse_constant=no_number)
    except json.JSONDecodeError as error:
        raise RecordError(f"not a line of JSON: {line[:80]!r}") from error
    except (ValueError, RecursionError) as error:
        raise RecordError(f"a damaged line ({error}): {line[:80]!r}") from error
    if not isinstance(values, dict):
        raise RecordError(f"a record must be a JSON object, got {line[:80]!r}")
    return values


def record_of(values: dict[str, Any], kind: type[AnyRecord]) -> AnyRecord:
    """Return the record with these columns, flattened, of this schema or an earlier one; unknown columns are ignored.

    Raises ``RecordError`` for a schema that cannot be read, and when a column is missing that all tables have, or of
    the wrong type.
    """
    types = column_types(kind)  # type: ignore[arg-type]
    values = of_this_schema(values, kind)
    values = {name: values[name] for name in types if name in values}
    if missing := set(types) - set(values):
        raise RecordError(f"the record lacks columns of the schema: {', '.join(sorted(missing))}")
    for name, value in values.items():
        if not _is_of(value, kind_of := types[name]):
            type_name = getattr(kind_of, "__name__", kind_of)
            raise RecordError(f"column {name} holds {value!r:.80}, which is not of type {type_name}")
    if values["status"] not in set(Status):
        raise RecordError(f"unknown status {values['status']!r}; allowed: {', '.join(Status)}")
    provenance = {name: values[name] for name in _types_of(Provenance)}
    own = {name: value for name, value in values.items() if name not in provenance}
    return kind(**own, provenance=Provenance(**provenance))


def of_this_schema(values: dict[str, Any], kind: type[Record]) -> dict[str, Any]:
    """Return the columns of a row of this schema or an earlier one, with those that were added since."""
    version = values.get("schema_version")
    while type(version) is int and (migrate := kind.MIGRATIONS.get(version)):
        version += 1
        values = {**migrate(values), "schema_version": version}
    if type(version) is not int or version != kind.SCHEMA_VERSION:
        readable = " or ".join(map(str, [*sorted(kind.MIGRATIONS), kind.SCHEMA_VERSION]))
        raise RecordError(
            f"a {kind.__name__} must have schema version {readable}, got {version!r}; read it with the version of "
            "kdrbench that wrote it, or run again"
        )
    return completed(values, kind)


def completed(values: Mapping[str, Any], kind: type[Record]) -> dict[str, Any]:
    """Return the columns of a row with those that older tables lack, which hold their defaults."""
    return {**added_columns(kind), **added_columns(Provenance), **values}  # type: ignore[arg-type]


@cache
def column_types(kind: type[Record]) -> dict[str, Any]:
    """Return the columns of a record class, flattened, with their types."""
    own = dict(_types_of(kind))  # type: ignore[arg-type]
    del own["provenance"]
    return own | _types_of(Provenance)


@cache
def own_column_types(kind: type[Record]) -> dict[str, Any]:
    """Return the columns with their types that a record class adds, but for those that name its rows."""
    shared = {*_types_of(Record), *kind.CELL, *kind.KEYS}
    return {name: allowed for name, allowed in _types_of(kind).items() if name not in shared}  # type: ignore[arg-type]


@cache
def _types_of(kind: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}


@cache
def kinds_of(allowed: Any) -> tuple[Any, ...]:
    """Return the types of which a column's type is made."""
    return get_args(allowed) or (allowed,)


def _is_of(value: object, allowed: Any) -> bool:
    """Return whether a column of this type may hold the value; numbers are finite and of 64 bits."""
    kinds = kinds_of(allowed)
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, int):
        return (int in kinds or float in kinds) and -(2**63) <= value < 2**63
    if isinstance(value, float):
        return float in kinds and math.isfinite(value)
    return isinstance(value, kinds)


def no_number(word: str) -> NoReturn:
    """Refuse NaN and the infinities, which Python reads and JSON does not have."""
    raise ValueError(word)


def read_records(path: Path, kind: type[AnyRecord]) -> list[AnyRecord]:
    """Read a file of records as :func:`read_undamaged` does; ``RecordError`` names the file and its first fault."""
    records, faults = read_undamaged(path, kind)
    if faults:
        raise RecordError(f"{path}: {faults[0]}; delete that file and run the workflow again")
    return records


def read_undamaged(path: Path, kind: type[AnyRecord]) -> tuple[list[AnyRecord], list[str]]:
    """Read the lines of a file that are records; return them and what is wrong with the others.

    An unfinished last line (of a writer that was killed) is left out.
    """
    if not path.exists():
        return [], []
    records, faults = [], []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
        try:
            records.append(parse_record(line.decode(), kind))
        except UnicodeDecodeError:
            faults.append(f"line {number}: not UTF-8")
        except RecordError as error:
            faults.append(f"line {number}: {error}")
    return records, faults


def append_records(path: Path, records: Iterable[Record], *, seal: bool = False) -> None:
    """Append the records, as sealed lines if so asked, and flush them to disk before returning."""
    path.parent.mkdir(parents=True, exist_ok=True)
    records = list(records)
    text = _lines(records, seal=seal)
    for record, line in zip(records, text.splitlines(), strict=True):
        parse_record(line, type(record))
    with path.open("a", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def write_records(path: Path, records: Iterable[Record], *, seal: bool = False) -> None:
    """Write the records as a whole file, whose lines are sealed if so asked."""
    write_text(path, _lines(records, seal=seal))


def _lines(records: Iterable[Record], *, seal: bool) -> str:
    lines = map(record_json, records)
    return "".join(f"{sealed(line) if seal else line}\n" for line in lines)
