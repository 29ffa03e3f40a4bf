"""The components there are, the module in which each begins, and which of them reach a function's module."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from contract.reached import ROOT
from kdrbench.baselines import BASELINES
from kdrbench.evaluation import EVALUATORS
from kdrbench.kernels.registry import FAMILIES
from kdrbench.lowrank import DIVERGENCES
from kdrbench.lowrank import SOLVERS as PROJECTIONS
from kdrbench.metric_learning import LEARNERS
from kdrbench.paradigms.task import PARADIGMS
from kdrbench.reduction.methods import METHODS as REDUCERS
from kdrbench.solvers.registry import METHODS, STARTS
from support.selection import reached_by

_SYSTEMS = "kdrbench.suite.systems"
_EVALUATION_FILES = {
    "class_sums": "gaussian_sums",
    "pairwise_sum": "pairs",
    "autograd": "on_request",
    "monomial_sums": "streaming",
}


def modules() -> dict[str, str]:
    """Return each component's own module."""
    named = {
        **{f"solver/{name}": place.partition(":")[0] for name, place in METHODS.items()},
        **{f"kernel/{name}": "kdrbench.kernels.registry" for name in FAMILIES},
        **{
            f"evaluation/{name}": f"kdrbench.evaluation.{_EVALUATION_FILES.get(name, name)}"
            for name in EVALUATORS
            if name != "auto"
        },
        **{f"paradigm/{name}": "kdrbench.paradigms.task" for name in PARADIGMS.values},
        **{f"start/{name}": "kdrbench.solvers.registry" for name in STARTS},
        **{f"baseline/{name}": place.partition(":")[0] for name, place in BASELINES.items()},
        **{f"learner/{name}": place.partition(":")[0] for name, place in LEARNERS.items()},
        **{f"divergence/{name}": f"kdrbench.lowrank.{name}" for name in DIVERGENCES},
        **{f"projection/{name}": "kdrbench.lowrank.learn" for name in PROJECTIONS},
        **{f"reducer/{name}": "kdrbench.reduction.methods" for name in REDUCERS},
        **{f"figure/{number}": f"{_SYSTEMS}.kpca_figures.run" for number in (2, 3, 4, 5)},
        **{f"splits/{name}": f"{_SYSTEMS}.ikdr.folds" for name in ("folds", "none", "subsets")},
        **{f"rounds/{name}": "kdrbench.paradigms.alternation" for name in ("published", "joint")},
        **{
            f"selection/{name}": "kdrbench.metric_learning.selection"
            for name in ("plain", "cross_validated", "aligned")
        },
    }
    return named | _SINGLE


_SELECTION = "kdrbench.metric_learning.selection"
_SINGLE = {
    "evaluation/dask": "kdrbench.samples.dask_engine",
    "start/portfolio": "kdrbench.solvers.portfolio",
    "boosting/definite_boost": "kdrbench.lowrank.definite_boost",
    "splits/kpca_trick": f"{_SYSTEMS}.kpca_trick.run",
    "splits/league": f"{_SYSTEMS}.league.fold_run",
    "splits/low_rank": "kdrbench.lowrank.sampling",
    "referee/ikdr": f"{_SYSTEMS}.ikdr.scores",
    "referee/kpca_trick": f"{_SYSTEMS}.kpca_trick.run",
    "referee/low_rank": f"{_SYSTEMS}.low_rank.run",
    "judge/league": "kdrbench.suite.systems.league.judges",
    "atlas/starts": f"{_SYSTEMS}.atlas.starts_run",
    "noise/permutation": f"{_SYSTEMS}.noise.system",
}


@cache
def _reaches() -> dict[str, frozenset[str]]:
    """Return the files that each component's module imports, directly or not."""
    return {name: reached_by(_file_of(module)) for name, module in modules().items()}


def _file_of(module: str) -> Path:
    spec = find_spec(module)
    return Path(spec.origin if spec and spec.origin else "")


def importers_of(function: str) -> tuple[str, ...]:
    """Return the components that reach the module of a function, those first that reach least else."""
    path = _file_of(function.partition(":")[0])
    file = str(path.relative_to(ROOT))
    found = [name for name, reached in _reaches().items() if file in reached]
    own = {name for name, module in modules().items() if function.startswith(f"{module}:")}
    return tuple(sorted(found, key=lambda name: (name not in own, len(_reaches()[name]), name)))
