"""Names as tables and figures print them: data sets, kernels, methods with their variants, metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kdrbench.datasets.registry import load_registry
from kdrbench.suite.reports.declared import declared
from kdrbench.suite.reports.records import REFERENCE, Config
from kdrbench.suite.reports.tables import numbers
from kdrbench.suite.systems.ikdr.config import Settings, settings_of
from kdrbench.suite.systems.kpca_trick.system import VARIANTS

Format = Callable[[float, float | None], str]

CONVERGED = "converged"
# Suffixes of names: how a method is run that has a published variant too.
_VARIANTS = (CONVERGED, "escaping")
# What is said behind a method of a reference.
OF_REFERENCE = ", reference"
# What a cell shows that no run could fill.
NO_CELL = "-"
# What every time is that a report shows, and the only other one, which tables and details of runs show beside it.
FIRST_SOLVE, WARM_MEDIAN = "first solve", "warm median"
# Of axes.
SOLVER_TIME = f"time, {FIRST_SOLVE}"
# Printed with every table and figure of times.
TIMES_MEAN: str = declared("words")["times"]


@dataclass(frozen=True)
class Measure:
    """A measured number as tables print it: its title, how it is written, what it is, and which is the best."""

    title: str
    shown: Format
    words: str = ""
    highest_is_best: bool = False


_NAMES = declared("names")
MEASURES = {
    name: Measure(**{**measure, "shown": getattr(numbers, measure["shown"])})
    for name, measure in _NAMES["measures"].items()
}
METRIC_TITLES = {name: measure.title for name, measure in MEASURES.items()} | {"train_accuracy": "Training accuracy"}
DEFINITIONS = {name: measure.words for name, measure in MEASURES.items()}
FORMATS = {name: measure.shown for name, measure in MEASURES.items()}
# Before the first underscore of a solver's name.
_SOLVERS = frozenset({"cg", "dg", "gm", "ism", "lbfgs", "scipy", "sm"})
# Baselines, learners in each variant, methods of reduction that are called by capitals, and the control; users' names
# are their own.
_ABBREVIATIONS = frozenset({"lda", "lfda", "pca", "save", "sir", "svm"}) | {
    f"{prefix}{learner}" for prefix in VARIANTS.values() for learner in ("dne", "lmnn", "nca")
}


def dataset_label(name: str) -> str:
    """Return the data set's name as tables and figures print it; one that is not registered has its name alone."""
    return load_registry()[name].label if name in load_registry() else name


def kernel_label(name: str) -> str:
    """Return the kernel's name as tables and figures print it; methods without one are baselines.

    A combination is named by its members. Other names with an underscore are a user's own.
    """
    if "_" in name and not set(name.split("_")) <= set(_NAMES["looks"]["kernels"]):
        return str(_NAMES["kernels"].get(name, name))
    return _NAMES["kernels"].get(name) or name.capitalize().replace("_", " + ")


def method_label(name: str) -> str:
    """Return a solver's or baseline's name as tables and figures print it: ``dg_converged`` is "DG, converged"."""
    if name.endswith(REFERENCE):
        return f"{method_label(name.removesuffix(REFERENCE))}{OF_REFERENCE}"
    label, stem = method_alone(name), stem_of(name)
    return label if stem == name else f"{label}, {name.removeprefix(stem)[1:]}"


def method_in_text(name: str) -> str:
    """Return the same without a comma, for sentences and lists: ``dg_converged`` is "DG (converged)"."""
    return label_in_text(method_label(name))


def label_in_text(label: str) -> str:
    """Return a label with what follows its first comma in parentheses."""
    name, _, variant = label.partition(", ")
    return f"{name} ({variant})" if variant else name


def labels_of_variants(names: Iterable[str], config: Config) -> dict[str, str]:
    """Return the labels of methods, "ISM, as published" where the configuration has "ISM, converged" too."""
    settings = settings_of(config)
    published = {stem_of(name) for name in settings if is_converged(name)}
    published = {name for name in published if settings.get(name) is Settings.PUBLISHED}
    return {name: method_label(name) + (", as published" if name in published else "") for name in names}


def abbreviations_in(*texts: str) -> str:
    """Return what the abbreviations of solvers that occur in texts stand for, as "DG: Dimension Growth"; or nothing."""
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    known = [f"{short}: {name}" for short, name in _NAMES["abbreviations"].items() if short in words]
    return f"{'; '.join(known)}." if known else ""


def method_alone(name: str) -> str:
    """Return the name of the method without its variant; what is no abbreviation that is known is printed as it is."""
    method = stem_of(name)
    abbreviated = method in _ABBREVIATIONS or method.partition("_")[0] in _SOLVERS
    return _NAMES["methods"].get(method) or (method.upper().replace("_", " ") if abbreviated else method)


def stem_of(name: str) -> str:
    """Return the name without its variant: ``dg`` of ``dg_converged`` and of ``dg_escaping``."""
    name = name.removesuffix(REFERENCE)
    return next((name.removesuffix(f"_{one}") for one in _VARIANTS if name.endswith(f"_{one}")), name)


def low_rank_label(method: str) -> str:
    """Return the name of a method of low-rank kernel learning."""
    return str(_NAMES["low_rank"].get(method, method))


def learner_name(learner: str, variant: str) -> str:
    """Return ``klmnn`` for LMNN by cross validation, as the published numbers say."""
    return VARIANTS[variant] + learner


def is_converged(name: str) -> bool:
    """Return whether the name is that of a converged variant, one that leaves saddles included."""
    return stem_of(name) != name.removesuffix(REFERENCE)


def by_method(methods: list[str]) -> list[str]:
    """Return the methods with their variants side by side."""
    alone = list(dict.fromkeys(map(method_alone, methods)))
    return sorted(methods, key=lambda name: (alone.index(method_alone(name)), is_converged(name)))
