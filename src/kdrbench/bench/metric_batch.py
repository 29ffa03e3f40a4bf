"""One job of the KPCA trick's tables: a data set and some of its random splits."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

# The paper's three, and alignment of centred kernels, with the prefixes of their names.
VARIANTS = {"plain": "", "cross_validated": "k", "aligned": "ak", "centred": "cak"}


@dataclass(frozen=True)
class MetricBatch:
    """Consecutive splits of a data set, with all that the configuration decides about their results.

    Each split is ``n_train`` samples drawn at random to learn from, the others to test. ``candidates`` are the kernels
    that the variants choose from, ``n_folds`` those of the cross validation. With ``test_selected``, rows hold the test
    accuracy of every candidate. Limits are not part of a batch: changing one must not rerun what has ended.
    """

    dataset: str
    data_sha256: str
    learners: tuple[str, ...]
    variants: tuple[str, ...]
    candidates: dict[str, Any]
    n_train: int
    n_folds: int
    test_selected: bool
    splits: tuple[int, ...]
    seed: int
    sources_sha256: str
    packages: dict[str, str]

    @property
    def splits_label(self) -> str:
        """The splits as they stand in file names: ``0-9``."""
        return f"{self.splits[0]}-{self.splits[-1]}"

    @property
    def path(self) -> str:
        """The batch's place below any folder of results, without extension."""
        return f"{self.dataset}/{self.splits_label}"

    @property
    def methods(self) -> list[tuple[str, str]]:
        """Learner and variant of each row that a split leaves."""
        return [(learner, variant) for learner in self.learners for variant in self.variants]

    @property
    def axes(self) -> list[tuple[str, int, str, str]]:
        """What names each row of the batch in the records."""
        return [(self.dataset, split, *method) for split in self.splits for method in self.methods]

    def to_json(self) -> str:
        """Return the batch as one line of JSON with sorted keys."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> MetricBatch:
        """Read what :meth:`to_json` wrote."""
        values = json.loads(text)
        return cls(**{**values, **{name: tuple(values[name]) for name in ("learners", "variants", "splits")}})

    @property
    def sha256(self) -> str:
        """Hash of everything the configuration says about the batch's results."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()
