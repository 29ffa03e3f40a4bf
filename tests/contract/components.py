"""The components there are, by kind and registered name."""

from kdrbench.baselines import BASELINES
from kdrbench.evaluation import EVALUATORS
from kdrbench.kernels.registry import FAMILIES
from kdrbench.lowrank import DIVERGENCES
from kdrbench.lowrank import SOLVERS as PROJECTIONS
from kdrbench.metric_learning import LEARNERS
from kdrbench.paradigms.task import PARADIGMS
from kdrbench.reduction.methods import METHODS
from kdrbench.solvers.registry import CONTROLS, SOLVERS, STARTS

_BY_KIND = {
    "solver": (*SOLVERS, *CONTROLS),
    "kernel": FAMILIES,
    "evaluation": (*(name for name in EVALUATORS if name != "auto"), "dask"),
    "paradigm": PARADIGMS.values,
    "start": STARTS,
    "baseline": BASELINES,
    "learner": LEARNERS,
    "divergence": DIVERGENCES,
    "projection": PROJECTIONS,
    "reducer": METHODS,
    "figure": (2, 3, 4, 5),
    "splits": ("folds", "none", "subsets", "kpca_trick", "league", "low_rank"),
    "rounds": ("published", "joint"),
    "selection": ("plain", "cross_validated", "aligned"),
    "boosting": ("definite_boost",),
    "referee": ("ikdr", "kpca_trick", "low_rank"),
    "judge": ("league",),
    "atlas": ("starts",),
    "noise": ("permutation",),
}
COMPONENTS = {f"{kind}/{name}" for kind, names in _BY_KIND.items() for name in names}
