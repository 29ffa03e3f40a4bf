"""A record of made-up runs, some of which failed, with a trace of each method."""

import pytest

from support.crates import change
from support.record_folders import folder_of

STARTED = "2026-01-02T03:04:05+00:00"


@pytest.fixture
def record(tmp_path):
    """The folder of a configuration called ``named``, beside the traces of its methods."""
    place = folder_of(tmp_path / "results" / "named", started_at=STARTED, wall_s=2.0, memory_mib=64.0, time_limit_s=9.0)
    change(place, lambda row: row.method == "dg" and row.run == 1, status="failed", message="LinAlgError: singular")
    change(place, lambda row: row.method == "dg" and row.run == 2, status="time_limit", message="killed at 9 s")
    traces = place.parent / "traces"
    traces.mkdir()
    for method in ("ism", "dg"):
        (traces / f"wine-{method}.jsonl").write_text("{}\n")
    return place
