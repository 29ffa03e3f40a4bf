"""What each experiment asks, and what its records answer: sentences and a matrix, for pages and terminals alike."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kdrbench.errors import count_of, counted, joined
from kdrbench.suite.engine.system import FINDINGS
from kdrbench.suite.findings.matrix import Matrix, Standing, factor, matrix_of
from kdrbench.suite.findings.nearness import FINE, PROBLEM, accuracy_text, column, known_beside, nearness, ratios
from kdrbench.suite.findings.outcome import clean_times, ended
from kdrbench.suite.reports.records import (
    ATLAS,
    IKDR,
    KPCA_FIGURES,
    KPCA_TRICK,
    LEAGUE,
    LOW_RANK,
    NO_KERNEL,
    NOISE,
    Config,
    Metric,
    Settings,
    controls_of,
    is_redrawn,
    is_scaling,
    settings_of,
    system_name,
)
from kdrbench.suite.reports.tables import numbers
from kdrbench.suite.reports.tables.cells import summarise
from kdrbench.suite.reports.tables.labels import (
    FORMATS,
    METRIC_TITLES,
    dataset_label,
    kernel_label,
    learner_name,
    low_rank_label,
    method_label,
)
from kdrbench.suite.reports.tables.numbers import agreement, duration, percentage
from kdrbench.suite.systems.kpca_figures.figures import beside_kpca
from kdrbench.suite.systems.kpca_figures.trick_comparison import QZ
from kdrbench.suite.systems.kpca_trick.cells import kpca_cells
from kdrbench.suite.systems.kpca_trick.tables import differences_of
from kdrbench.suite.systems.league.rules import fixed_beside
from kdrbench.suite.systems.league.tuning import Tuning, tuning_sentence

# More places than these are counted, not listed.
_MOST_PLACES = 3
# Times whose ratio is below this count as equal in sentences.
EQUALLY_FAST = 1.05
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
    if system_name(experiment) == ATLAS and traces is not None:
        from kdrbench.suite.systems.atlas.tables import cells_of_atlas, sentences

        cells = cells_of_atlas(chosen, traces.parent / FINDINGS)
        return Answer(name, title, question, tuple(sentences(cells, config)))
    if fixed := fixed_beside(config, name):
        # How its methods rank is on the page of the league.
        return Answer(name, title, question, (tuning_sentence(Tuning(runs[runs["experiment"] == fixed], chosen)),))
    if system_name(experiment) != IKDR:
        return Answer(name, title, question, tuple(_sentences_of(chosen, experiment)))
    near = nearness(chosen, traces, known_beside(traces, config))
    controls = controls_of(name, config)
    matrix = None if is_redrawn(experiment) else matrix_of(name, near, controls)
    near, of_real = (rows[~rows["method"].isin(list(controls))] for rows in (near, chosen))
    of_solvers = solver_sentences(of_real, near, matrix, experiment, settings_of(config))
    if is_scaling(name):
        of_solvers = largest_sentences(of_real) + of_solvers
    return Answer(name, title, question, tuple(of_solvers), matrix)


def question_of(name: str, experiment: Config) -> str:
    """Return what an experiment asks, by its system and by what is varied in it."""
    system = system_name(experiment)
    if system == KPCA_FIGURES:
        return _OF_FIGURES[int(experiment["figure"])]
    if system != IKDR:
        return _OF_SYSTEMS.get(system, "What do the records show?")
    if is_redrawn(experiment):
        return "How far do means vary when the folds are redrawn?"
    if is_scaling(name):
        return "Which solver stays quickest as the problem grows?"
    return _OF_PARADIGMS[experiment["paradigm"]]


def _sentences_of(runs: pd.DataFrame, experiment: Config) -> list[str]:
    """Return the sentences on an experiment of another system than IKDR."""
    if experiment["system"] == KPCA_FIGURES:
        return figure_sentences(runs, int(experiment["figure"]))
    by_system = {
        KPCA_TRICK: learner_sentences,
        LOW_RANK: low_rank_sentences,
        LEAGUE: league_sentences,
        NOISE: noise_sentences,
    }
    return by_system[experiment["system"]](runs) if experiment["system"] in by_system else []


def solver_sentences(
    runs: pd.DataFrame, near: pd.DataFrame, matrix: Matrix | None, experiment: Config, settings: dict[str, Settings]
) -> list[str]:
    """Return what an experiment's records say, one thought each: of costs, of published settings, of quality.

    ``runs`` are without those of controls, ``near`` the same rows as :func:`.nearness.nearness` returns them.
    """
    if is_redrawn(experiment):
        return _spread_over_partitions(runs)
    found = [] if matrix is None else [_race(matrix, near), _quicker(matrix), _published(matrix, settings)]
    return [sentence for sentence in (*found, _quality(runs)) if sentence]


def _race(matrix: Matrix, near: pd.DataFrame) -> str:
    """Return who reaches the best known cost most often, how much sooner than the next, and where it misses it."""
    leader = matrix.overall[0]
    if not leader.fine:
        # The best known cost is an atlas's alone.
        nearest = min(matrix.overall, key=lambda standing: np.inf if standing.gap is None else standing.gap)
        gap = "" if nearest.gap is None else f", in the median {numbers.gap(nearest.gap)} above it, relative"
        label = method_label(nearest.solver)
        return f"No solver reaches the best known cost within {accuracy_text(FINE)}; the nearest is {label}{gap}."
    sentence = (
        f"{method_label(leader.solver)} reaches the best known cost within {accuracy_text(FINE)} in {leader.fine} of "
        f"{counted(leader.runs, 'run')}{_stopped(leader)}{_sooner(matrix, near)}"
    )
    return f"{sentence}; {missed}." if (missed := _missed(matrix)) else f"{sentence}."


def _stopped(standing: Standing) -> str:
    """Return how many of the runs that came so near a limit then stopped; nothing for none."""
    return f", {standing.fine_stopped} of them when they were stopped" if standing.fine_stopped else ""


def _sooner(matrix: Matrix, near: pd.DataFrame) -> str:
    """Return by what factor of time the leader is ahead of the next, or behind it, where both got there."""
    leader, following = matrix.overall[:2]
    label = f"{method_label(following.solver)} ({following.fine} of {following.runs}{_stopped(following)})"
    wide = ratios(near).pivot(index=PROBLEM, columns="method", values=column("ratio", FINE))
    both = wide[[leader.solver, following.solver]].replace(np.inf, np.nan).dropna()
    if both.empty:
        return f"; the next is {label}"
    ratio = float((both[following.solver] / both[leader.solver]).median())
    word, times = ("sooner", ratio) if ratio >= 1 else ("later", 1 / ratio)
    doubt = " (by disturbed times, an indication)" if matrix.disturbed else ""
    if times < EQUALLY_FAST:
        return f", in the median as fast as the next{doubt}, {label}"
    return f", in the median {factor(times)} times {word}{doubt} than the next, {label}"


def _quicker(matrix: Matrix) -> str:
    """Return the solver of the least times to the best known cost, where it came there less often than the leader."""
    leader, quickest = matrix.overall[0], min(matrix.overall, key=lambda standing: standing.fine_ratio or np.inf)
    if leader.fine_ratio is None or quickest.fine_ratio is None:
        return ""
    if leader.fine_ratio < EQUALLY_FAST * quickest.fine_ratio:
        return ""
    multiple = "" if quickest.fine_ratio < EQUALLY_FAST else f"{factor(quickest.fine_ratio)} times "
    return (
        f"{method_label(quickest.solver)}, which reaches it in {quickest.fine} of {counted(quickest.runs, 'run')}"
        f"{_stopped(quickest)}, is quicker: in the median it takes {multiple}the least time of any solver, and "
        f"{method_label(leader.solver)} {factor(leader.fine_ratio)} times that."
    )


def _missed(matrix: Matrix) -> str:
    """Return where the leader ends above the best known cost, by kernel where one kernel is all of it."""
    cells = [cell for cell in matrix.cells if cell.solver == matrix.reference]
    missed = [cell for cell in cells if cell.fine < cell.runs]
    if not missed:
        return ""
    kernels = dict.fromkeys(cell.kernel for cell in missed)
    if len(missed) > _MOST_PLACES or len(kernels) == 1 < len({cell.kernel for cell in cells}):
        missing, runs = sum(cell.runs - cell.fine for cell in missed), sum(cell.runs for cell in missed)
        return f"it misses it in {missing} of {counted(runs, 'run')} with {' and '.join(map(_kernel, kernels))} kernels"
    places = [
        f"{cell.runs - cell.fine} of {counted(cell.runs, 'run')} on {dataset_label(cell.dataset)}, "
        f"{_kernel(cell.kernel)} kernel"
        for cell in missed
    ]
    return f"it misses it in {' and in '.join(places)}"


def _published(matrix: Matrix, settings: dict[str, Settings]) -> str:
    """Return the best of the solvers as published, ties included, where none of the first two is one of them."""
    published = [one for one in matrix.overall if settings.get(one.solver) is Settings.PUBLISHED]
    if not published or published[0] in matrix.overall[:2]:
        return ""
    best = published[0]
    if not best.fine:
        return "As published, no solver does so."
    ties = [method_label(one.solver) for one in published if (one.fine, one.runs) == (best.fine, best.runs)]
    word, each = ("do", "each ") if len(ties) > 1 else ("does", "")
    often = f"{each}in {best.fine} of {counted(best.runs, 'run')}"
    return f"Of the solvers as published, {joined(ties)} {word} so most often: {often}."


def largest_sentences(runs: pd.DataFrame) -> list[str]:
    """Return the quickest and the slowest solver on the largest problem, by clean times where there are any."""
    largest = runs[runs["n_train"] == runs["n_train"].max()]
    largest = largest[ended(largest)]
    clean = clean_times(largest)
    times = (largest if clean.empty else clean).groupby("method", sort=False)["time_s"].median().dropna().sort_values()
    if len(times) < 2:
        return []
    least, most = (duration(float(times.iloc[end])) for end in (0, -1))
    quickest, slowest = (method_label(str(times.index[end])) for end in (0, -1))
    span = f"from {least} ({quickest}) to {most} ({slowest})" if least != most else f"{least} with every solver"
    doubt = " (disturbed times, an indication)" if clean.empty else ""
    return [
        f"On the largest problem, {dataset_label(str(largest['dataset'].iloc[0]))}, a first solve takes {span}{doubt}."
    ]


def _quality(runs: pd.DataFrame) -> str:
    """Return the method of the highest mean quality on each data set, solvers and baselines alike.

    Of equal means the first method is named, and the others are counted.
    """
    found, metric = [], str(runs["quality_metric"].iloc[0])
    if metric == Metric.ERROR:
        return ""
    for dataset, of_set in runs.groupby("dataset", sort=False):
        cells = {
            (str(kernel), str(method)): summarise("quality", group, "quality", FORMATS[metric])
            for (kernel, method), group in of_set.groupby(["kernel", "method"], sort=False)
        }
        means = {place: cell.mean for place, cell in cells.items() if cell.mean is not None and cell.complete}
        if len(means) > 1:
            best = max(means, key=lambda place: means[place])
            equal = sum(math.isclose(mean, means[best], rel_tol=1e-12) for mean in means.values()) - 1
            share = FORMATS[metric](means[best], None) + (f", like {counted(equal, 'other')}" if equal else "")
            found.append(f"{_named(*best)} on {dataset_label(str(dataset))} ({share})")
    if not found:
        return ""
    mean = "mean " if (runs.groupby(["dataset", "kernel", "method"]).size() > 1).any() else ""
    more = f" and {len(found) - _MOST_PLACES} more" if len(found) > _MOST_PLACES else ""
    return f"Highest {mean}{_lower(METRIC_TITLES[metric])}: {'; '.join(found[:_MOST_PLACES])}{more}."


def _spread_over_partitions(runs: pd.DataFrame) -> list[str]:
    """Return between what means over folds lie with redrawn folds; of many means those that move least and most."""
    metric = str(runs["quality_metric"].iloc[0])
    spreads = [
        (f"{_named(str(kernel), str(method))} on {dataset_label(str(dataset))}", means)
        for (dataset, kernel, method), cell in runs.groupby(["dataset", "kernel", "method"], sort=False)
        if len(means := cell.groupby("partition")["quality"].mean().dropna()) > 1
    ]

    def span(means: pd.Series) -> str:
        return " to ".join(FORMATS[metric](float(one), None) for one in (means.min(), means.max()))

    if len(spreads) <= _MOST_PLACES:
        mean = f"mean {_lower(METRIC_TITLES[metric])}"
        return [f"{name}: {mean} from {span(means)} over {len(means)} partitions." for name, means in spreads]
    spreads.sort(key=lambda one: float(one[1].max() - one[1].min()))
    (steadiest, least), (loosest, most) = spreads[0], spreads[-1]
    counts = sorted({len(means) for _, means in spreads})
    return [
        f"Of {len(spreads)} means, each over {'-'.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} partitions, "
        f"the {_lower(METRIC_TITLES[metric])} of {steadiest} moves least (from {span(least)}), and that of {loosest} "
        f"most (from {span(most)})."
    ]


def _named(kernel: str, method: str) -> str:
    return method_label(method) if kernel == NO_KERNEL else f"{method_label(method)} with {_kernel(kernel)}"


def _kernel(name: str) -> str:
    """Return a kernel's label within a sentence, where Gauss alone keeps a capital."""
    return kernel_label(name).lower().replace("gaussian", "Gaussian")


def _lower(title: str) -> str:
    return title if title.isupper() else title.lower()


def learner_sentences(runs: pd.DataFrame) -> list[str]:
    """Return how learners with kernels do against the same learners without, and the highest accuracy of each set."""
    differences = [one for learner in runs["learner"].unique() for one in differences_of(runs, learner).values()]
    better = sum(one.significant > 0 for one in differences)
    worse = sum(one.significant < 0 for one in differences)
    cells = [cell for cell in kpca_cells(runs).values() if cell.ours.mean is not None and cell.ours.complete]
    best = {
        dataset: max((cell for cell in cells if cell.dataset == dataset), key=lambda cell: cell.ours.mean or 0.0)
        for dataset in dict.fromkeys(cell.dataset for cell in cells)
    }
    highest = [
        f"{learner_name(cell.learner, cell.variant).upper()} on {dataset_label(name)} ({_percent(cell.ours.mean)})"
        for name, cell in best.items()
    ]
    sentences = [
        f"With a kernel, learners are significantly better than without in {count_of(better)} and worse in "
        f"{count_of(worse)} of {counted(len(differences), 'comparison')} over the same splits (p corrected by Holm)."
    ]
    return (sentences if differences else []) + ([f"Highest mean accuracy: {'; '.join(highest)}."] if highest else [])


def figure_sentences(runs: pd.DataFrame, figure: int) -> list[str]:
    """Return what a figure of the KPCA trick shows, in numbers."""
    known = runs[runs["accuracy"].notna()]
    if known.empty:
        return []
    return _degrees(known) if figure == 2 else _tricks(known)


def _degrees(runs: pd.DataFrame) -> list[str]:
    wide = runs.pivot_table(index=["dataset", "method", "run"], columns="value", values="accuracy")
    if not {1.0, 2.0} <= set(wide.columns):
        return []
    both = wide[[1.0, 2.0]].dropna()
    higher = int((both[2.0] > both[1.0]).sum())
    before, after = (_percent(float(both[degree].median())) for degree in (1.0, 2.0))
    verb = "rises" if both[2.0].median() > both[1.0].median() else "falls"
    moved = f"{verb} from {before} to {after}" if before != after else f"stays at {after}"
    return [
        f"A kernel of degree 2 has the higher accuracy along one direction in {higher} of "
        f"{counted(len(both), 'pair')} of learner and data set; the median {moved}."
    ]


def _tricks(runs: pd.DataFrame) -> list[str]:
    """Return how the accuracies of the two tricks compare over all settings and draws, by each way to solve one."""
    points = beside_kpca(runs)
    gaps, by_qz = (points["accuracy_kpca"] - points["accuracy"]).round(12), points["method"] == QZ
    sentences, usual = _by_qz(points[by_qz].assign(gap=gaps[by_qz].abs()), alike=not gaps[~by_qz].any()), gaps[~by_qz]
    if usual.empty:
        return sentences
    start, other = (
        f"Over {counted(len(usual), 'pair')} of setting and draw the KPCA trick",
        "the kernel trick, exact or ",
    )
    if not usual.any():
        return [f"{start} and {other}with a ridge, are equally accurate.", *sentences]
    more, equal, less = (count_of(int(count)) for count in ((usual > 0).sum(), (usual == 0).sum(), (usual < 0).sum()))
    most = agreement(float(usual.abs().max()))
    words = f"in {more}, equally in {equal} and less in {less}; the largest difference is {most}."
    return [f"{start} is more accurate than {other}with a ridge, {words}", *sentences]


def _by_qz(points: pd.DataFrame, *, alike: bool) -> list[str]:
    """Return in how many points the kernel trick by QZ differs, and from which condition number of K on."""
    if points.empty:
        return []
    differing, pairs = points[points["gap"] > 0], counted(len(points), "pair")
    if differing.empty:
        return [f"So it is by QZ, in {pairs}." if alike else f"By QZ it is equally accurate in {pairs}."]
    most = agreement(float(differing["gap"].max()))
    sentence = f"By QZ the kernel trick differs in {len(differing)} of {pairs}, by up to {most}"
    least = differing["condition"].min()
    return [sentence + ("." if pd.isna(least) else f", from condition number {least:.2g} on.")]


def low_rank_sentences(runs: pd.DataFrame) -> list[str]:
    """Return the highest accuracy and NMI with most constraints, and those without any."""
    most, least = runs["n_constraints"].max(), runs["n_constraints"].min()
    sentences = []
    for metric, words, shown in (("accuracy", "5-NN accuracy", percentage), ("nmi_ten_starts", "NMI", agreement)):
        means = runs.groupby(["n_constraints", "method"], sort=False)[metric].mean().dropna()
        if most not in means.index.get_level_values(0):
            continue
        best = means[most].idxmax()
        printed = {str(method): shown(float(mean), None) for method, mean in means[most].items()}
        equal = [low_rank_label(one) for one in printed if one != best and printed[one] == printed[str(best)]]
        others = f", like {joined(equal)}," if equal else ""
        sentence = (
            f"With {counted(int(most), 'constraint')}, {low_rank_label(str(best))}{others} has the highest {words}, "
        )
        sentence += shown(float(means[most][best]), None)
        if least < most and (least, best) in means.index:
            sentence += f", and {shown(float(means[least][best]), None)} with {int(least) or 'none'}"
        sentences.append(f"{sentence}.")
    return sentences


def league_sentences(runs: pd.DataFrame) -> list[str]:
    """Return how often our own kernel projection and the best one win, the first three methods, and controls."""
    from kdrbench.suite.systems.league.table_rows import League, best_projection, headlines
    from kdrbench.suite.systems.league.tables import controls_sentence

    league = League(runs)
    first = [f"{league.title(league.methods[place])} ({league.overall[place]:.3g})" for place in league.order[:3]]
    place = f"Of {counted(len(league.methods), 'method')} by mean rank over all judges and data sets"
    wins = [*headlines(league)[:1], *best_projection(league)]
    return [*wins, f"{place}, the first are {', '.join(first)}.", controls_sentence(league)]


def noise_sentences(runs: pd.DataFrame) -> list[str]:
    """Return what each method makes of labels that mean nothing, and how often the test calls that real."""
    from kdrbench.reduction.methods import METHODS

    sentences, accuracies = [], ["train_accuracy", "test_accuracy"]
    for method, rows in runs.dropna(subset=["p_value", *accuracies]).groupby("method", sort=False):
        own, other = (_percent(float(rows[name].mean())) for name in accuracies)
        sentences.append(
            f"{METHODS[str(method)].title} separates {own} of the samples it learned from and {other} of others; the "
            f"test calls {int(rows['rejected'].sum())} of {counted(len(rows), 'draw')} real."
        )
    return sentences


def _percent(share: float | None) -> str:
    return "-" if share is None else percentage(share, None)
