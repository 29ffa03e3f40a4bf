"""A batch's rows: of runs that ended, however they did, and of runs for which no budget was left."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from kdrbench.bench.fold import Fold
from kdrbench.bench.limits import Limits
from kdrbench.bench.outcome import RunOutcome
from kdrbench.bench.plan import Batch
from kdrbench.bench.provenance import provenance
from kdrbench.bench.quality import Judgement, Metric, metric_of
from kdrbench.bench.record import RunRecord
from kdrbench.bench.supervisor import End, Ending
from kdrbench.bench.terms import Terms
from kdrbench.solvers import Status

CONTAMINATED_RATIO = 1.1


@dataclass(frozen=True)
class Row:
    """What the rows of a batch have in common, and how to make one; ``place`` is the path of its job."""

    batch: Batch
    place: str
    limits: Limits
    terms: Terms
    shared: Mapping[str, Any]
    n_cores: int

    def of_run(
        self,
        number: int,
        fold: Fold,
        n_components: int | None,
        outcome: RunOutcome,
        ending: Ending,
        judgement: Judgement,
        started_at: str,
    ) -> RunRecord:
        """Return the row of a run that was made."""
        batch = self.batch
        return RunRecord(
            schema_version=RunRecord.SCHEMA_VERSION,
            experiment=batch.experiment,
            dataset=batch.dataset,
            kernel=batch.kernel,
            solver=batch.solver,
            fold=number,
            paradigm=batch.paradigm,
            split=str(batch.split),
            seed=batch.seed,
            **outcome.columns(),
            wall_s=ending.wall_s,
            memory_mib=ending.memory_mib,
            involuntary_switches=ending.involuntary_switches,
            contaminated=self._contaminated(outcome),
            **asdict(judgement),
            n_train=len(fold.train_labels),
            n_test=len(fold.test_labels),
            n_features=fold.train_features.shape[1],
            n_constant_features=fold.n_constant_features,
            n_components=n_components,
            time_limit_s=self.limits.time_s,
            memory_limit_mib=self.limits.memory_mib,
            timed=self.terms.timed,
            budget_s=self.terms.budget_s,
            calibration_after_s=None,
            load=round(os.getloadavg()[0], 2),
            trace_file=f"{self.place}.jsonl",
            started_at=started_at,
            batch_sha256=batch.sha256,
            definition_sha256=batch.definition_sha256,
            data_sha256=batch.data_sha256,
            solver_version=batch.solver_version,
            **self.shared,
        )

    def of_no_run(self, number: int, fold: Fold) -> RunRecord:
        """Return the row of a run that was left out because the budget of the grid is used up."""
        message = f"not run: the grid's budget of {self.terms.budget_s:g} s is used up"
        nothing = Ending(End.EXITED, 0, wall_s=0.0, memory_mib=0.0, involuntary_switches=0)
        metric = metric_of(fold) if self.batch.paradigm == "supervised" else Metric.NMI
        # Where q follows a rule, nobody has asked it.
        q = self.batch.n_components if isinstance(self.batch.n_components, int) else None
        skipped = RunOutcome(Status.SKIPPED, message)
        return self.of_run(number, fold, q, skipped, nothing, Judgement(metric), now())

    def _contaminated(self, outcome: RunOutcome) -> bool | None:
        """Return whether the run waited for its core; unknown without CPU seconds, and but for a single own core."""
        if outcome.time_s is None or outcome.cpu_s is None or not self.terms.timed or self.n_cores > 1:
            return None
        return outcome.time_s > CONTAMINATED_RATIO * outcome.cpu_s


def shared_columns(cores: tuple[int, ...]) -> dict[str, Any]:
    """Return the columns that all runs of this process have: where and with what they are made."""
    return {**provenance(), "cores": ",".join(map(str, cores))}


def now() -> str:
    """Return the time of day to the second, in universal time."""
    return datetime.now(UTC).isoformat(timespec="seconds")
