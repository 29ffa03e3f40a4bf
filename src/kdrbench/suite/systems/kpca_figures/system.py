"""Figures 2 to 5 of the KPCA trick as a system of the benchmark: cells are data sets, runs are draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kdrbench.datasets import Dataset
from kdrbench.datasets.own import registry_of
from kdrbench.metric_learning import LEARNERS
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.system import DATA, FINDINGS, Cell, Config, Report, System
from kdrbench.suite.systems.kpca_figures.run import VARIED, keys_of
from kdrbench.suite.systems.kpca_trick.system import faults_of_training, value_for
from kdrbench.suite.systems.schemas import DEFAULT, by_dataset, integer, list_of, report, unknown_names

# Seconds of one row, over n^3.
_ROW_S = 1e-8
# The data sets of Figure 2, whose first samples are as random as the others.
MADE_SETS = ("cone", "disc-and-ring")
LEADING, PLANES, SETTINGS, ALL_SETTINGS = 2, 3, 4, 5
# The keys that only some figures have: the figures that need each.
_BOTH = (SETTINGS, ALL_SETTINGS)
_NEEDED = {"learners": (LEADING,), "training": (LEADING, PLANES), "draws": _BOTH} | dict.fromkeys(VARIED, _BOTH)


SCHEMA: Config = {
    "required": ["figure", "datasets"],
    "properties": {
        "figure": {"enum": [LEADING, PLANES, SETTINGS, ALL_SETTINGS], "description": "its number in the paper"},
        "learners": list_of({"enum": sorted(LEARNERS)}, "of Figure 2"),
        "training": by_dataset(integer(2), "number of training samples, by data set, of Figures 2 and 3"),
        "degrees": list_of(integer(), "degrees of the polynomials (x'y + 1)^p, of Figures 4 and 5"),
        "sizes": list_of(integer(2), "numbers of training samples, of Figures 4 and 5; the most where another varies"),
        "neighbours": list_of(integer(), "numbers of neighbours, of Figures 4 and 5"),
        "draws": integer(1, "random draws of each setting, of Figures 4 and 5"),
    },
}
# The second and the third figure show arrays, the third also the names of classes.
_NEEDS = {2: (FINDINGS,), 3: (FINDINGS, DATA)}
_FIGURE = report("kpca_figure", "KPCA trick", "kpca_figures.figures:chart_of", is_figure=True)


@dataclass(frozen=True, kw_only=True)
class KPCAFiguresRecord(Record):
    """One way to map samples, in one setting of a draw, which is a run; ``None`` where it left no such number.

    ``varied`` says what the setting varies: degree, n, k or sigma, with its ``value``. ``series`` names the curve that
    the row belongs to: the learner in Figure 2, else ``kpca`` for the KPCA trick, and ``kernel`` or ``qz`` for the
    kernel trick. ``method`` says how it was solved: ``kernel`` is ``exact``, or has a ``ridge`` where K is singular.
    ``accuracy`` is that of 1-NN. ``condition`` is that of K, ``disagreement`` the largest difference of learned squared
    distances between this trick and the KPCA trick, over the largest distance. ``k`` counts neighbours, ``n_train`` the
    training samples without repetitions.
    """

    KEYS: ClassVar[tuple[str, ...]] = ("varied", "value", "series")

    figure: int
    varied: str
    value: float
    series: str
    method: str = ""
    accuracy: float | None = None
    condition: float | None = None
    disagreement: float | None = None
    k: int | None = None
    n_train: int | None = None
    n_test: int | None = None


class KPCAFiguresSystem(System):
    """What Figures 2 to 5 of the KPCA trick show, a row for each of their points.

    Source: Chatpatanasiri et al., Neurocomputing 73, 2010.
    """

    record = KPCAFiguresRecord
    schema = SCHEMA
    papers: ClassVar = {"kpca_trick": "kpca"}
    runner = "kdrbench.suite.systems.kpca_figures.run:run_figure"

    def faults(self, experiment: Config, config: Config) -> Iterator[str]:
        """Yield the faults of an experiment."""
        registry, figure = registry_of(config), experiment["figure"]
        sizes = "sizes" if "sizes" in experiment else "training"
        for key, figures in _NEEDED.items():
            if (key in experiment) != (figure in figures):
                uses = "does not use" if key in experiment else "needs"
                yield f"figure is {figure}, which {uses} the key {key!r}"
        if figure == LEADING:
            yield from unknown_names("datasets", "data set of Figure 2", experiment["datasets"], MADE_SETS)
        yield from unknown_names("training", "data set", experiment.get("training", ()), [DEFAULT, *registry])
        for dataset in experiment["datasets"]:
            yield from faults_of_training(registry[dataset], training_of(experiment, dataset), sizes)

    def reports(self, name: str, config: Config) -> list[Report]:
        """Return the figure of an experiment."""
        number = config["experiments"][name]["figure"]
        return [_FIGURE(name, (name,), needs=_NEEDS.get(number, ()), targets=(f"kpca_figure{number}",))]

    def expand(self, name: str, config: Config) -> Iterator[Cell]:
        """Yield a cell for each data set."""
        experiment, registry = config["experiments"][name], registry_of(config)
        for dataset in experiment["datasets"]:
            definition: dict[str, Any] = {"figure": experiment["figure"]}
            definition |= {key: list(experiment[key]) for key in ("learners", *VARIED) if key in experiment}
            learners = [f"learner/{learner}" for learner in definition.get("learners", ())]
            n_train = training_of(experiment, dataset)
            if "training" in experiment:
                definition["n_train"] = n_train
            rows = keys_of(definition, registry[dataset].n_features)
            yield Cell(
                dataset=dataset,
                names=(),
                definition=definition,
                n_runs=experiment.get("draws", 1),
                run_s=_ROW_S * len(rows) * n_train**3,
                components=(f"figure/{experiment['figure']}", *learners),
                rows=tuple(rows),
            )

    def describe(self, batch: Batch, dataset: Dataset, number: int) -> Mapping[str, Any]:
        """Return the number of the figure."""
        return {"figure": batch.definition["figure"]}


def training_of(experiment: Config, dataset: str) -> int:
    """Return the number of training samples of a data set, the most of them where they vary."""
    if "sizes" in experiment:
        return int(max(experiment["sizes"]))
    return int(value_for(experiment["training"], dataset))
