"""Made-up records of the ISM papers' tables, complete unless a test says otherwise."""

from types import SimpleNamespace

import pandas as pd

from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.claims import NAMED
from support.report_rows import run

# What decides each claim, by its name in claims.toml.
claims = SimpleNamespace(**{name: claim.decide for name, claim in NAMED.items()})
_NEURIPS, _PLUS = ["wine", "cancer", "face", "mnist"], ["wine", "cancer-137", "car", "face"]
_FURTHER = ["linear", "squared", "multiquadric", "gaussian_polynomial"]
# Experiment: paper, table, setting, data sets, kernels, quality, runs of a cell.
TABLES = {
    "four": ("neurips2019", "4", "supervised", _NEURIPS, ["gaussian", "polynomial"], "accuracy", 10),
    "four_clusters": ("neurips2019", "4", "unsupervised", _NEURIPS, ["gaussian", "polynomial"], "nmi", 1),
    "five": ("neurips2019", "5", "supervised", _NEURIPS, _FURTHER, "accuracy", 10),
    "five_clusters": ("neurips2019", "5", "unsupervised", _NEURIPS, _FURTHER[:3], "nmi", 1),
    "plus_five": ("ismplus", "5", "supervised", _PLUS, ["gaussian"], "error", 1),
    "plus_six": ("ismplus", "6", "unsupervised", _PLUS, ["gaussian"], "nmi", 1),
}
BASELINES = ("svm", "lda", "pca_svm")


def _experiment(paper, table, setting, *_):
    return {"published": {"paper": paper, "table": table, "setting": setting}}


CONFIG = {
    "experiments": {
        **{name: _experiment(*table) for name, table in TABLES.items()},
        "scaling": {"evaluation": {"evaluator": "panels"}},
        "scaling_factored": {},
        "ismplus_table5": {"components": {"wine": 4, "face": 20}},
        "ismplus_table6": {"components": {"wine": 4}},
    }
}
# Beside an experiment by the authors' code.
_AUTHORS = {"authors": {"published": _experiment(*TABLES["four"])["published"] | {"protocol": True}}}
WITH_AUTHORS = {"experiments": CONFIG["experiments"] | _AUTHORS}


def cells(experiment, method, only=None, **columns):
    """All runs of a method in a table, or on the data sets in ``only``.

    A column may be a function of data set, kernel and run.
    """
    _, _, setting, datasets, kernels, metric, n_runs = TABLES[experiment]
    shared = {"experiment": experiment, "paradigm": setting, "quality_metric": metric, "warm_s": 0.01}
    shared |= {"split": "folds" if n_runs > 1 else "none", "optimality": "second_order"}
    rows = []
    for dataset in datasets if only is None else only:
        for kernel in ["none"] if method in BASELINES or "spectral" in method else kernels:
            for number in range(n_runs):
                own = {name: one(dataset, kernel, number) if callable(one) else one for name, one in columns.items()}
                rows.append(run(dataset, method, number, kernel=kernel, **(shared | own)))
    return rows


def records(*rows, config=CONFIG):
    """Records of dimension reduction."""
    return Records(runs=pd.DataFrame(rows), config=config)
