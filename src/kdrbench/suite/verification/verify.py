"""A record as it lies on disk, and what is verified of it: keys, and numbers that the data can give again."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from numpy.typing import NDArray

from kdrbench.datasets import Dataset
from kdrbench.datasets.fetch import Sources
from kdrbench.datasets.prepared import load_defined
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import DamagedError, DataError, InputError, counted, in_words, visible
from kdrbench.suite.conformance.subject import places_in
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.identity import Attested, attested_in, of_revisions
from kdrbench.suite.engine.publish import array_name
from kdrbench.suite.engine.recomputed import NOT_STORED, Arrays, Recomputed, Row
from kdrbench.suite.engine.record import RecordError
from kdrbench.suite.engine.run_files import UnreadableError, arrays_in
from kdrbench.suite.engine.system import System
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.experiments.config_file import read_config_file
from kdrbench.suite.experiments.results import read_words, record_in
from kdrbench.suite.systems import build_system, table_of

# Training samples above which no n x n arrays are formed: 200 MB each.
MOST_SAMPLES = 5000
# Kinds of arrays that runs leave and numbers are computed from.
ARRAYS = ("projection", "labels", "given", "optima", "optima_numbers", NOT_STORED)
Placed = list[tuple[str, dict[str, str]]]
# Of a word of a finding, what is shown.
_MOST_LETTERS = 200


@dataclass(frozen=True)
class Finding:
    """A row, or a file, with a fault: ``recorded`` is there, ``should_be`` is not."""

    place: str
    column: str
    recorded: str
    should_be: str

    def __str__(self) -> str:
        words = self.place, self.column, self.recorded or "empty", self.should_be
        place, column, recorded, should_be = (
            visible(word if len(word) <= _MOST_LETTERS else f"{word[:_MOST_LETTERS]}...") for word in words
        )
        return f"{place}: {column} is {recorded}, should be {should_be}"


@dataclass(frozen=True)
class Record:
    """The folder ``results`` with the runs of a workflow, and the name of the configuration, empty for none.

    The code that a configuration names is imported with ``own_code`` only: a record may be anybody's.
    """

    results: Path
    name: str = ""
    own_code: bool = False

    @property
    def folder(self) -> Path:
        """Where the configuration and its merged tables are."""
        return self.results / self.name if self.name else self.results

    @cached_property
    def grid(self) -> Grid:
        """The runs that the configuration asks for.

        Raises ``ConfigError`` without a sound configuration, and ``InputError`` for one that names code where that is
        not to be imported.
        """
        path = self.folder / "config.json"
        config = read_config_file(path)
        if not self.own_code and (places := places_in(config)):
            raise InputError(
                f"the configuration of this record names code that is not kdrbench's, {visible(places[0][:200])}, "
                "which would be run; say --own-code if you trust it"
            )
        return load_grid(config)

    @cached_property
    def attested(self) -> Attested:
        """The revisions of which audits have shown that numbers are the same."""
        return attested_in(self.results)

    def rows(self) -> dict[str, list[dict[str, str]]]:
        """Return the rows of the merged table of each system, as their words in the file.

        Raises ``DamagedError`` where a table is missing, and ``RecordError`` where it is cut or has other columns.
        """
        found = {}
        for system in self.grid.systems:
            path = self.folder / f"{table_of(system)}.csv"
            try:
                lines = read_words(path, build_system(system).record)
            except OSError as error:
                raise DamagedError(f"{path} cannot be read: {in_words(error)}") from error
            found[system] = [words for _, words in lines]
        return found

    def arrays(
        self, trace_file: str, cell: str, runs: Iterable[int], kinds: Sequence[str] = ARRAYS
    ) -> dict[int, dict[str, NDArray[Any]]]:
        """Return the arrays of runs of a cell by run and kind, from the file beside their trace.

        To find its members takes as long as to read hundreds: ask for all runs at once. A run whose file is missing has
        none; raises ``DamagedError`` for a file that cannot be read.
        """
        path = (self.results / "findings" / trace_file).with_suffix(".npz")
        names = {array_name(cell, kind, run): (run, kind) for run in runs for kind in kinds}
        try:
            read = arrays_in(path, wanted=names)
        except UnreadableError as error:
            raise DamagedError(f"{path} cannot be read: {error}") from error
        found: dict[int, dict[str, NDArray[Any]]] = {}
        for name, array in (read or {}).items():
            run, kind = names[name]
            found.setdefault(run, {})[kind] = array
        return found


@dataclass
class Verification:
    """What was verified: ``rows``, how many of them were ``checked`` by ``numbers`` computed again, what not and why.

    ``stale`` counts by reason the rows of earlier revisions than the present code has, which no audit has attested.
    ``missing`` says why data sets could not be read, by their names.
    """

    rows: int = 0
    checked: int = 0
    numbers: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    stale: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)

    def add(self, other: Verification) -> None:
        """Add what was verified elsewhere."""
        for column in ("rows", "checked", "numbers", "left_out", "stale", "findings"):
            setattr(self, column, getattr(self, column) + getattr(other, column))
        self.missing |= other.missing


def verify(
    record: Record,
    *,
    mirror: str | None = None,
    n_jobs: int = 1,
    most: int = MOST_SAMPLES,
    budget_s: float = 300.0,
    seed: int = 0,
    sample: int | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Verification:
    """Compare every row of a record with its definition, and with what is computed again from raw data.

    :meth:`.System.recompute` computes the numbers; above ``most`` training samples it forms no n x n arrays. Runs whose
    recomputation takes long (:meth:`.System.recompute_s`) are drawn by ``seed``, as many as ``budget_s`` seconds allow.
    With ``sample``, keys are compared of every row, and numbers of as many rows, which ``seed`` draws among those whose
    data can be read. What is left out is counted by reason.
    ``mirror`` is where data are looked for first. ``progress`` is called with a text for each data set that is read,
    and after each batch with one that counts rows.

    Raises ``ConfigError``, ``InputError`` or ``DamagedError`` where configuration or tables cannot be read.
    """
    total, rows_of = Verification(), defaultdict[str, Placed](list)
    for system, rows in record.rows().items():
        total.add(_keys(record, system, rows, rows_of))
    batches = sorted(record.grid.batches(), key=lambda batch: batch.dataset)
    computed = {
        place: (batch, row) for batch in batches if _recomputes(batch.system) for place, row in rows_of[batch.path]
    }
    names, sources = {batch.dataset for batch in batches}, Sources(mirror)
    data_of = {name: partial(_loaded, name, record.grid.data_definition(name), sources) for name in names}
    chosen, total.missing = _chosen(computed, data_of, seed, sample, progress)
    left_out = dict.fromkeys(computed.keys() - chosen, "rows that were not drawn")
    left_out |= dict.fromkeys(
        _beyond({place: computed[place] for place in chosen}, most, seed, budget_s),
        f"runs that the budget did not reach, of more than {most} samples",
    )
    lacking = {
        name: f"rows on {name}, whose data cannot be had: {way_to(name, why)}" for name, why in total.missing.items()
    }
    left_out |= {place: lacking[one.dataset] for place, (one, _) in computed.items() if one.dataset in lacking}
    for batch in batches:
        if not _recomputes(batch.system):
            reason = f"rows of {batch.system}, a system that is not computed again"
            left_out |= {place: reason for place, _ in rows_of[batch.path]}
    total.left_out.update(left_out.values())
    ahead = [(batch, [pair for pair in rows_of[batch.path] if pair[0] not in left_out]) for batch in batches]
    n_rows = sum(len(rows) for _, rows in ahead)
    # Processes get the place of the record, not its grid, and load a data set once for all of its batches.
    folder = replace(record)
    calls = (delayed(_recomputed)(folder, batch, rows, data_of[batch.dataset], most) for batch, rows in ahead if rows)
    with warnings.catch_warnings():
        # joblib replaces a process that holds much memory, and warns of it.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
        for part in Parallel(n_jobs=n_jobs, return_as="generator")(calls):
            total.add(part)
            progress(f"{total.checked} of {counted(n_rows, 'row')} computed again")
    return total


def _beyond(drawn: Mapping[str, tuple[Batch, Row]], most: int, seed: int, budget_s: float) -> set[str]:
    """Return the places of long runs that the budget does not reach."""
    seconds = {place: build_system(batch.system).recompute_s(batch, row, most) for place, (batch, row) in drawn.items()}
    long_runs = [(place, time_s) for place, time_s in seconds.items() if time_s]
    return {place for place, _ in long_runs} - within_budget(long_runs, seed, budget_s)


def place_of(row: Row, axes: Sequence[str]) -> str:
    """Return what names a row: its axes with slashes between."""
    return "/".join(row[name] for name in axes)


def _keys(record: Record, system: str, rows: list[dict[str, str]], rows_of: dict[str, Placed]) -> Verification:
    """Return the findings on a table's keys: each row once, of its definition, data and seed; sort rows by batch."""
    kind, result = build_system(system).record, Verification(rows=len(rows))
    batches = [batch for batch in record.grid.batches() if batch.system == system]
    by_place = {"/".join(map(str, axes)): batch for batch in batches for axes in batch.axes}
    placed = [(place_of(row, kind.axis_names()), row) for row in rows]
    counts = Counter(place for place, _ in placed)
    result.findings += [Finding(place, "row", "missing", "in the table") for place in sorted({*by_place} - {*counts})]
    result.findings += [Finding(place, "row", f"{n} times", "once") for place, n in counts.items() if n > 1]
    for place, row in placed:
        batch = by_place.get(place)
        try:
            record_in(row, kind)
        except RecordError as error:
            result.findings.append(Finding(place, "row", f"none of {kind.__name__}: {error}", "as it was written"))
            continue
        if batch is None:
            result.findings.append(Finding(place, "row", "not asked for", "absent"))
            continue
        keys = {
            "definition_sha256": batch.definition_sha256,
            "data_sha256": record.grid.data_sha256(batch.dataset),
            "seed": str(batch.seed),
        }
        result.findings += [Finding(place, name, row[name], key) for name, key in keys.items() if row[name] != key]
        result.stale.update(of_revisions(row["revisions"], batch, record.attested))
        rows_of[batch.path].append((place, row))
    return result


def _shuffled(places: Iterable[str], seed: int) -> list[str]:
    """Return places in the order of the SHA-256 of seed/place."""
    return sorted(places, key=lambda place: hashlib.sha256(f"{seed}/{place}".encode()).hexdigest())


def _recomputes(system: str) -> bool:
    kind = type(build_system(system))
    return bool(kind.verifier) or kind.recompute is not System.recompute


def _chosen(
    computed: Mapping[str, tuple[Batch, Row]],
    data_of: Mapping[str, Callable[[], Dataset]],
    seed: int,
    sample: int | None,
    progress: Callable[[str], None],
) -> tuple[set[str], dict[str, str]]:
    """Return all rows whose data can be read, or a ``sample`` of these, and why data sets cannot be, by their names.

    Each is tried once, as a server may take long to fail.
    """
    tried: dict[str, str] = {}
    chosen: set[str] = set()
    by_data = sorted(computed, key=lambda place: computed[place][0].dataset)
    for place in by_data if sample is None else _shuffled(computed, seed):
        if len(chosen) == sample:
            break
        name = computed[place][0].dataset
        if name not in tried:
            tried[name] = ""
            progress(f"reading the data of {name}, which are downloaded where they are not here")
            try:
                data_of[name]()
            except DataError as error:
                tried[name] = str(error)
        if not tried[name]:
            chosen.add(place)
    return chosen, {name: why for name, why in tried.items() if why}


def way_to(name: str, why: str) -> str:
    """Return in a few words how a data set that is downloaded is to be had; of others, ``why`` they are missing."""
    entry = load_registry().get(name)
    if entry and not entry.bundled:
        return f"`kdrbench data fetch {name}` gets them"
    return why if len(why) <= _MOST_LETTERS else f"{why[:_MOST_LETTERS]}..."


@lru_cache(maxsize=2)
def _loaded(name: str, definition: str, sources: Sources) -> Dataset:
    return load_defined(name, json.loads(definition), sources)


def _recomputed(record: Record, batch: Batch, rows: Placed, data: Callable[[], Dataset], most: int) -> Verification:
    """Return what was computed again of rows of a batch."""
    result, system = Verification(checked=len(rows)), build_system(batch.system)
    kinds = (*ARRAYS, *(f"projection_{key}" for keys in batch.rows for key in keys))
    arrays_of: dict[str, Mapping[int, Arrays]] = {}
    for place, row in rows:
        trace_file = row["trace_file"]
        try:
            if trace_file not in arrays_of:
                arrays_of[trace_file] = record.arrays(trace_file, batch.cell_name, batch.runs, kinds)
            arrays = arrays_of[trace_file].get(int(row["run"]), {})
            found = system.recompute(batch, row, arrays, data(), most)
        except (InputError, DamagedError) as error:
            result.findings.append(Finding(place, "result", f"({error})", "computed again"))
            continue
        result.numbers += len(found.numbers)
        result.left_out.update(found.left_out)
        result.findings += differing(place, row, found)
    return result


def within_budget(places: Iterable[tuple[str, float]], seed: int, budget_s: float) -> frozenset[str]:
    """Return places, each with its seconds, in the order of the SHA-256 of seed/place, as far as the budget goes."""
    seconds = dict(places)
    order = _shuffled(seconds, seed)
    ends = accumulate(seconds[place] for place in order)
    return frozenset(place for place, end_s in zip(order, ends, strict=True) if end_s <= budget_s)


def differing(place: str, row: Row, recomputed: Recomputed) -> Iterator[Finding]:
    """Yield the numbers of a row that are not those computed again, and needed ones that could not be."""
    for column, number in recomputed.numbers.items():
        word = row[column] if number.recorded is None else repr(number.recorded)
        try:
            is_near = abs(float(word) - number.value) <= number.allowed
        except ValueError:
            is_near = False
        if not is_near:
            yield Finding(place, column, word, f"{number.value!r} within {number.allowed:.1e}")
    for column in recomputed.needed:
        if row[column] and column not in recomputed.numbers:
            yield Finding(place, column, row[column], "computed again, but its projection or labels are missing")
