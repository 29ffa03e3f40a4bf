"""What each experiment asks, and the one sentence by which its records answer, with the matrix of its solvers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kdrbench.errors import count_of, counted
from kdrbench.solvers.registry import METHODS
from kdrbench.suite.engine.system import FINDINGS
from kdrbench.suite.findings.nearness import FINE, accuracy_text, known_beside, nearness
from kdrbench.suite.findings.pairwise import Matrix, Standing, factor, matrix_of, ratio_text
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
    Metric,
    controls_of,
    is_redrawn,
    is_scaling,
    system_name,
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
from kdrbench.suite.systems.kpca_figures.figures import beside_kpca
from kdrbench.suite.systems.kpca_trick.tables import differences_of
from kdrbench.suite.systems.league.system import fixed_beside
from kdrbench.suite.systems.league.tuning import Tuning, tuning_sentence

NO_ANSWER = "The records hold no number that answers it."
# Ratios of times nearer to 1 than this are not called quicker or slower.
_SAME_TIME = 1.05
_PARADIGM_QUESTIONS = {
    "supervised": "Which solver reaches the lowest cost, and how soon?",
    "unsupervised": "Which solver reaches the lowest cost, and how soon?",
    "semi_supervised": "With few labels shown, which solver reaches the lowest cost?",
    "alternative": "Given one clustering, which solver reaches the lowest cost of another?",
}
_FIGURE_QUESTIONS = {
    2: "Do kernels of degree 2 help where plain learners fail?",
    3: "Do the KPCA trick and the kernel trick find the same plane?",
    4: "Is the KPCA trick as accurate as the kernel trick?",
    5: "When do the KPCA trick and the kernel trick disagree?",
}
_SYSTEM_QUESTIONS = {
    KPCA_TRICK: "Do metric learners gain from a kernel?",
    LOW_RANK: "Does a kernel that is learned from pairs classify better?",
    LEAGUE: "Which method of reducing dimensions should one use?",
    ATLAS: "How often is the best optimum found?",
    NOISE: "What do methods make of labels that mean nothing, and does the test see it?",
}


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
    """Return the answer of one experiment, whose rows are among ``runs``."""
    experiment = config["experiments"][name]
    rows, matrix, own = runs[runs["experiment"] == name].reset_index(drop=True), None, ""
    system = system_name(experiment)
    if system == ATLAS and traces is not None:
        from kdrbench.suite.systems.atlas.tables import cells_of_atlas, sentences

        text = sentences(cells_of_atlas(rows, traces.parent / FINDINGS), config)[0]
    elif fixed := fixed_beside(config, name):
        # How its methods rank is on the page of the league.
        text = tuning_sentence(Tuning(runs[runs["experiment"] == fixed], rows))
    elif system == IKDR and is_redrawn(experiment):
        text = _spread_sentence(rows)
    elif system == IKDR:
        matrix = matrix_of(name, nearness(rows, traces, known_beside(traces, config)), controls_of(name, config))
        own, text = _race(matrix, own_solvers(name, config)) if matrix else ("", "")
    elif system == KPCA_FIGURES:
        text = figure_sentence(rows, int(experiment["figure"]))
    else:
        sentence = _SYSTEM_SENTENCES.get(system)
        text = sentence(rows) if sentence else ""
    question = question_of(name, experiment)
    return Answer(name, str(experiment["title"]), question, text or NO_ANSWER, matrix, bool(own))


def question_of(name: str, experiment: Config) -> str:
    """Return what an experiment asks, by its system and by what is varied in it."""
    system = system_name(experiment)
    if system == KPCA_FIGURES:
        return _FIGURE_QUESTIONS[int(experiment["figure"])]
    if system != IKDR:
        return _SYSTEM_QUESTIONS.get(system, "What do the records show?")
    if is_redrawn(experiment):
        return "How far do means vary when the folds are redrawn?"
    if is_scaling(name):
        return "Which solver stays quickest as the problem grows?"
    return _PARADIGM_QUESTIONS[experiment["paradigm"]]


def _race(matrix: Matrix, own: list[str]) -> tuple[str, str]:
    """Return the sentence on the user's own solvers, and all that is said: of who leads only where they do not."""
    sentence = " ".join(_own_sentence(one, matrix, own) for one in matrix.overall if one.solver in own)
    leaders = {one.solver for one in matrix.overall[:2]}
    return sentence, sentence if leaders & {*own} else f"{sentence} {race_sentence(matrix)}".lstrip()


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


def _own_sentence(mine: Standing, matrix: Matrix, own: Collection[str]) -> str:
    """Return how often a solver of the user's own reaches the best known cost, beside the best other."""
    reached = f"{method_in_text(mine.solver)} reaches the best known cost in {mine.fine} of {counted(mine.runs, 'run')}"
    others = [one for one in matrix.overall if one.solver not in own]
    if not others:
        return f"{reached}."
    parts = [reached, _beside(mine, others[0])]
    # Times of a reference, those of another machine, are compared with none.
    timed = [one for one in others if one.fine_ratio is not None]
    if mine.fine_ratio is not None and timed:
        rival = next((one for one in timed if one.solver == others[0].solver), timed[0])
        name = "" if rival is others[0] else f" than {method_in_text(rival.solver)}"
        parts.append(_speed(mine.fine_ratio / (rival.fine_ratio or 1.0), name))
    return f"{', '.join(parts)}{' (times were disturbed)' if matrix.disturbed and len(parts) > 2 else ''}."


def _beside(mine: Standing, rival: Standing) -> str:
    name = method_in_text(rival.solver)
    if mine.share == rival.share:
        return f"level with {name}"
    return f"{'more' if mine.share > rival.share else 'less'} often than {name} ({rival.fine} of {rival.runs})"


def _speed(ratio: float, than: str) -> str:
    if 1.0 / _SAME_TIME < ratio < _SAME_TIME:
        return f"as fast{than.replace(' than', ' as')}"
    return f"{factor(max(ratio, 1.0 / ratio))} times {'slower' if ratio > 1.0 else 'faster'}{than}"


def race_sentence(matrix: Matrix) -> str:
    """Return which solver reaches the best known cost most often, which is next, and in what time."""
    leader, following = matrix.overall[:2]
    return (
        f"{method_in_text(leader.solver)} reaches the best known cost within {accuracy_text(FINE)} in {leader.fine} of "
        f"{counted(leader.runs, 'run')}{_details(leader, matrix)}; the next is {method_in_text(following.solver)}, in "
        f"{following.fine} of {following.runs}{_details(following, matrix)}."
    )


def _details(standing: Standing, matrix: Matrix) -> str:
    """Return the time of a solver relative to the quickest, and how many of its runs a limit stopped there."""
    details = []
    if standing.fine_ratio is not None:
        disturbed = ", disturbed" if matrix.disturbed else ""
        details.append(f"{ratio_text(standing.fine_ratio)} the least time{disturbed}")
    if standing.fine_stopped:
        details.append(f"{standing.fine_stopped} of them stopped there by a limit")
    return f" ({'; '.join(details)})" if details else ""


def _spread_sentence(runs: pd.DataFrame) -> str:
    """Return the mean over folds that moves most when the folds are redrawn."""
    metric = str(runs["quality_metric"].iloc[0])
    cells = {
        f"{method_in_text(str(method))} on {dataset_label(str(dataset))}, {kernel_label(str(kernel))}": means
        for (dataset, kernel, method), cell in runs.groupby(["dataset", "kernel", "method"], sort=False)
        if len(means := cell.groupby("partition")["quality"].mean().dropna()) > 1
    }
    if not cells:
        return ""
    name, means = max(cells.items(), key=lambda cell: float(cell[1].max() - cell[1].min()))
    lowest, highest = (FORMATS[metric](float(mean), None) for mean in (means.min(), means.max()))
    return (
        f"Of {counted(len(cells), 'mean')}, that of {name}, moves most: from {lowest} to {highest} over "
        f"{counted(len(means), 'partition')}."
    )


def _learner_sentence(runs: pd.DataFrame) -> str:
    differences = [one for learner in runs["learner"].unique() for one in differences_of(runs, learner).values()]
    if not differences:
        return ""
    better, worse = (count_of(sum(sign * one.significant > 0 for one in differences)) for sign in (1, -1))
    return (
        f"With a kernel, learners are significantly better than without in {better} and worse in {worse} of "
        f"{counted(len(differences), 'comparison')} over the same splits (p corrected by Holm)."
    )


def figure_sentence(runs: pd.DataFrame, figure: int) -> str:
    """Return the outcome of a figure of the KPCA trick in numbers."""
    known = runs[runs["accuracy"].notna()]
    if known.empty:
        return ""
    if figure == 2:
        wide = known.pivot_table(index=["dataset", "method", "run"], columns="value", values="accuracy")
        both = wide.reindex(columns=[1.0, 2.0]).dropna()
        return (
            f"A kernel of degree 2 is more accurate along one direction in {int((both[2.0] > both[1.0]).sum())} of "
            f"{counted(len(both), 'pair')} of learner and data set."
        )
    points = beside_kpca(known)
    gaps = (points["accuracy_kpca"] - points["accuracy"]).round(12).abs()
    if gaps.empty:
        return ""
    return (
        f"Both tricks are equally accurate in {int((gaps == 0).sum())} of {counted(len(gaps), 'pair')} of setting and "
        f"draw; the largest difference is {agreement(float(gaps.max()))}."
    )


def _low_rank_sentence(runs: pd.DataFrame) -> str:
    """Return the highest accuracy with the most constraints, and that with the fewest."""
    most, least = runs["n_constraints"].max(), runs["n_constraints"].min()
    means = runs.groupby(["n_constraints", "method"], sort=False)["accuracy"].mean().dropna()
    if most not in means.index.get_level_values(0):
        return ""
    method = str(means[most].idxmax())
    sentence = (
        f"With {counted(int(most), 'constraint')}, {low_rank_label(method)} has the highest 5-NN accuracy, "
        f"{percentage(float(means[most][method]), None)}"
    )
    if least < most and (least, method) in means.index:
        sentence += f", and {percentage(float(means[least][method]), None)} with {int(least) or 'none'}"
    return f"{sentence}."


def _league_sentence(runs: pd.DataFrame) -> str:
    from kdrbench.suite.systems.league.table_rows import League, title_of

    league = League(runs)
    titles = [label_in_text(title_of(method)) for method in league.methods]
    first = [f"{titles[place]}: {league.overall[place]:.3g}" for place in league.order[:3]]
    methods = counted(len(league.methods), "method")
    return f"Of {methods} by mean rank over all judges and data sets, the first are {'; '.join(first)}."


def _noise_sentence(runs: pd.DataFrame) -> str:
    """Return how far methods separate samples by labels without meaning, and how often the test rejects."""
    known = runs.dropna(subset=["p_value", "train_accuracy", "test_accuracy"])
    if known.empty:
        return ""
    train, test = (
        FORMATS[Metric.ACCURACY](float(known[name].mean()), None) for name in ("train_accuracy", "test_accuracy")
    )
    return (
        f"Methods separate {train} of the samples they learned from and {test} of others in the mean; the test calls "
        f"{int(known['rejected'].sum())} of {counted(len(known), 'draw')} real."
    )


_SYSTEM_SENTENCES = {
    KPCA_TRICK: _learner_sentence,
    LOW_RANK: _low_rank_sentence,
    LEAGUE: _league_sentence,
    NOISE: _noise_sentence,
}
