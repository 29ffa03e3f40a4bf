"""Canaries of whole runs of each system: samples, problem, method and referee, in this process."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from contract.canary import Canary, bundled, canary
from kdrbench.datasets import Dataset
from kdrbench.datasets.dataset import Labelling
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.isolation.limits import Limits, Pauses
from kdrbench.suite.engine.referee import Referee
from kdrbench.suite.engine.run_files import RunFiles
from kdrbench.suite.engine.system import RunContext
from kdrbench.suite.systems import build_system

LIMITS = Limits(time_s=3600.0, memory_mib=1024)
# Times, and what is rounding alone or is in words of how the problem was evaluated.
LEFT_OUT = ("_s", "evaluation", "feasibility", "problem", "compiled_sweeps", "dual_change", "message")
# Zero, beside numbers of this size: a gradient at an optimum, a violation, a gap.
REST = 1e-5


def results_of(
    system: str, dataset: Dataset, definition: Mapping[str, Any], number: int = 0, rows: Any = ((),)
) -> dict[str, Any]:
    """Return what run ``number`` of a batch leaves, by column and key."""
    batch = Batch(system, "contract", dataset.name, "", (), dict(definition), (number,), rows, 0, 1)
    with TemporaryDirectory() as folder:
        system, referee = build_system(system), Referee(LIMITS, 0.0, Pauses(), RunFiles(Path(folder)))
        run = system.prepare(batch, dataset, RunContext(LIMITS))(number)
        results = {result.key: result for result in run.run(referee)}
        if hasattr(run, "judged"):
            results = run.judged(referee.files, results)
        shared = {**system.describe(batch, dataset, number), **run.score(referee.files)}
    found: dict[str, Any] = {}
    for key, result in results.items():
        if result.status == "failed":
            raise RuntimeError(f"{system} {key}: {result.message}")
        columns = {**shared, **result.columns, "status": str(result.status)}
        words = " ".join(map(str, key))
        kept = {
            name: value for name, value in columns.items() if not name.endswith(LEFT_OUT) and value not in (None, "")
        }
        found |= {f"{words} {name}".strip(): _rested(value) for name, value in kept.items()}
    return found


def _rested(value: Any) -> Any:
    return 0.0 if isinstance(value, float) and abs(value) < REST else value


# Folds, rows and partitions of each kind of split.
SAMPLING = {"folds": (3, None, 2), "none": (1, None, 1), "subsets": (2, 45, 1)}


def defined(split: str = "folds", **changes: Any) -> dict[str, Any]:
    """Return the definition of a cell of interpretable kernel dimension reduction, with these changes."""
    usual: dict[str, Any] = {"kind": "solver", "paradigm": "supervised", "parameters": {}, "labellings": {}}
    usual |= {"n_components": 2, "shown": None, "kernel": {"family": "gaussian"}, "method": {"method": "ism"}}
    usual |= dict(zip(("n_folds", "n_rows", "partitions"), SAMPLING[split], strict=True))
    usual |= {"split": split, "stratified": True, "scaling": "training"}
    return usual | {"start": "surrogate", "evaluation": {}, "starts": 1} | changes


def ikdr(number: int = 0, **asked: Any) -> dict[str, Any]:
    """Return the results of a run of such a cell."""
    return results_of("ikdr", _labelled("wine"), defined(**asked), number)


@cache
def _labelled(data: str) -> Dataset:
    """Return a bundled set with a second labelling, by the median of a feature."""
    dataset = bundled(data)
    codes = (dataset.features[:, 1] > np.median(dataset.features[:, 1])).astype(np.int64)
    return replace(dataset, labellings=(Labelling("halves", codes, ("low", "high")),))


def _solver(name: str, components: str = "paradigm/supervised", **asked: Any) -> Canary:
    cell = defined(**{name: value for name, value in asked.items() if name != "number"})
    parts = {"solver": cell["method"]["method"], "evaluation": cell["evaluation"].get("evaluator", "dense")}
    parts |= {"kernel": cell["kernel"]["family"], "start": cell["start"], "splits": cell["split"]}
    named = " ".join(f"{kind}/{part}" for kind, part in parts.items())
    return canary(f"ikdr {name}", f"referee/ikdr {named} {components}", ikdr, **asked)


def _clustering(paradigm: str, rounds: str, **asked: Any) -> Canary:
    """Return a canary of a paradigm of clustering: the papers' rounds, or some towards a joint optimum."""
    joint = {"rule": "joint", "tolerance": 1e-6, "max_rounds": 3} if rounds == "joint" else {"max_rounds": 4}
    parameters = {**joint, **asked.pop("parameters", {"n_clusters": 3})}
    method = {"method": "ism", "max_iterations": 8}
    options = {"split": "none", "paradigm": paradigm, "parameters": parameters, "method": method, **asked}
    first = "scaled" if parameters.get("first") == "scaled" else None
    varied = (asked.get("kernel"), asked.get("evaluation"), first and {"first": first})
    words = " ".join((paradigm, rounds, *(str(*part.values()) for part in varied if part)))
    return _solver(words, f"paradigm/{paradigm} rounds/{rounds}", **options)


def _baseline(name: str, paradigm: str, split: str) -> Canary:
    shown = 0.2 if paradigm == "semi_supervised" else None
    parameters = {} if paradigm == "supervised" else {"n_clusters": 3}
    asked = {"kind": "baseline", "kernel": {}, "start": "", "shown": shown, "parameters": parameters}
    asked |= {"method": {"method": name}, "paradigm": paradigm, "split": split}
    components = f"baseline/{name} splits/{split} referee/ikdr paradigm/{paradigm}"
    return canary(f"ikdr {name}", components, ikdr, **asked)


def _tricks(learner: str) -> dict[str, Any]:
    variants = ("plain", "cross_validated", "aligned", "centred")
    definition = {"learners": [learner], "variants": list(variants), "candidates": {"sigmas": [0.3, 1.0, 10.0]}}
    definition |= {"n_train": 40, "n_folds": 3, "test_selected": True}
    return results_of("kpca_trick", bundled("iris"), definition, rows=tuple((learner, variant) for variant in variants))


def _figure(number: int) -> dict[str, Any]:
    definition: dict[str, Any] = {"figure": number}
    if number == 2:
        definition |= {"learners": ["dne"], "n_train": 40}
    elif number == 3:
        definition |= {"n_train": 40}
    else:
        definition |= {"degrees": [2], "sizes": [25], "neighbours": [2]}
    return {
        name: value for name, value in results_of("kpca_figures", bundled("wine"), definition).items() if _is_sure(name)
    }


def _is_sure(name: str) -> bool:
    """Return whether a number of the kernel trick can be compared: those of a singular matrix are rounding."""
    return not name.endswith(("disagreement", "condition")) and " qz " not in name


def _low_rank(**method: Any) -> dict[str, Any]:
    definition = {"method": {**method, "max_sweeps": 4}, "constraints": [0, 15], "draw": "iris", "kind": "features"}
    return results_of("low_rank", bundled("iris", 45), definition, rows=((0,), (15,)))


def _gram_target(**method: Any) -> dict[str, Any]:
    """Return the same for the rows of a kernel matrix, which is to be found again."""
    data = bundled("iris", 45)
    gram = data.features @ data.features.T + 0.1 * np.eye(len(data.labels))
    definition = {"method": {**method, "max_sweeps": 4}, "constraints": [20], "draw": "gram", "kind": "kernel"}
    found = results_of("low_rank", replace(data, features=gram), definition, rows=((20,),))
    # From the identity all samples are alike: which are nearest hangs on rounding.
    return {name: value for name, value in found.items() if "nmi" not in name and not name.endswith("20 accuracy")}


def _league(method: str, rules: str) -> dict[str, Any]:
    definition = {"method": method, "rules": rules, "folds": 3, "most_rows": 45}
    return results_of("league", bundled("wine"), definition, 4, rows=((2,),))


def _noise() -> dict[str, Any]:
    return results_of("noise", bundled("iris", 45), {"method": "lda", "components": 1, "permutations": 9})


def _atlas() -> dict[str, Any]:
    definition = {"solvers": {"ism": defined(kernel={"family": "linear"})}, "starts": 3, "n_problems": 3}
    return results_of("atlas", bundled("wine"), definition, 1, rows=(("ism",),))


def _constrained(name: str, component: str, function: Callable[..., Any], rule: str) -> Canary:
    boosted = name == "definite_boost"
    method = {"step": "symmetric"} if boosted else {"divergence": name, "solver": "cyclic"}
    components = f"{component} splits/low_rank referee/low_rank" + ("" if boosted else f" divergence/{name}")
    return canary(f"low_rank {name}", components, function, **method, rule=rule)


_TRICKS = "selection/plain selection/cross_validated selection/aligned splits/kpca_trick referee/kpca_trick"
CANARIES = [
    _solver("supervised"),
    _solver("supervised, second partition", number=4),
    _solver("supervised, polynomial", kernel={"family": "polynomial"}),
    _solver("supervised, not stratified", stratified=False, scaling="own"),
    _solver("supervised, integers", parameters={"labels": "integers"}, split="none"),
    _solver("supervised, subset", split="subsets", number=1),
    _solver("supervised, eigengap", split="none", n_components="eigengap"),
    _solver("supervised, random start", start="random", starts=2),
    _solver("supervised, first axes", start="identity", method={"method": "start_alone"}),
    _clustering("unsupervised", "published"),
    _clustering("unsupervised", "joint"),
    _clustering("unsupervised", "published", parameters={"n_clusters": 3, "centred": False, "first": "scaled"}),
    _clustering(
        "unsupervised", "published", parameters={"n_clusters": 3, "centred": False}, evaluation={"evaluator": "panels"}
    ),
    _clustering("unsupervised", "published", kernel={"family": "polynomial"}),
    _clustering("semi_supervised", "published", shown=0.2),
    _clustering("semi_supervised", "joint", shown=1),
    _clustering("alternative", "published", parameters={}, labellings={"given": "classes", "sought": "halves"}),
    _clustering("alternative", "joint", parameters={}, labellings={"given": "halves", "sought": "classes"}),
    *(_baseline(name, "supervised", "folds") for name in ("svm", "lda")),
    _baseline("spectral_clustering", "unsupervised", "none"),
    _baseline("label_spreading", "semi_supervised", "none"),
    *(canary(f"kpca_trick {learner}", f"learner/{learner} {_TRICKS}", _tricks, learner) for learner in ("dne", "lmnn")),
    *(canary(f"kpca_figures {number}", f"figure/{number} learner/dne", _figure, number) for number in (2, 3, 4, 5)),
    *(_constrained(name, "projection/cyclic", _low_rank, "published") for name in ("burg", "von_neumann")),
    _constrained("definite_boost", "boosting/definite_boost", _gram_target, "kkt"),
    *(
        canary(f"league {method} {rules}", f"reducer/{method} splits/league judge/league", _league, method, rules)
        for method, rules in (("lda", "tuned"), ("kdr_gaussian", "default"))
    ),
    canary("noise lda", "noise/permutation reducer/lda", _noise),
    canary("atlas linear", "atlas/starts solver/ism kernel/linear start/random start/surrogate splits/folds", _atlas),
]
