"""From the records of a configuration to its answers: a question and sentences for each experiment, with a matrix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kdrbench.suite.reports.answers.learners import atlas_sentences, sentences_of
from kdrbench.suite.reports.answers.matrix import Matrix, matrix_of
from kdrbench.suite.reports.answers.nearness import known_beside, nearness
from kdrbench.suite.reports.answers.solvers import largest_sentences, solver_sentences
from kdrbench.suite.reports.outputs import FINDINGS, fixed_beside
from kdrbench.suite.reports.records import (
    ATLAS,
    IKDR,
    KPCA_FIGURES,
    KPCA_TRICK,
    LEAGUE,
    LOW_RANK,
    NOISE,
    Config,
    controls_of,
    is_redrawn,
    is_scaling,
    settings_of,
    system_of,
)
from kdrbench.suite.reports.tables.league.tuning import Tuning, tuning_sentence

_OF_PARADIGMS = {
    "supervised": "Which solver reaches the lowest cost, how soon, and how well do the projections classify?",
    "unsupervised": "Which solver reaches the lowest cost, how soon, and how well do the projections cluster?",
    "semi_supervised": "With few labels shown, how well are the hidden ones recovered?",
    "alternative": "Given one clustering, is the other one found?",
}
_OF_FIGURES = {
    2: "Do kernels of degree 2 help where plain learners fail?",
    3: "Do the KPCA trick and the kernel trick find the same plane?",
    4: "Is the KPCA trick as accurate as the kernel trick?",
    5: "When do the KPCA trick and the kernel trick disagree?",
}
_OF_SYSTEMS = {
    KPCA_TRICK: "Do metric learners gain from a kernel, and from which way of choosing it?",
    LOW_RANK: "Does a kernel that is learned from pairs classify and cluster better?",
    LEAGUE: "Which method of reducing dimensions should one use?",
    ATLAS: "How often is the best optimum found, how far is the published one, and does lower cost mean better?",
    NOISE: "What do methods make of labels that mean nothing, and does the test see it?",
}


@dataclass(frozen=True)
class Answer:
    """What an experiment asks, and what its records say; ``matrix`` is there where solvers are compared."""

    experiment: str
    title: str
    question: str
    sentences: tuple[str, ...]
    matrix: Matrix | None = None

    @property
    def text(self) -> str:
        """The sentences, or that there are none."""
        return " ".join(self.sentences) or "The records hold no number that answers it."


def leading_of(answers: Iterable[Answer]) -> Answer | None:
    """Return the answer whose matrix is over the most runs, which pages show first; ``None`` without any."""
    compared = [one for one in answers if one.matrix]
    return max(compared, key=lambda one: one.matrix.n_runs if one.matrix else 0, default=None)


def answers_of(runs: pd.DataFrame, config: Config, traces: Path | None = None) -> list[Answer]:
    """Return the answers of all experiments that have rows in ``runs``, in the order of the configuration.

    ``runs`` are merged tables of one system or of several below each other; ``traces`` is the folder of their traces,
    without which no time to a cost is known. Beside it are the optima that an atlas has found and stored.
    """
    there = set(runs["experiment"].unique())
    return [answer_of(name, runs, config, traces) for name in config["run"] if name in there]


def answer_of(name: str, runs: pd.DataFrame, config: Config, traces: Path | None = None) -> Answer:
    """Return the answer of one experiment, whose rows are among ``runs``."""
    experiment = config["experiments"][name]
    chosen = runs[runs["experiment"] == name].reset_index(drop=True)
    question, title = question_of(name, experiment), str(experiment["title"])
    if system_of(experiment) == ATLAS and traces is not None:
        return Answer(name, title, question, tuple(atlas_sentences(chosen, config, traces.parent / FINDINGS)))
    if fixed := fixed_beside(config, name):
        # How its methods rank is on the page of the league.
        return Answer(name, title, question, (tuning_sentence(Tuning(runs[runs["experiment"] == fixed], chosen)),))
    if system_of(experiment) != IKDR:
        return Answer(name, title, question, tuple(sentences_of(chosen, experiment)))
    near = nearness(chosen, traces, known_beside(traces, config))
    controls = controls_of(name, config)
    matrix = None if is_redrawn(experiment) else matrix_of(name, near, controls)
    near, of_real = (rows[~rows["method"].isin(list(controls))] for rows in (near, chosen))
    sentences = solver_sentences(of_real, near, matrix, experiment, settings_of(config))
    if is_scaling(name):
        sentences = largest_sentences(of_real) + sentences
    return Answer(name, title, question, tuple(sentences), matrix)


def question_of(name: str, experiment: Config) -> str:
    """Return what an experiment asks, by its system and by what is varied in it."""
    system = system_of(experiment)
    if system == KPCA_FIGURES:
        return _OF_FIGURES[int(experiment["figure"])]
    if system != IKDR:
        return _OF_SYSTEMS.get(system, "What do the records show?")
    if is_redrawn(experiment):
        return "How far do means vary when the folds are redrawn?"
    if is_scaling(name):
        return "Which solver stays quickest as the problem grows?"
    return _OF_PARADIGMS[experiment["paradigm"]]
