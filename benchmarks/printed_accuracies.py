"""Which settings of NCA, LMNN and DNE meet the accuracies that Chatpatanasiri et al. 2010 print in Tables 1 to 3.

The paper leaves open what is done to the features before, the unit in which NCA and LMNN see them, how many steps
they take, at which map NCA begins and to how many dimensions it leads, how many neighbours LMNN and DNE pull, how many
components DNE keeps, whether kernels are centred before they are aligned, and how many neighbours vote. This tries them
all, plain and with the aligned kernel, on the first splits of the record:

    python benchmarks/printed_accuracies.py [--splits 6] [--datasets iris,glass] [--learners nca,dne] [--out search.csv]

Prints for each printed number how many settings meet it, ours, and the nearest; then the settings that meet most. A
setting meets a number if the means differ by no more than two standard errors of their difference, the printed mean
having been taken over 40 splits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from measuring import parser_of, print_head, print_row
from scipy.optimize import minimize
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from kdrbench.datasets import Dataset, load_dataset
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import DNE, aligned_kernel, lmnn_objective
from kdrbench.metric_learning.descent import inverse_scale, nca_objective
from kdrbench.metric_learning.neighbours import predict_by_neighbours, squared_distances
from kdrbench.suite.systems.kpca_trick.cells import PLAIN, find_printed
from kdrbench.suite.systems.kpca_trick.run import SampleSplit, candidates_of, draw_split

ROOT = Path(__file__).resolve().parents[1]
AS_THEY_ARE = "as they are"
INPUTS = (AS_THEY_ARE, "standardised", "unit range")
UNITS = ("distance 1", "as they are")
STEPS = (10, 20, 50, 100)
NEIGHBOURS = {"nca": (0,), "lmnn": (1, 3, 5), "dne": (1, 3, 5, 7)}
# The negative eigenvalues, which our record keeps, or as many.
COMPONENTS = ("negative", 1, 5, 20)
# NCA's first map: standard normal entries times this, and its dimensions. The unit is a scale of the start, too.
STARTS = {"random": 1.0, "small": 0.01}
DIMENSIONS = ("all", 2, 5)
VOTES = (1, 3, 5)
KERNELS = ("", "aligned", "aligned, centred")
PRINTED_SPLITS = 40
SETTING = ["inputs", "unit", "neighbours", "start", "steps", "components", "alignment", "votes"]
# What the record has: docs/metric_learning.md says why.
OURS = {
    "nca": (AS_THEY_ARE, "distance 1", 0, "identity", 50, "all", "not centred", 1),
    "lmnn": (AS_THEY_ARE, "distance 1", 3, "identity", 20, "all", "not centred", 1),
    "dne": (AS_THEY_ARE, "as they are", 3, "", 0, "negative", "not centred", 1),
}


def main() -> None:
    """Make the search and print what it found, as Markdown."""
    parser = parser_of(__doc__)
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--datasets", default="")
    parser.add_argument("--learners", default=",".join(NEIGHBOURS))
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    experiment = yaml.safe_load((ROOT / "config.yaml").read_text())["experiments"]["kpca_tables"]
    names = asked.datasets.split(",") if asked.datasets else experiment["datasets"]
    rows = []
    for name in names:
        rows += found_on(load_dataset(name), experiment, asked.splits, asked.learners.split(","))
        print(f"{name}: done", flush=True)
    found = pd.DataFrame(rows)
    if asked.out:
        found.to_csv(asked.out, index=False)
    report(found)


def found_on(dataset: Dataset, experiment: dict, splits: int, learners: list[str]) -> list[dict]:
    """Return the test accuracy of each learner, kernel and setting on each split of a data set."""
    n_train, candidates = (
        experiment[key].get(dataset.name, experiment[key]["default"]) for key in ("training", "candidates")
    )
    rows = []
    kernels = KERNELS if "dne" in learners else KERNELS[:2]
    for number, inputs in product(range(splits), INPUTS):
        split = scaled(draw_split(dataset, number, n_train, experiment.get("seed", 0)), inputs)
        for kernel in kernels:
            train, test = coordinates(split, kernel, candidates)
            name, _, centring = kernel.partition(", ")
            place = {"dataset": dataset.name, "split": number, "kernel": name, "inputs": inputs}
            place |= {"alignment": centring or "not centred"}
            # What is not aligned is not centred before either; of iterative learners the record's alignment.
            some = [one for one in learners if not centring or one == "dne"]
            rows += [place | setting for setting in accuracies(train, test, split, some)]
    return rows


def scaled(split: SampleSplit, inputs: str) -> SampleSplit:
    """Return the split as it is, or its features standardised or in the unit range of training samples."""
    if inputs == AS_THEY_ARE:
        return split
    scaler = (StandardScaler() if inputs == "standardised" else MinMaxScaler()).fit(split.train)
    return replace(split, train=scaler.transform(split.train), test=scaler.transform(split.test))


def coordinates(split: SampleSplit, kernel: str, candidates: dict) -> tuple[FloatArray, FloatArray]:
    """Return training and test samples as they are, or in the KPCA coordinates of the aligned kernel."""
    if not kernel:
        return split.train, split.test
    some = candidates_of(candidates, split.train.shape[1])
    combined, _ = aligned_kernel(some, split.pairs, split.train_codes, centred=kernel.endswith("centred"))
    train, made = split.coordinates(combined)
    return train, made.transform(split.test_pairs.gram(combined, up_to_constant=True))


def accuracies(train: FloatArray, test: FloatArray, split: SampleSplit, learners: list[str]) -> Iterator[dict]:
    """Yield each setting of the learners with its accuracy on the test samples."""
    for learner in learners:
        # DNE's directions do not depend on the unit.
        for unit, neighbours in product(UNITS if learner != "dne" else UNITS[1:], NEIGHBOURS[learner]):
            scale = inverse_scale(train) if unit == "distance 1" else 1.0
            scaled = scale * (train - train.mean(axis=0))
            for start, steps, components, map_ in maps(learner, scaled, split.train_codes, neighbours, unit):
                squared = squared_distances(test @ map_, train @ map_)
                for votes in VOTES:
                    predicted = predict_by_neighbours(squared, split.train_codes, votes)
                    setting = {"unit": unit, "neighbours": neighbours, "start": start, "steps": steps}
                    setting |= {"components": components, "votes": votes}
                    yield setting | {"learner": learner, "accuracy": float(np.mean(predicted == split.test_codes))}


def maps(
    learner: str, features: FloatArray, codes: np.ndarray, neighbours: int, unit: str
) -> Iterator[tuple[str, int, object, FloatArray]]:
    """Yield start, steps, components and the map of each setting of a learner."""
    n_features = features.shape[1]
    if learner == "dne":
        every = DNE(neighbours, n_features).fit(features, codes)
        for components in COMPONENTS:
            negative = components == "negative"
            yield "", 0, components, DNE(neighbours).fit(features, codes) if negative else every[:, :components]
        return
    for steps, map_ in paths(np.eye(n_features), features, codes, neighbours):
        yield "identity", steps, "all", map_
    if learner == "lmnn" or unit != UNITS[0]:
        return
    normal = np.random.default_rng(0).standard_normal((n_features, n_features))
    for (start, scale), dimensions in product(STARTS.items(), DIMENSIONS):
        first = scale * (normal if dimensions == "all" else normal[:, :dimensions])
        for steps, map_ in paths(first, features, codes, neighbours):
            yield start, steps, dimensions, map_


def paths(first: FloatArray, features: FloatArray, codes: np.ndarray, targets: int) -> Iterator[tuple[int, FloatArray]]:
    """Yield the map after each number of steps of L-BFGS from the ``first``, or where it ended before."""
    objective = lmnn_objective(features, codes, targets) if targets else None

    def at(flat: FloatArray) -> FloatArray:
        return flat.reshape(first.shape)

    def evaluate(flat: FloatArray) -> tuple[float, FloatArray]:
        found = objective.value_and_gradient(at(flat)) if objective else nca_objective(at(flat), features, codes)
        return found[0], found[1].ravel()

    path = [first]
    limits = {"maxiter": STEPS[-1], "maxfun": 20 * STEPS[-1]}
    rule: dict[str, Any] = {"method": "L-BFGS-B", "tol": None if targets else 1e-5, "options": limits}
    minimize(evaluate, first.ravel(), jac=True, callback=lambda flat: path.append(at(flat).copy()), **rule)
    for steps in STEPS:
        yield steps, path[min(steps, len(path) - 1)]


def report(found: pd.DataFrame) -> None:
    """Print what was found of each printed number, and which settings meet most."""
    means = found.groupby(["dataset", "learner", "kernel", *SETTING])["accuracy"].agg(["mean", "std", "size"])
    met: dict[tuple, int] = {}
    print()
    print_head("data", "learner", "printed", "ours", "settings that meet it", "nearest", "setting")
    for dataset, learner, kernel in means.index.droplevel(SETTING).unique():
        here, number = means.loc[dataset, learner, kernel], find_printed(dataset, learner, kernel or PLAIN)
        if number is None or number.value is None:
            continue
        errors = np.sqrt(here["std"] ** 2 / here["size"] + (number.std or 0.0) ** 2 / PRINTED_SPLITS)
        apart = (here["mean"] - number.value).abs()
        meets = apart <= np.maximum(2.0 * errors, number.rounding)
        for setting in here.index[meets]:
            met[learner, *setting] = met.get((learner, *setting), 0) + 1
        name = f"{kernel} {learner}".strip()
        mine, best = here["mean"][OURS[learner]], apart.idxmin()
        numbers = (number.text, f"{mine:.3f}", f"{meets.sum()} of {len(here)}", f"{here['mean'][best]:.3f}")
        print_row(dataset, name, *numbers, ", ".join(map(str, best)))
    print()
    print_head("learner", *SETTING, "numbers met")
    for learner in found["learner"].unique():
        counts = sorted((key for key in met if key[0] == learner), key=lambda key: -met[key])
        for key in [*counts[:5], (learner, *OURS[learner])]:
            print_row(*key, met.get(key, 0))


if __name__ == "__main__":
    main()
