"""The atlas of optima as a system of the benchmark: cells are those of other experiments, runs their problems.

What makes a run is imported by what needs it: scikit-learn takes a second to load, and every configuration is checked
by all systems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, ClassVar

from kdrbench.datasets import Dataset
from kdrbench.datasets.own import registry_of
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.run import Run
from kdrbench.suite.engine.system import FINDINGS, OPTIMA, Cell, Config, Report, RunContext, System
from kdrbench.suite.systems.ikdr.config import faults_of
from kdrbench.suite.systems.ikdr.definition import estimated_seconds, problem_sha256
from kdrbench.suite.systems.ikdr.system import components_of, plugins_of, shared_definition, solver_part
from kdrbench.suite.systems.registry import DEFAULT
from kdrbench.suite.systems.schemas import NAMES, described, integer, report, unknown_names

# Two ends within this largest principal angle are the same optimum.
ANGLE_DEG = 1.0
# A run leaves the optima (k x d x q), and under this name the cost, quality and shares of solvers' starts of each.
NUMBERS = "optima_numbers"
SCHEMA: Config = {
    "required": ["datasets", "cells_of", "solvers", "starts", "draws"],
    "properties": {
        "cells_of": described(NAMES, "experiments of IKDR whose problems are charted"),
        "solvers": NAMES,
        "starts": integer(1, "random starts of each problem, the same for all solvers"),
        "draws": integer(1, "how often these are drawn; optima of one draw are sought in the next"),
    },
}
_TABLE = report("atlas", "atlas of optima", "atlas.tables:page", FINDINGS)
_FIGURE = report("atlas", "atlas of optima", "atlas.tables:chart_of", FINDINGS, is_figure=True)


@dataclass(frozen=True, kw_only=True)
class AtlasRecord(Record):
    """One solver from all starts of one draw on one problem, which is a run; ``None`` where it left no such number.

    ``problem`` is the hash of the problem (:func:`.problem_sha256`), which is run ``problem_run`` of the experiment
    ``cells_of``. Of ``n_starts`` random starts ``n_ended`` came to an end and ``n_certified`` at a certified optimum:
    stationary, and of supervised problems without negative curvature. They are ``n_optima`` distinct ones; ``n_known``
    are those of all solvers together, the papers' start included. ``best_cost`` is the lowest cost of these and
    ``best_quality`` what its projection is worth on the test samples (of clusterings, the NMI with the classes).
    ``share_at_best`` of the random starts end within 1 degree of the best, and ``share_near_best`` at a cost within
    0.1 % of its; ``median_gap`` and ``largest_gap`` are their (cost - best) / |best|. The papers' start, leading
    eigenvectors of Phi_0, has ``leading_at_best`` and ``leading_gap``.

    What the ends of random starts are worth goes from ``lowest_quality`` to ``highest_quality``. ``tau`` is Kendall's
    correlation of cost and quality over these ends, certified or not, with its 95 % interval from ``tau_low`` to
    ``tau_high`` over resampled ends; ``None`` where all costs or all qualities are equal (:func:`.rank_correlation`).
    """

    SCHEMA_VERSION: ClassVar[int] = 2
    CELL: ClassVar[tuple[str, ...]] = ("cells_of", "kernel")
    KEYS: ClassVar[tuple[str, ...]] = ("method",)

    cells_of: str
    kernel: str
    method: str
    paradigm: str
    problem: str
    problem_run: int
    draw: int
    n_starts: int
    n_components: int | None = None
    n_train: int
    n_test: int
    n_features: int
    n_ended: int | None = None
    n_certified: int | None = None
    n_optima: int | None = None
    n_known: int | None = None
    best_cost: float | None = None
    best_quality: float | None = None
    share_at_best: float | None = None
    share_near_best: float | None = None
    median_gap: float | None = None
    largest_gap: float | None = None
    leading_gap: float | None = None
    leading_at_best: bool | None = None
    lowest_quality: float | None = None
    highest_quality: float | None = None
    tau: float | None = None
    tau_low: float | None = None
    tau_high: float | None = None


class AtlasSystem(System):
    """The local optima that solvers reach from many starts, on the problems of other experiments."""

    record = AtlasRecord
    schema = SCHEMA
    provides = (OPTIMA,)
    verifier = "kdrbench.suite.systems.ikdr.recompute:recompute_atlas"

    def faults(self, experiment: Config, config: Config) -> Iterator[str]:
        """Yield the faults of an experiment."""
        experiments = config["experiments"]
        known = [name for name, definition in experiments.items() if definition["system"] == DEFAULT]
        yield from unknown_names("cells_of", f"experiment of {DEFAULT}", experiment["cells_of"], known)
        for charted in experiment["cells_of"]:
            # What fits the charted experiment's own solvers must fit these as well.
            yield from faults_of({**experiments[charted], "solvers": experiment["solvers"]}, config)
        for solver in (name for name in experiment["solvers"] if "starts" in config["solvers"][name]):
            yield f"solvers: {solver!r} has starts of its own; an atlas gives all the same: name one without starts"
        for dataset in (name for name in experiment["datasets"] if not _charted(experiment, config, name)):
            yield f"datasets: no experiment of cells_of has data set {dataset!r}; leave it out, or name one that has it"

    def reports(self, name: str, config: Config) -> list[Report]:
        """Return the table and the figure of an atlas."""
        summary = "atlas" if name == "atlas" else ""
        return [_TABLE(name, (name,), figures=(name,), summary=summary), _FIGURE(name, (name,))]

    def expand(self, name: str, config: Config) -> Iterator[Cell]:
        """Yield a cell for each kernel and data set of the charted experiments."""
        experiment, registry = config["experiments"][name], registry_of(config)
        for dataset in experiment["datasets"]:
            for charted in _charted(experiment, config, dataset):
                for kernel in config["experiments"][charted]["kernels"]:
                    yield _cell(experiment, config, registry[dataset], charted, kernel)

    def prepare(self, batch: Batch, dataset: Dataset, context: RunContext) -> Callable[[int], Run]:
        """Load what the runs need, and return what makes one."""
        from kdrbench.suite.systems.atlas.starts_run import make_atlas_run

        return partial(make_atlas_run, batch, dataset, context.limits.memory_mib)

    def describe(self, batch: Batch, dataset: Dataset, number: int) -> Mapping[str, Any]:
        """Return the problem of a run, its draw and its sizes."""
        from kdrbench.suite.systems.atlas.starts_run import described

        return described(batch, dataset, number)


def _charted(experiment: Config, config: Config, dataset: str) -> list[str]:
    return [name for name in experiment["cells_of"] if dataset in config["experiments"][name]["datasets"]]


def _cell(experiment: Config, config: Config, entry: DatasetEntry, charted: str, kernel: str) -> Cell:
    source = config["experiments"][charted]
    shared = shared_definition(source, entry)
    solvers: dict[str, dict[str, Any]] = {
        solver: {**shared, **solver_part(source, config, kernel, solver, shared["parameters"])}
        for solver in experiment["solvers"]
    }
    n_problems, n_starts = shared["n_folds"] * shared["partitions"], experiment["starts"]
    n_samples = shared["n_rows"] or entry.n_samples
    return Cell(
        dataset=entry.name,
        names=(charted, kernel),
        definition={"solvers": solvers, "starts": n_starts, "n_problems": n_problems},
        n_runs=n_problems * experiment["draws"],
        run_s=sum((n_starts + 1) * estimated_seconds(one, entry) for one in solvers.values()),
        components=("atlas/starts", *chain.from_iterable(components_of(one, n_samples) for one in solvers.values())),
        plugins=dict(chain.from_iterable(plugins_of(one).items() for one in solvers.values())),
        rows=tuple((solver,) for solver in solvers),
    )


def problem_of(config: Config, experiment: str, dataset: str, kernel: str, number: int) -> str:
    """Return the hash of the problem of a run (:func:`.problem_sha256`), whatever its solver.

    It is empty for data that are not registered: the user's own, which reports do not load, and those of old records.
    """
    if (entry := load_registry().get(dataset)) is None:
        return ""
    definition = shared_definition(config["experiments"][experiment], entry)
    definition["kernel"] = dict(config["kernels"][kernel])
    return problem_sha256(definition, dataset, entry.content_sha256, number, config["seed"])
