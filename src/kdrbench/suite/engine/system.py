"""The contract between the engine and a system: what a system is, and what a batch is run under."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, ClassVar

import psutil

from kdrbench.datasets import Dataset
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.identity import Attested, Requirements
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.isolation.supervisor import SupervisionError
from kdrbench.suite.engine.provenance import calibration_s
from kdrbench.suite.engine.recomputed import Arrays, Recomputed, Row
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.referee import Referee
from kdrbench.suite.engine.run import Run, RunResult
from kdrbench.suite.engine.run_files import RunFiles

Config = Mapping[str, Any]
# What a report can need beside merged tables: what runs leave, the data with their images, the best known solutions.
TRACES, FINDINGS, DATA, PICTURES, OPTIMA = "traces", "findings", "data", "pictures", "optima"
_MAKING = "kdrbench.suite.reports.making"


@dataclass(frozen=True)
class Report:
    """A table or figure of the runs of ``experiments``.

    ``maker`` is "module:function"; the function takes a :class:`~kdrbench.suite.reports.making.Source` and returns a
    table and the sections of its page, or a chart. ``needs`` is what it reads beside merged tables. ``shows`` labels it
    in Snakemake's report. ``figures`` are those that the page of a table shows, ``targets`` more names by which it can
    be requested, ``summary`` is the page of ``kdrbench summary`` that shows it.
    """

    name: str
    experiments: tuple[str, ...]
    kind: str
    shows: str
    maker: str
    needs: tuple[str, ...] = ()
    is_figure: bool = False
    figures: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    summary: str = ""


@dataclass(frozen=True)
class RunContext:
    """What a batch is run under: limits, repeats, its own cores, the scheduler it must not outlive.

    ``calibrate`` times the fixed piece of work by which drift is noticed. ``attested`` are the earlier revisions that
    rows may have.
    """

    limits: Limits
    repeat_for_s: float = 0.0
    cores: tuple[int, ...] = ()
    scheduler: int | None = None
    timed: bool = True
    calibrate: Callable[[], float] = calibration_s
    attested: Attested = field(default_factory=Attested)

    @property
    def requirements(self) -> Requirements:
        """What rows that were made before are judged by."""
        return Requirements(self.timed, self.attested)

    def check_scheduler(self) -> None:
        """Raise ``SupervisionError`` when the scheduler is gone; short runs end before their guardian looks."""
        if self.scheduler is not None and not psutil.pid_exists(self.scheduler):
            raise SupervisionError("the scheduler is gone; start the workflow again")


@dataclass(frozen=True)
class Cell:
    """One cell of an experiment as its system expands it; the engine splits its runs into batches and jobs.

    ``names`` are those of the cell below its data set, the method's last. ``definition`` is everything that the
    configuration decides of its results. ``run_s`` is about how long one run takes. ``components`` are those that
    decide the numbers (:mod:`kdrbench.revisions`), ``plugins`` by such a name the modules of the user's own that do.
    ``rows`` are the keys of the rows that a run leaves.
    """

    dataset: str
    names: tuple[str, ...]
    definition: dict[str, Any]
    n_runs: int
    run_s: float
    components: tuple[str, ...] = ()
    plugins: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[tuple[Any, ...], ...] = ((),)


class System(ABC):
    """A system of the benchmark: how its experiments are checked, expanded to cells, and run.

    ``record`` is the class of its rows. ``schema`` is the JSON schema of its experiments beside the keys that all have,
    ``sections`` those of the configuration's sections that only it reads. ``papers`` are those whose numbers and claims
    its experiments can reproduce, with the first word of their targets. ``provides`` is what its experiments store for
    reports of other systems. ``imports`` names the modules that runs use first: each run would import them again.
    ``runner`` and ``verifier`` are the functions, as "module:function", that :meth:`run` and :meth:`recompute` call.
    """

    record: ClassVar[type[Record]]
    schema: ClassVar[Mapping[str, Any]] = {"type": "object"}
    sections: ClassVar[Mapping[str, Any]] = {}
    papers: ClassVar[Mapping[str, str]] = {}
    provides: ClassVar[tuple[str, ...]] = ()
    imports: ClassVar[tuple[str, ...]] = ()
    runner: ClassVar[str] = ""
    verifier: ClassVar[str] = ""

    def faults(self, experiment: Config, config: Config) -> Iterable[str]:
        """Return the faults of an experiment that a schema cannot find; each begins with the key that is at fault."""
        return ()

    def faults_of_sections(self, config: Config) -> Iterable[str]:
        """Return those of the sections that the system reads; each begins with its section."""
        return ()

    @abstractmethod
    def expand(self, name: str, config: Config) -> Iterator[Cell]:
        """Yield the cells of a checked experiment, in the order of its tables."""

    def run(self, batch: Batch, dataset: Dataset, number: int, referee: Referee) -> Iterator[RunResult]:
        """Make run ``number`` of the batch in a process of its own; yield a result for each of its rows.

        A system defines this method or ``runner``, or :meth:`prepare` where its runs share what is loaded.
        """
        if self.runner:
            results: Iterator[RunResult] = _function(self.runner)(batch, dataset, number, referee)
            return results
        return self.prepare(batch, dataset, RunContext(referee.limits))(number).run(referee)

    def prepare(self, batch: Batch, dataset: Dataset, context: RunContext) -> Callable[[int], Run]:
        """Load what the runs need, once for all of them, and return what makes the work of run ``number``.

        What is raised here is a fault of the specification, not of a method: it leaves no row.
        """
        if self.runner:
            _function(self.runner)
        return lambda number: _Unscored(self, batch, dataset, number)

    def columns(self, batch: Batch) -> Mapping[str, Any]:
        """Return the columns that every row of the batch has."""
        return {}

    def describe(self, batch: Batch, dataset: Dataset, number: int) -> Mapping[str, Any]:
        """Return the columns that the system knows of a run without making it."""
        return {}

    def reports(self, name: str, config: Config) -> list[Report]:
        """Return the tables and figures of one experiment: those of :meth:`table` and :meth:`figure`."""
        table = plain_table_report(name)
        if type(self).figure is System.figure:
            return [table]
        return [replace(table, figures=(name,)), replace(table, maker=f"{_MAKING}:system_chart", is_figure=True)]

    def joint_reports(self, names: Sequence[str], config: Config) -> list[Report]:
        """Return the tables and figures of several experiments; ``names`` are all of the system that are run."""
        return []

    def reproduces(self, experiment: Config) -> bool:
        """Return whether an experiment names one of the system's papers."""
        return experiment.get("published", {}).get("paper") in self.papers

    def table(self, rows: Any, name: str, experiment: Config) -> Any:
        """Return the :class:`~kdrbench.suite.reports.tables.table.Table` of an experiment's rows.

        ``None``, as here, leaves it to a table of means by data set and method.
        """
        return None

    def figure(self, rows: Any, name: str, experiment: Config) -> Any:
        """Return the :class:`~kdrbench.suite.reports.figures.chart.Chart` of an experiment's rows, or ``None``."""
        return None

    def claims(self) -> Sequence[Any]:
        """Return each :class:`~kdrbench.suite.findings.finding.Claim` that all rows of the system decide."""
        return ()

    def recompute(self, batch: Batch, row: Row, arrays: Arrays, dataset: Dataset, most_samples: int) -> Recomputed:
        """Return a row's numbers, computed again from the arrays of its run and the data, for ``kdrbench verify``.

        Of more than ``most_samples`` samples no n x n arrays are to be formed.
        """
        if not self.verifier:
            return Recomputed({})
        recomputed: Recomputed = _function(self.verifier)(batch, row, arrays, dataset, most_samples)
        return recomputed

    def recompute_s(self, batch: Batch, row: Row, most_samples: int) -> float:
        """Return about how many seconds that takes for a run of many samples, which needs a budget; 0 for others."""
        return 0.0


def _function(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def plain_table_report(name: str) -> Report:
    """Return the table that any experiment can have."""
    return Report(name, (name,), "other", "results", f"{_MAKING}:plain_page")


@dataclass(frozen=True)
class _Unscored:
    system: System
    batch: Batch
    dataset: Dataset
    number: int
    arrays: ClassVar[tuple[str, ...]] = ()

    def run(self, referee: Referee) -> Iterator[RunResult]:
        return self.system.run(self.batch, self.dataset, self.number, referee)

    def score(self, files: RunFiles) -> Mapping[str, Any]:
        return self.system.describe(self.batch, self.dataset, self.number)
