"""Records of runs that never were, for tests of progress, merging and what commands say of them."""

from typing import get_type_hints

from kdrbench.suite.engine.record import Provenance, column_types
from kdrbench.suite.systems.atlas.system import AtlasRecord
from kdrbench.suite.systems.ikdr.system import IKDRRecord
from kdrbench.suite.systems.league.system import LeagueRecord

_BLANK = {float: 0.0, int: 0, str: "", bool: False}


def record(dataset, method, number, **columns):
    """A row of IKDR; columns of its provenance may be named as well."""
    values = {"cost": -1311.0, "quality": 0.95, "quality_metric": "accuracy", "split": "folds"}
    return record_of(IKDRRecord, dataset, method, number, **(values | columns))


def atlas_record(dataset, method, number, **columns):
    """A row of an atlas, which charts the experiment ``cells_of``."""
    return record_of(AtlasRecord, dataset, method, number, **columns)


def league_record(dataset, method, number, **columns):
    """A row of a league."""
    return record_of(LeagueRecord, dataset, method, number, **columns)


def record_of(kind, dataset, method, number, **columns):
    """A row of a system's records, blank but for what is given."""
    values = {name: _BLANK.get(blank) for name, blank in column_types(kind).items()}
    values |= {"schema_version": kind.SCHEMA_VERSION, "experiment": "e", "dataset": dataset, "run": number}
    values |= {"kernel": "gaussian", "method": method, "paradigm": "supervised", "status": "converged", "time_s": 0.02}
    values |= {"time_limit_s": 2.0, "timed": True, "trace_file": f"{dataset}-{method}.jsonl"} | columns
    made = provenance(**{name: values.pop(name) for name in get_type_hints(Provenance)})
    fields = get_type_hints(kind)
    return kind(**{name: value for name, value in values.items() if name in fields}, provenance=made)


def provenance(**columns):
    return Provenance(**({name: _BLANK.get(hint) for name, hint in get_type_hints(Provenance).items()} | columns))
