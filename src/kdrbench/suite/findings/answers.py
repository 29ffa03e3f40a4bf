"""What each experiment asks, and the one sentence by which its records answer, with the matrix of its solvers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kdrbench.errors import count_of, counted
from kdrbench.solvers.registry import METHODS
from kdrbench.suite.engine.system import FINDINGS
from kdrbench.suite.findings.nearness import FINE, accuracy_text, known_beside, nearness, traces_of
from kdrbench.suite.findings.pairwise import Matrix, Standing, matrix_of, ratio_text
from kdrbench.suite.reports.declared import declared
from kdrbench.suite.reports.records import (
    ATLAS,
    IKDR,
    KPCA_FIGURES,
    KPCA_TRICK,
    LEAGUE,
    LOW_RANK,
    NOISE,
    REFERENCE,
    Config,
)
from kdrbench.suite.reports.tables.labels import (
    FORMATS,
    dataset_label,
    kernel_label,
    label_in_text,
    low_rank_label,
    method_in_text,
)
from kdrbench.suite.reports.tables.numbers import agreement, percentage
from kdrbench.suite.reports.tables.significance import SIGNIFICANT
from kdrbench.suite.systems import system_name
from kdrbench.suite.systems.ikdr.config import is_redrawn, is_scaling
from kdrbench.suite.systems.ikdr.controls import controls_of
from kdrbench.suite.systems.ikdr.scores import Metric
from kdrbench.suite.systems.kpca_figures.figures import beside_kpca
from kdrbench.suite.systems.kpca_figures.run import QZ
from kdrbench.suite.systems.kpca_trick.tables import differences_of
from kdrbench.suite.systems.league.system import fixed_beside
from kdrbench.suite.systems.league.tuning import Tuning, tuning_sentence

NO_ANSWER = "The records hold no number that answers it."
_ONE_SOLVER = "It has one solver beside controls, and compares none."
_WORDS = declared("words")


@dataclass(frozen=True)
class Answer:
    """The question of an experiment, and the answer of its records; ``matrix`` is there where solvers are compared.

    ``own`` says that it begins with a solver of the user's own.
    """

    experiment: str
    title: str
    question: str
    text: str = NO_ANSWER
    matrix: Matrix | None = None
    own: bool = False


def leading_of(answers: Iterable[Answer]) -> Answer | None:
    """Return the answer that pages show first: on the user's own solver, then that over the most runs.

    ``None`` where no solvers are compared.
    """
    compared = [answer for answer in answers if answer.matrix]
    return max(compared, key=lambda answer: (answer.own, answer.matrix.n_runs if answer.matrix else 0), default=None)


def answers_of(runs: pd.DataFrame, config: Config, traces: Path | None = None) -> list[Answer]:
    """Return the answers of all experiments that have rows in ``runs``, in the order of the configuration.

    ``runs`` are merged tables of one system or of several below each other; ``traces`` is the folder of their traces,
    without which no time to a cost is known. Beside it are the optima that an atlas has found and stored.
    """
    present = set(runs["experiment"].unique())
    return [answer_of(name, runs, config, traces) for name in config["run"] if name in present]


def answer_of(name: str, runs: pd.DataFrame, config: Config, traces: Path | None = None) -> Answer:
    """Return the answer of one experiment, whose rows are among ``runs``; ``traces`` count where all are there."""
    experiment = config["experiments"][name]
    rows, matrix, own = runs[runs["experiment"] == name].reset_index(drop=True), None, []
    traces = traces_of(rows, traces) if traces else None
    system, text = system_name(experiment), ""
    if system == ATLAS and traces is not None:
        from kdrbench.suite.systems.atlas.tables import cells_of_atlas, one_start

        text = one_start(cells_of_atlas(rows, traces.parent / FINDINGS))
    elif fixed := fixed_beside(config, name):
        # How its methods rank is on the page of the league.
        text = tuning_sentence(Tuning(runs[runs["experiment"] == fixed], rows))
    elif system == IKDR and is_redrawn(experiment):
        text = _spread_sentence(rows)
    elif system == IKDR:
        near = nearness(rows, traces, known_beside(traces, config))
        matrix = matrix_of(name, near, controls_of(name, config), config)
        own = [one for one in matrix.overall if one.solver in own_solvers(name, config)] if matrix else []
        rivals = set(rows["method"]) - controls_of(name, config)
        text = race_sentence(matrix, own) if matrix else _ONE_SOLVER if len(rivals) == 1 else ""
    elif system == KPCA_FIGURES:
        text = figure_sentence(rows, int(experiment["figure"]))
    elif system in _SYSTEM_SENTENCES:
        text = _SYSTEM_SENTENCES[system](rows)
    question = question_of(name, experiment)
    return Answer(name, str(experiment["title"]), question, text or NO_ANSWER, matrix, bool(own))


def question_of(name: str, experiment: Config) -> str:
    """Return what an experiment asks, by its system and by what is varied in it."""
    subject = system_name(experiment)
    if subject == KPCA_FIGURES:
        subject = f"figure_{experiment['figure']}"
    elif subject == IKDR:
        varied = "redrawn" if is_redrawn(experiment) else "scaling" if is_scaling(name) else ""
        subject = varied or experiment["paradigm"]
    return str(_WORDS["questions"].get(subject, "What do the records show?"))


def own_solvers(name: str, config: Config) -> list[str]:
    """Return the solvers of the user's own in an experiment: those whose method is no registered one.

    Where none is, but the methods of a reference are beside the runs, the solvers of the user's own runs that are no
    controls are.
    """
    solvers = list(config["experiments"][name].get("solvers", ()))
    mine = [solver for solver in solvers if not solver.endswith(REFERENCE)]
    definitions = config.get("solvers", {})
    own = [solver for solver in mine if definitions.get(solver, {}).get("method", "ism") not in METHODS]
    return own or ([] if len(mine) == len(solvers) else [one for one in mine if one not in controls_of(name, config)])


def race_sentence(matrix: Matrix, own: Sequence[Standing] = ()) -> str:
    """Return how often solvers reach the best known cost, and in what time: the user's own, the best and the next.

    Those that failed in all runs are last.
    """
    named = {solver: label_in_text(label) for solver, label in matrix.labels.items()}
    first, *others = sorted(dict.fromkeys((*own, *matrix.overall[:2])), key=lambda one: one.failed)
    words = [
        f"{named[first.solver]} reaches the best known cost within {accuracy_text(FINE)} in {first.fine} of "
        f"{counted(first.runs, 'run')}{_details(first, matrix)}",
        *(
            f"{named[one.solver]} failed in all {counted(one.runs, 'run')}"
            if one.failed
            else f"{named[one.solver]} in {one.fine} of {one.runs}{_details(one, matrix)}"
            for one in others
        ),
    ]
    return f"{'; '.join(words)}."


def _details(standing: Standing, matrix: Matrix) -> str:
    """Return the time of a solver relative to the quickest, and how many of its runs a limit stopped there."""
    disturbed, details = ", disturbed" if matrix.disturbed else "", []
    if standing.fine_ratio is not None:
        details.append(f"{ratio_text(standing.fine_ratio)} the least time{disturbed}")
    if standing.fine_stopped:
        details.append(f"{standing.fine_stopped} of them stopped there by a limit")
    return f" ({'; '.join(details)})" if details else ""


def _sentence(name: str, **numbers: object) -> str:
    return str(_WORDS["sentences"][name].format(**numbers))


def _spread_sentence(runs: pd.DataFrame) -> str:
    """Return the mean over folds that moves most when the folds are redrawn."""
    means = runs.groupby(["dataset", "kernel", "method", "partition"], sort=False)["quality"].mean().dropna()
    cells = means.groupby(level=[0, 1, 2], sort=False).agg(["min", "max", "count"]).query("count > 1").reset_index()
    if cells.empty:
        return ""
    widths = cells.assign(width=cells["max"] - cells["min"])
    widest = widths.sort_values("width", ascending=False, kind="stable").iloc[0]
    shown = FORMATS[str(runs["quality_metric"].iloc[0])]
    low, high = (shown(float(widest[end]), None) for end in ("min", "max"))
    cell = f"{method_in_text(widest['method'])} on {dataset_label(widest['dataset'])}, {kernel_label(widest['kernel'])}"
    partitions = counted(int(widest["count"]), "partition")
    return _sentence("redrawn", means=counted(len(cells), "mean"), cell=cell, low=low, high=high, partitions=partitions)


def _learner_sentence(runs: pd.DataFrame) -> str:
    differences = [one for learner in runs["learner"].unique() for one in differences_of(runs, learner).values()]
    if not differences:
        return ""
    counts = {
        f"{word}{test}": count_of(sum(sign * one.mean > 0 and getattr(one, p) <= SIGNIFICANT for one in differences))
        for word, sign in (("better", 1), ("worse", -1))
        for test, p in (("", "p_holm"), ("_overlap", "p_overlap"))
    }
    comparisons, splits = counted(len(differences), "comparison"), counted(runs["run"].nunique(), "split")
    return _sentence(KPCA_TRICK, **counts, comparisons=comparisons, splits=splits)


def figure_sentence(runs: pd.DataFrame, figure: int) -> str:
    """Return the outcome of a figure of the KPCA trick in numbers."""
    known = runs[runs["accuracy"].notna()]
    if known.empty:
        return ""
    if figure == 2:
        wide = known.pivot_table(index=["dataset", "method", "run"], columns="value", values="accuracy")
        both = wide.reindex(columns=[1.0, 2.0]).dropna()
        return _sentence("figure_2", better=int((both[2.0] > both[1.0]).sum()), pairs=counted(len(both), "pair"))
    points, sentences = beside_kpca(known), []
    apart, by_qz = (points["accuracy_kpca"] - points["accuracy"]).round(12).abs(), points["method"] == QZ
    for trick, gaps in (("The kernel trick is", apart[~by_qz]), ("Solved by QZ it is", apart[by_qz])):
        if len(gaps):
            numbers = {"pairs": counted(len(gaps), "pair"), "largest": agreement(float(gaps.max()))}
            sentences.append(_sentence("figure", trick=trick, equal=int((gaps == 0).sum()), **numbers))
    return " ".join(sentences)


def _low_rank_sentence(runs: pd.DataFrame) -> str:
    """Return the highest accuracy with the most constraints, and that with the fewest."""
    most, least = int(runs["n_constraints"].max()), int(runs["n_constraints"].min())
    means = runs.groupby(["n_constraints", "method"], sort=False)["accuracy"].mean().dropna()
    if most not in means.index:
        return ""
    method = str(means[most].idxmax())
    accuracy = percentage(float(means[most, method]), None)
    is_shown = least < most and (least, method) in means.index
    fewest = f", and {percentage(float(means[least, method]), None)} with {least or 'none'}" if is_shown else ""
    constraints, label = counted(most, "constraint"), low_rank_label(method)
    return _sentence(LOW_RANK, constraints=constraints, method=label, accuracy=accuracy, fewest=fewest)


def _league_sentence(runs: pd.DataFrame) -> str:
    from kdrbench.suite.systems.league.table_rows import League, title_of

    league = League(runs)
    titles = [label_in_text(title_of(method)) for method in league.methods]
    first = [f"{titles[place]}: {league.overall[place]:.3g}" for place in league.order[:3]]
    return _sentence(LEAGUE, methods=counted(len(league.methods), "method"), first="; ".join(first))


def _noise_sentence(runs: pd.DataFrame) -> str:
    """Return how far methods separate samples by labels without meaning, and how often the test rejects."""
    known = runs.dropna(subset=["p_value", "train_accuracy", "test_accuracy"])
    if known.empty:
        return ""
    shown, rejected = FORMATS[Metric.ACCURACY], int(known["rejected"].sum())
    train, test = (shown(float(known[name].mean()), None) for name in ("train_accuracy", "test_accuracy"))
    return _sentence(NOISE, train=train, test=test, rejected=rejected, draws=counted(len(known), "draw"))


_SYSTEM_SENTENCES = {
    KPCA_TRICK: _learner_sentence,
    LOW_RANK: _low_rank_sentence,
    LEAGUE: _league_sentence,
    NOISE: _noise_sentence,
}
