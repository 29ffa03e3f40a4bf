"""The system: from an experiment to cells, from a batch to runs, and what its rows show."""

from typing import ClassVar

import numpy as np

from kdrbench.suite.engine.recomputed import Number, Recomputed
from kdrbench.suite.engine.seeds import rng_of
from kdrbench.suite.engine.system import Cell, System
from nearest_mean.record import NearestMeanRecord
from nearest_mean.run import run_half


class NearestMeanSystem(System):
    """One cell for each data set, one run for each random half, one row for each shrinkage."""

    record = NearestMeanRecord
    schema: ClassVar = {
        "required": ["shrinkages", "draws"],
        "properties": {
            "shrinkages": {
                "type": "array",
                "items": {"type": "number", "minimum": 0, "maximum": 1},
                "minItems": 1,
                "description": "how far class means are drawn to the overall mean; each leaves a row",
            },
            "draws": {"type": "integer", "minimum": 1, "description": "random halves of each data set"},
        },
    }

    def expand(self, name, config):
        """Yield the data sets."""
        experiment = config["experiments"][name]
        for dataset in experiment["datasets"]:
            yield Cell(
                dataset,
                names=(),
                definition={"shrinkages": experiment["shrinkages"]},
                n_runs=experiment["draws"],
                run_s=0.01,
                rows=tuple((float(shrinkage),) for shrinkage in experiment["shrinkages"]),
            )

    def run(self, batch, dataset, number, referee):
        """Fit on one half, score on the other."""
        yield from run_half(dataset, [key[0] for key in batch.rows], number, batch.seed, referee)

    def table(self, rows, name, experiment):
        """Return mean accuracies by data set and shrinkage."""
        from kdrbench.suite.reports.tables.table import Entry, Table, entries

        means = rows.groupby(["dataset", "shrinkage"])["accuracy"].mean().unstack("shrinkage")
        block = [
            [*entries([dataset]), *(Entry(f"{value:.3f}", float(value)) for value in line)]
            for dataset, line in zip(means.index, means.to_numpy(), strict=True)
        ]
        columns = ["data set", *(f"shrinkage {one:g}" for one in means.columns)]
        return Table(name, experiment["title"], columns, [block])

    def figure(self, rows, name, experiment):
        """Return mean accuracies against shrinkage, a curve for each data set."""
        from kdrbench.suite.reports.figures.chart import Axis, Chart, Panel, Series

        means = rows.groupby(["dataset", "shrinkage"])["accuracy"].mean()
        curves = [Series(one, means[one].index.tolist(), means[one].tolist()) for one in means.index.unique("dataset")]
        panel = Panel("", Axis("shrinkage"), Axis("accuracy"), curves)
        return Chart(name, experiment["title"], "Means over runs.", [panel])

    def claims(self):
        """Return the claim that no class mean is worse than guessing."""
        from kdrbench.suite.findings.finding import Claim, decided_by_rows

        def decide(rows):
            return decided_by_rows(rows, holds="accuracy > 0.5", number="accuracy", extreme="lowest {least:.3f}")

        return [Claim("Shrunken means are better than guessing", "Nearest means", "", decide)]

    def recompute(self, batch, row, arrays, dataset, most_samples):
        """Return the accuracy of a row, computed again from the data by scikit-learn."""
        from sklearn.neighbors import KNeighborsClassifier

        order = rng_of("half", dataset.name, int(row["run"]), batch.seed).permutation(len(dataset.labels))
        train, test = np.array_split(order, 2)
        features, labels = dataset.features, dataset.labels
        centres = np.array([features[train][labels[train] == code].mean(axis=0) for code in np.unique(labels)])
        centres += float(row["shrinkage"]) * (features[train].mean(axis=0) - centres)
        nearest = KNeighborsClassifier(1).fit(centres, np.unique(labels))
        return Recomputed({"accuracy": Number(nearest.score(features[test], labels[test]), 1e-12)})
