"""The system of interpretable kernel dimension reduction: from an experiment to cells, and from a batch to runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

from kdrbench.baselines import BASELINES, build_baseline
from kdrbench.datasets import Dataset
from kdrbench.datasets.load import is_picture
from kdrbench.datasets.own import registry_of
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.evaluation.cost_model import GRID_COMPONENTS, GRID_SAMPLES, SUMS_SAMPLES
from kdrbench.kernels.registry import FAMILIES, own_modules
from kdrbench.solvers.newton import QUASI_NEWTON_DIMENSION
from kdrbench.solvers.registry import METHODS, build_solver, method_of
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.recomputed import Row
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.run import Run
from kdrbench.suite.engine.system import (
    DATA,
    FINDINGS,
    OPTIMA,
    PICTURES,
    TRACES,
    Cell,
    Config,
    Report,
    RunContext,
    System,
)
from kdrbench.suite.systems.ikdr.baseline_run import make_baseline_run
from kdrbench.suite.systems.ikdr.clustering_run import make_clustering_run
from kdrbench.suite.systems.ikdr.config import (
    faults_of,
    faults_of_sections,
    is_redrawn,
    is_scaling,
    labellings_of,
    parameters_of,
    runs_of,
    sampling_of,
    split_of,
)
from kdrbench.suite.systems.ikdr.definition import NO_KERNEL, CellDefinition, Kind, Paradigm, estimated_seconds
from kdrbench.suite.systems.ikdr.folds import Split
from kdrbench.suite.systems.ikdr.scores import columns_of
from kdrbench.suite.systems.ikdr.solver_run import make_solver_run
from kdrbench.suite.systems.registry import DEFAULT, system_name
from kdrbench.suite.systems.schemas import read_schema, report

# Evaluators that are chosen for a kernel where none is asked for; a family of the user's own may need autograd.
_GENERAL, _FACTORED = ("dense", "panels"), ("linear", "squared", "polynomial")
# Families that are no function of differences, so that no kernel with such a member is evaluated on a grid; and kernels
# that are evaluated more quickly.
_NOT_OF_DIFFERENCES, _NOT_ON_GRIDS = {"linear", "polynomial", "rbf_relative"}, (["gaussian"], ["squared"])
PROFILE, FIGURE_1B = "performance_profile", "figure1b"
_HERE = "kdrbench.suite.systems.ikdr"
_SCHEMA = read_schema(_HERE, "schema.json")
_FIGURE_1B_TARGET = ("neurips2019_figure1b",)
_COSTS = ("ikdr.cost_against_time:chart_of", TRACES, OPTIMA)
_TABLE = report("ikdr", "time, cost and quality", "ikdr.tables:page", TRACES, OPTIMA)
_TESTS = report("paired_tests", "paired tests", "ikdr.paired_tests:page")
_COMPLEXITY = report("complexity", "measured exponents", "ikdr.size_series:page")
_figure = partial(report, is_figure=True)
_FIGURES = (
    _figure("cost_against_time", "cost against time", *_COSTS),
    _figure("scatter", "projected samples", "ikdr.projections:scatter", FINDINGS, DATA),
    _figure("cost_against_calls", "cost against oracle calls", *_COSTS),
    _figure("loadings", "features and stability", "ikdr.projections:loadings", FINDINGS, DATA),
    _figure("segmentation", "segments and mean faces", "ikdr.projections:segmentation", FINDINGS, DATA, PICTURES),
)
_PROFILE = _figure(PROFILE, "performance profile", "ikdr.cost_against_time:profile_chart", TRACES, OPTIMA)
_SCALING = _figure("scaling", "time against size", "ikdr.size_series:chart_of")
_FIGURE_1B = _figure(FIGURE_1B, "time against samples", "ikdr.size_series:figure_1b")


@dataclass(frozen=True, kw_only=True)
class IKDRRecord(Record):
    """One run of a solver or baseline; ``None`` where it left no such number.

    ``run`` is a fold, a subset, or 0 for all rows; folds count on through the partitions, of which ``partition`` is the
    number. ``time_s`` and ``cpu_s`` are those of its first (cold) solve or fit. A short one is repeated: ``warm_s`` and
    ``warm_cpu_s`` are the medians of its ``repeats``, ``warm_iqr_s`` is their interquartile range. A run killed at its
    time limit has ``time_s`` equal to the limit; one that ended without a result has the time of its last trace line.
    ``evaluation`` says how the problem was evaluated, and why. Of a solver with several starts the seconds, iterations
    and calls are those of all of them together, ``n_starts`` is how many were made, and ``mean_cost`` the mean of the
    costs at which they ended.

    Clusterings have the number of their ``rounds``, ``iterations`` over all of them, no counts of calls, and say
    whether their degrees existed (``uses_degrees``). ``quality`` is what ``quality_metric`` says: accuracy on the
    ``n_test`` test samples, or, where there are none, the error on the training samples; of clusterings the NMI with
    the classes, of semi-supervised ones over the ``n_test`` samples of hidden labels. ``train_accuracy`` is that of the
    same classifier on the training samples, of solvers with a test part. Of alternative clusterings ``quality`` is the
    NMI with the labelling they should find, and ``nmi_given`` that with the one they should differ from.

    ``cost`` to ``eigengap_needed`` belong to the last orthonormal projection that the referee evaluated, or to the best
    one of several starts; the last three, of second order, are known of supervised runs in small tangent spaces.
    ``optimality`` says what the referee found of it (:class:`.Optimality`), empty where there is no projection, and of
    controls. ``kernel_weights`` are those of a combination's members, in their order. Of a baseline (``kernel``:
    ``none``) only the quality is known.
    """

    SCHEMA_VERSION: ClassVar[int] = 8
    CELL: ClassVar[tuple[str, ...]] = ("kernel", "method")

    kernel: str
    method: str
    paradigm: str
    split: str
    partition: int
    kernel_weights: str = ""
    warm_s: float | None = None
    warm_cpu_s: float | None = None
    warm_iqr_s: float | None = None
    repeats: int = 0
    iterations: int | None = None
    value_calls: int | None = None
    gradient_calls: int | None = None
    value_gradient_calls: int | None = None
    hessian_vector_calls: int | None = None
    hessian_calls: int | None = None
    surrogate_calls: int | None = None
    evaluation: str | None = None
    n_starts: int | None = None
    mean_cost: float | None = None
    rounds: int | None = None
    uses_degrees: bool | None = None
    cost: float | None = None
    quality_metric: str
    quality: float | None = None
    train_accuracy: float | None = None
    feasibility: float | None = None
    stationarity: float | None = None
    curvature: float | None = None
    eigengap: float | None = None
    eigengap_needed: float | None = None
    optimality: str = ""
    nmi_given: float | None = None
    n_train: int
    n_test: int
    n_features: int
    n_constant_features: int
    n_components: int | None = None


class IKDRSystem(System):
    """Solvers and baselines of a paradigm on folds, subsets or all rows of a data set."""

    record = IKDRRecord
    schema = _SCHEMA["experiment"]
    sections = _SCHEMA["sections"]
    verifier = f"{_HERE}.recompute:recompute"
    papers: ClassVar = {"neurips2019": "neurips2019", "ismplus": "ismplus"}

    def faults(self, experiment: Config, config: Config) -> Iterator[str]:
        """Return the faults of an experiment."""
        return faults_of(experiment, config)

    def faults_of_sections(self, config: Config) -> Iterator[str]:
        """Return the faults of kernels, solvers and baselines."""
        return faults_of_sections(config)

    def expand(self, name: str, config: Config) -> Iterator[Cell]:
        """Yield data sets, kernels and solvers crossed, the baselines after the solvers of their data set."""
        experiment, registry = config["experiments"][name], registry_of(config)
        for dataset in experiment["datasets"]:
            shared = shared_definition(experiment, registry[dataset])
            for kernel in experiment["kernels"]:
                for solver in experiment["solvers"]:
                    part = solver_part(experiment, config, kernel, solver, shared["parameters"])
                    yield _cell(registry[dataset], (kernel, solver), {**shared, **part})
            for baseline in experiment.get("baselines", []):
                part = {"kind": str(Kind.BASELINE), "kernel": {}, "method": dict(config["baselines"][baseline])}
                part |= {"start": "", "evaluation": {}}
                yield _cell(registry[dataset], (NO_KERNEL, baseline), {**shared, **part})

    def prepare(self, batch: Batch, dataset: Dataset, context: RunContext) -> Callable[[int], Run]:
        """Build the method and load what it needs; the problem of each run is built before its process."""
        cell, memory_mib = CellDefinition.of(batch), context.limits.memory_mib
        method: Any = (build_baseline if cell.kind is Kind.BASELINE else build_solver)(cell.method)
        for module in getattr(method, "imports", ()):
            import_module(module)
        if cell.kind is Kind.BASELINE:
            return lambda number: make_baseline_run(cell, method, number, cell.fold(dataset, number))
        make = make_solver_run if cell.paradigm == Paradigm.SUPERVISED else make_clustering_run
        return lambda number: make(cell, method, memory_mib, number, cell.fold(dataset, number))

    def describe(self, batch: Batch, dataset: Dataset, number: int) -> Mapping[str, Any]:
        """Return the fold's partition and sizes, the metric, and q where it does not follow a rule."""
        cell = CellDefinition.of(batch)
        return columns_of(cell, cell.fold(dataset, number))

    def columns(self, batch: Batch) -> Mapping[str, Any]:
        """Return paradigm and split."""
        return {"paradigm": batch.definition["paradigm"], "split": batch.definition["split"]}

    def recompute_s(self, batch: Batch, row: Row, most_samples: int) -> float:
        """Return about how many seconds cost and stationarity of many samples take."""
        from kdrbench.suite.systems.ikdr import recompute

        return recompute.recompute_s(batch, row, most_samples)

    def reports(self, name: str, config: Config) -> list[Report]:
        """Return the table of one experiment and its figures.

        Calls of oracles are counted where there is one problem a run; projections are compared where there are several
        runs; segments are shown where the experiment has an image. Series of sizes are of made data: their samples are
        not shown, and calls not counted. Redrawn partitions have no figures, only means.
        """
        experiment, registry = config["experiments"][name], load_registry()
        has_picture = any(one in registry and is_picture(registry[one]) for one in experiment["datasets"])
        shown = {
            "scatter": not is_scaling(name),
            "cost_against_calls": experiment["paradigm"] == Paradigm.SUPERVISED and not is_scaling(name),
            "loadings": runs_of(experiment) > 1,
            "segmentation": has_picture and experiment["paradigm"] == Paradigm.ALTERNATIVE,
        }
        figures = [kind(f"{name}_{kind.keywords['kind']}", (name,)) for kind in _FIGURES]
        figures = [] if is_redrawn(experiment) else [figure for figure in figures if shown.get(figure.kind, True)]
        table = _TABLE(name, (name, *_redrawn_beside(name, config)), figures=tuple(one.name for one in figures[:1]))
        targets = _FIGURE_1B_TARGET if is_scaling(name) else ()
        return [replace(report, targets=targets) for report in (table, *figures)]

    def joint_reports(self, names: Sequence[str], config: Config) -> list[Report]:
        """Return the tables and figures that compare methods over experiments, and those of time against size.

        Redrawn partitions compare no methods: each of their folds would count many times.
        """
        compared = tuple(name for name in names if not is_redrawn(config["experiments"][name]))
        sizes = tuple(filter(is_scaling, names))
        reports = [_TESTS("paired_tests", compared), _COMPLEXITY("complexity", sizes, targets=("ismplus_table4",))]
        reports += [
            _PROFILE(PROFILE, compared, targets=(PROFILE,)),
            _SCALING("scaling", sizes, targets=_FIGURE_1B_TARGET),
        ]
        reports.append(_FIGURE_1B(FIGURE_1B, sizes, targets=_FIGURE_1B_TARGET))
        return [report for report in reports if report.experiments]


def _redrawn_beside(name: str, config: Config) -> list[str]:
    """Return the other experiments that redraw the folds of one whose numbers are compared with published ones."""
    experiments = config["experiments"]
    if "table" not in experiments[name].get("published", {}) or split_of(experiments[name]) is not Split.FOLDS:
        return []
    others = [other for other in config["run"] if other != name and system_name(experiments[other]) == DEFAULT]
    return [other for other in others if is_redrawn(experiments[other])]


def shared_definition(experiment: Config, entry: DatasetEntry) -> dict[str, Any]:
    """Return what the definitions of all cells of a data set share."""
    return {
        "paradigm": experiment["paradigm"],
        "parameters": parameters_of(experiment, entry),
        "labellings": labellings_of(experiment, entry.name),
        "n_components": experiment["components"][entry.name],
        **asdict(sampling_of(experiment, entry.name)),
        "shown": experiment.get("shown"),
    }


def solver_part(
    experiment: Config, config: Config, kernel: str, solver: str, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the configuration says of a solver with a kernel."""
    definition, kernel_definition = config["solvers"][solver], dict(config["kernels"][kernel])
    method = method_of(definition)
    part = {
        "kind": str(Kind.SOLVER),
        "kernel": kernel_definition,
        "method": method,
        "start": definition.get("start", experiment["start"]),
        "evaluation": dict(experiment.get("evaluation", {})),
        "starts": definition.get("starts", 1),
    }
    if definition.get("rounds") == "converged" and experiment["paradigm"] != Paradigm.SUPERVISED:
        # The alternation goes on until it is stationary to the solver's own tolerance.
        tolerance = getattr(build_solver(method), "tolerance", None)
        part["parameters"] = {**parameters, "rule": "joint", "tolerance": tolerance, "max_rounds": None}
    return part


def _cell(entry: DatasetEntry, names: tuple[str, ...], definition: dict[str, Any]) -> Cell:
    return Cell(
        entry.name,
        names,
        definition,
        n_runs=definition["n_folds"] * definition["partitions"],
        run_s=estimated_seconds(definition, entry),
        components=(
            *components_of(definition, definition["n_rows"] or entry.n_samples),
            *(["start/portfolio"] if may_draw_starts(definition, entry.n_features) else []),
        ),
        plugins=plugins_of(definition),
    )


def components_of(definition: Mapping[str, Any], n_samples: int) -> tuple[str, ...]:
    """Return the components of a cell's definition and a number of samples."""
    method = definition["method"]["method"]
    shared = (f"splits/{definition['split']}", "referee/ikdr")
    if definition["kind"] == Kind.BASELINE:
        return *shared, *([f"baseline/{method}"] if method in BASELINES else [])
    families = list(_families(definition["kernel"]))
    solver = [f"solver/{method}"] if method in METHODS else []
    kernels = [f"kernel/{family}" for family in families if family in FAMILIES]
    evaluators = [f"evaluation/{name}" for name in _evaluators(definition, families, n_samples)]
    paradigm = [f"paradigm/{definition['paradigm']}", f"start/{definition['start']}"]
    if definition["paradigm"] != Paradigm.SUPERVISED:
        paradigm.append(f"rounds/{definition['parameters'].get('rule', 'published')}")
    return *shared, *solver, *kernels, *evaluators, *paradigm


def may_draw_starts(definition: Mapping[str, Any], n_features: int) -> bool:
    """Return whether the solver of a cell may draw further starts (:mod:`kdrbench.solvers.portfolio`)."""
    method = definition["method"]
    if (
        method["method"] != "ism_safeguarded"
        or definition["paradigm"] != Paradigm.SUPERVISED
        or definition["starts"] > 1
    ):
        return False
    if (asked := method.get("portfolio")) is not None:
        return bool(asked > 1)
    families, q = set(_families(definition["kernel"])), definition["n_components"]
    # A number that each run finds may be the one with the largest tangent space.
    q = q if isinstance(q, int) else n_features // 2
    return (n_features - q) * q > QUASI_NEWTON_DIMENSION and bool(families & {"polynomial"} or families - set(FAMILIES))


def plugins_of(definition: Mapping[str, Any]) -> dict[str, str]:
    """Return by component the modules of methods and kernels that are not registered."""
    own, method = {}, definition["method"]["method"]
    if definition["kind"] == Kind.BASELINE:
        if method not in BASELINES:
            own[f"baseline/{method}"] = type(build_baseline(definition["method"])).__module__
    elif method not in METHODS:
        own[f"solver/{method}"] = type(build_solver(definition["method"])).__module__
    return own | {f"kernel/{family}": module for family, module in own_modules(definition["kernel"]).items()}


def _families(kernel: Mapping[str, Any]) -> Iterator[str]:
    yield str(kernel["family"])
    for member in kernel.get("members", ()):
        yield from _families(member)


def _evaluators(definition: Mapping[str, Any], families: list[str], n_samples: int) -> set[str]:
    evaluation, q = definition["evaluation"], definition["n_components"]
    asked = evaluation.get("evaluator", "auto")
    names = {asked}
    if asked == "auto":
        names = {*_GENERAL, *(["factored"] if set(families) & set(_FACTORED) else [])}
        names |= {"autograd"} if set(families) - set(FAMILIES) else set()
    if asked == "auto" and families == ["gaussian"] and n_samples >= SUMS_SAMPLES:
        names.add("class_sums")
    few_components = not isinstance(q, int) or q <= GRID_COMPONENTS
    if asked == "auto" and n_samples >= GRID_SAMPLES and few_components and _may_be_on_grids(families):
        names.add("grid")
    if evaluation.get("tolerance") and "gaussian" in families:
        names.add("low_rank")
    return names | ({"dask"} if "scheduler" in evaluation else set())


def _may_be_on_grids(families: list[str]) -> bool:
    return families not in _NOT_ON_GRIDS and not set(families) & _NOT_OF_DIFFERENCES
