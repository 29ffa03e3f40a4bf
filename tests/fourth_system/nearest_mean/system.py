"""The system: from an experiment to cells, from a batch to runs, and what its rows show."""

from kdrbench.suite.engine.system import Cell, System
from nearest_mean.claims import claims_of_shrinkage
from nearest_mean.config import SCHEMA
from nearest_mean.figure import accuracy_chart
from nearest_mean.recompute import accuracy_of
from nearest_mean.record import NearestMeanRecord
from nearest_mean.run import run_half
from nearest_mean.table import means_table


class NearestMeanSystem(System):
    """One cell for each data set, one run for each random half, one row for each shrinkage."""

    record, schema = NearestMeanRecord, SCHEMA

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
        return means_table(rows, name, experiment["title"])

    def figure(self, rows, name, experiment):
        """Return mean accuracies against shrinkage."""
        return accuracy_chart(rows, name, experiment["title"])

    def claims(self):
        """Return what is claimed of all rows."""
        return claims_of_shrinkage()

    def recompute(self, batch, row, arrays, dataset, most_samples):
        """Return the accuracy of a row, computed again from the data."""
        from kdrbench.suite.engine.recomputed import Number, Recomputed

        accuracy = accuracy_of(dataset, float(row["shrinkage"]), int(row["run"]), batch.seed)
        return Recomputed({"accuracy": Number(accuracy, 1e-12)})
