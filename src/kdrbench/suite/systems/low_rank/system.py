"""Low-rank kernel learning as a system of the benchmark: cells are methods, runs draws of constraints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kdrbench.datasets import Dataset
from kdrbench.datasets.own import registry_of
from kdrbench.datasets.registry import DatasetEntry
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.run import Run
from kdrbench.suite.engine.system import Cell, Config, Report, RunContext, System
from kdrbench.suite.systems.low_rank.run import MOST_SWEEPS, warmed_up
from kdrbench.suite.systems.schemas import NAME, NAMES, described, integer, list_of, report, unknown_names

# Seconds of scoring one kernel, and of a projection beside its arithmetic.
_SCORING_S, _CALL_S = 0.05, 3e-5
METHODS = "low_rank_methods"

SCHEMA: Config = {
    "required": ["datasets", "constraints", "methods", "runs"],
    "properties": {
        "constraints": list_of(integer(0), "numbers of constraints; 0 judges the kernel as it is"),
        "methods": described(NAMES, f"of those that {METHODS} defines"),
        "runs": integer(1, "draws of the constraints"),
        "sample": integer(2, "samples that each run draws of data with features; all of them by default"),
        "draw": described(NAME, "name that seeds the draws, the same for the same draws; by default the data set's"),
    },
}
_METHOD = {
    "type": "object",
    "additionalProperties": False,
    "required": ["rule"],
    "properties": {
        "divergence": {"enum": ["burg", "von_neumann"]},
        "solver": {"enum": ["cyclic", "newton"]},
        "trace": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "the trace of the kernel, a further constraint of von Neumann's divergence",
        },
        "step": {"enum": ["own_range", "symmetric", "exact"], "description": "of DefiniteBoost"},
        "rule": {
            "enum": ["published", "kkt", "converged"],
            "description": "stop when the duals come to rest, when the KKT residual is small, or when both hold",
        },
        "max_sweeps": integer(),
    },
}
SECTIONS: dict[str, Any] = {METHODS: {"type": "object", "propertyNames": NAME, "additionalProperties": _METHOD}}
_TABLE = report("low_rank", "low-rank kernels", "low_rank.tables:page")
_FIGURE = report("low_rank", "accuracy, agreement or sweeps", "low_rank.tables:chart_of", is_figure=True)
_TARGETS = ("lowrank_text",)
_TEXT = report("low_rank_text", "low-rank kernels", "low_rank.tables:text_page", targets=_TARGETS, summary="low_rank")


@dataclass(frozen=True, kw_only=True)
class LowRankRecord(Record):
    """One kernel learned from one draw of constraints, which is a run; ``None`` where it left no such number.

    ``outcome`` is how the method says that it ended (:class:`.LowRankStatus`), ``status`` is that in the words of the
    benchmark: ``stalled`` for a set recognised to have no solution. ``accuracy`` is that of 5-NN by one
    50/50 split, each half being tested once; ``nmi_one_start`` and ``nmi_ten_starts`` are those of kernel k-means from
    one start and of the best of ten. ``target_accuracy`` is that of the kernel whose distances are asked for, where
    there is one, and ``learned_rank`` the numerical rank of the factor at the end, ``rank`` that at the start.
    ``reference_distance`` is |K - K*| / |K*| for kernels of trace one, K* as Newton's method finds it. ``time_s`` and
    ``cpu_s`` count the method alone and its first (cold) work, as nothing is repeated; ``compile_s`` is what its job
    had spent before on loading machine code, or making it, and ``compiled_sweeps`` says how many sweeps were machine
    code.
    """

    SCHEMA_VERSION: ClassVar[int] = 4
    CELL: ClassVar[tuple[str, ...]] = ("method",)
    KEYS: ClassVar[tuple[str, ...]] = ("n_constraints",)

    method: str
    n_constraints: int
    outcome: str = ""
    accuracy: float | None = None
    target_accuracy: float | None = None
    nmi_one_start: float | None = None
    nmi_ten_starts: float | None = None
    sweeps: int | None = None
    projections: int | None = None
    changes: int | None = None
    trace_evaluations: int | None = None
    compiled_sweeps: int | None = None
    dual_change: float | None = None
    kkt_residual: float | None = None
    largest_violation: float | None = None
    divergence: float | None = None
    duality_gap: float | None = None
    learned_rank: int | None = None
    reference_distance: float | None = None
    compile_s: float | None = None
    n_samples: int
    rank: int


class LowRankSystem(System):
    """Every method on draws of constraints, a row for each number of them.

    Source: Kulis, Sustik, Dhillon, "Learning low-rank kernel matrices", ICML 2006, Section 6.
    """

    record = LowRankRecord
    schema = SCHEMA
    papers: ClassVar = {"lowrank2006": "lowrank"}
    imports = ("sklearn.cluster", "sklearn.metrics", "sklearn.neighbors")
    sections = SECTIONS
    runner = "kdrbench.suite.systems.low_rank.run:run_draws"

    def faults(self, experiment: Config, config: Config) -> Iterator[str]:
        """Yield the faults of an experiment."""
        registry, most = registry_of(config), max(experiment["constraints"])
        yield from unknown_names("methods", "method", experiment["methods"], config.get(METHODS, {}))
        for dataset in experiment["datasets"]:
            n = min(registry[dataset].n_samples, experiment.get("sample", math.inf))
            if "sample" in experiment and (registry[dataset].kind != "features" or n < experiment["sample"]):
                yield f"sample: data set {dataset!r} must have features, and at least {experiment['sample']} samples"
            if not registry[dataset].classes:
                yield f"datasets: data set {dataset!r} has no labels; constraints come from them"
            if most > (pairs := n * (n - 1) // 2):
                yield f"constraints asks for {most}; the {n} samples of {dataset!r} have {pairs} pairs: at most that"

    def faults_of_sections(self, config: Config) -> Iterator[str]:
        """Yield methods that are neither one of a divergence nor DefiniteBoost."""
        for name, method in config.get(METHODS, {}).items():
            by_divergence, given = "divergence" in method, ", ".join(method)
            if ("step" in method) == by_divergence or ("solver" in method) != by_divergence:
                either = "either divergence and solver, or the step of DefiniteBoost"
                yield f"{METHODS}.{name} must hold {either}; it holds {given}"
            if "trace" in method and method.get("divergence") != "von_neumann":
                yield f"{METHODS}.{name}.trace is a constraint of von_neumann; leave it out, or choose that divergence"

    def reports(self, name: str, config: Config) -> list[Report]:
        """Return the table of an experiment, and its figure where there are several numbers of constraints."""
        if len(config["experiments"][name]["constraints"]) == 1:
            return [_TABLE(name, (name,))]
        return [_TABLE(name, (name,), figures=(name,)), _FIGURE(name, (name,))]

    def joint_reports(self, names: Sequence[str], config: Config) -> list[Report]:
        """Return the table of the numbers in the paper's text."""
        papers = tuple(name for name in names if self.reproduces(config["experiments"][name]))
        return [_TEXT("low_rank_text", papers)] if papers else []

    def expand(self, name: str, config: Config) -> Iterator[Cell]:
        """Yield a cell for each data set and method."""
        experiment, registry = config["experiments"][name], registry_of(config)
        counts = tuple(experiment["constraints"])
        sample = {"sample": experiment["sample"]} if "sample" in experiment else {}
        for dataset in experiment["datasets"]:
            for name_of_method in experiment["methods"]:
                method = dict(config[METHODS][name_of_method])
                learner = ["boosting/definite_boost"]
                if "divergence" in method:
                    learner = [f"divergence/{method['divergence']}", f"projection/{method['solver']}"]
                yield Cell(
                    dataset=dataset,
                    names=(name_of_method,),
                    definition={
                        "method": method,
                        "constraints": list(counts),
                        "draw": experiment.get("draw", dataset),
                        "kind": registry[dataset].kind,
                        **sample,
                    },
                    n_runs=experiment["runs"],
                    run_s=_seconds_of_a_run(method, counts, registry[dataset]),
                    components=("splits/low_rank", "referee/low_rank", *learner),
                    rows=tuple((count,) for count in counts),
                )

    def prepare(self, batch: Batch, dataset: Dataset, context: RunContext) -> Callable[[int], Run]:
        """Load machine code, or make it: the runs inherit it."""
        warmed_up()
        return super().prepare(batch, dataset, context)

    def describe(self, batch: Batch, dataset: Dataset, number: int) -> Mapping[str, Any]:
        """Return the size of the kernel and its rank at the start."""
        n_samples, n_columns = dataset.features.shape
        return {"n_samples": batch.definition.get("sample", n_samples), "rank": n_columns}


def _seconds_of_a_run(method: Mapping[str, Any], counts: tuple[int, ...], entry: DatasetEntry) -> float:
    """Return about how long a run takes: sweeps of projections, each of r^2 (Burg) or r^3 operations, and scoring."""
    rank = entry.n_features
    projection_s = 3e-9 * rank**2 if method.get("divergence") == "burg" else 1e-10 * rank**3
    # DefiniteBoost often uses a good part of its sweeps up.
    sweeps = method.get("max_sweeps", MOST_SWEEPS) / 2 if "step" in method else 10
    return float(_SCORING_S * len(counts) + sweeps * sum(counts) * (_CALL_S + projection_s))
