"""The answers of metric learning, of low-rank kernels, the league, the atlas and noise in sentences."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from kdrbench.errors import count_of, counted, joined
from kdrbench.suite.reports.figures.kpca_figures import QZ, beside_kpca
from kdrbench.suite.reports.records import NOISE, Config
from kdrbench.suite.reports.tables.kpca_cells import kpca_cells
from kdrbench.suite.reports.tables.kpca_trick import differences_of
from kdrbench.suite.reports.tables.labels import dataset_label, learner_name, low_rank_label
from kdrbench.suite.reports.tables.numbers import agreement, percentage

_DEGREE = 2


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
    return _degrees(known) if figure == _DEGREE else _tricks(known)


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
    gaps = (points["accuracy_kpca"] - points["accuracy"]).round(12)
    by_qz = points["method"] == QZ
    usual = _usual_ways(gaps[~by_qz])
    return usual + _by_qz(points[by_qz].assign(gap=gaps[by_qz].abs()), alike=not gaps[~by_qz].any())


def _usual_ways(gaps: pd.Series) -> list[str]:
    """Return how much more accurate the KPCA trick is than the kernel trick as it is solved where that is possible."""
    if gaps.empty:
        return []
    pairs, other = counted(len(gaps), "pair"), "the kernel trick, exact or with a ridge,"
    if not gaps.any():
        return [f"Over {pairs} of setting and draw the KPCA trick and {other} are equally accurate."]
    counts = [int((gaps > 0).sum()), int((gaps == 0).sum()), int((gaps < 0).sum())]
    return [
        f"Over {pairs} of setting and draw the KPCA trick is more accurate than {other} "
        f"in {count_of(counts[0])}, equally in {count_of(counts[1])} and less in {count_of(counts[2])}; the largest "
        f"difference is {agreement(float(gaps.abs().max()))}."
    ]


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
    from kdrbench.suite.reports.tables.league.rows import League, best_projection, headlines
    from kdrbench.suite.reports.tables.league.tables import controls_sentence

    league = League(runs)
    first = [f"{league.title(league.methods[place])} ({league.overall[place]:.3g})" for place in league.order[:3]]
    place = f"Of {counted(len(league.methods), 'method')} by mean rank over all judges and data sets"
    wins = [*headlines(league)[:1], *best_projection(league)]
    return [*wins, f"{place}, the first are {', '.join(first)}.", controls_sentence(league)]


def atlas_sentences(runs: pd.DataFrame, config: Config, findings: Path) -> list[str]:
    """Return the answers to the three questions of an atlas, whose optima are in ``findings``."""
    from kdrbench.suite.reports.tables.atlas import cells_of_atlas, sentences

    return sentences(cells_of_atlas(runs, findings), config)


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


def sentences_of(runs: pd.DataFrame, experiment: Config) -> list[str]:
    """Return the sentences on an experiment of one of these systems."""
    by_system = {
        "kpca_trick": learner_sentences,
        "low_rank": low_rank_sentences,
        "league": league_sentences,
        NOISE: noise_sentences,
    }
    system = experiment["system"]
    if system == "kpca_figures":
        return figure_sentences(runs, int(experiment["figure"]))
    return by_system[system](runs) if system in by_system else []


def _percent(share: float | None) -> str:
    return "-" if share is None else percentage(share, None)
