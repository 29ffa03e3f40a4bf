"""Snakemake starts jobs of this machine as soon as it can: the timers of its limit took time beside timed runs."""

from types import SimpleNamespace

import pytest
from snakemake.cli import get_argument_parser
from snakemake.settings.types import MaxJobsPerTimespan, SchedulingSettings

from kdrbench.stages.workflow import start_jobs_at_once


def limit_after(words, nodes=None):
    """What is left of the limit that the command line sets."""
    given = get_argument_parser().parse_args(["--cores", "1", *words]).max_jobs_per_timespan
    workflow = SimpleNamespace(
        scheduling_settings=SchedulingSettings(max_jobs_per_timespan=given),
        resource_settings=SimpleNamespace(nodes=nodes),
    )
    start_jobs_at_once(workflow)
    return workflow.scheduling_settings.max_jobs_per_timespan


def test_the_limit_that_snakemake_sets_by_itself_is_dropped():
    assert limit_after([]) is None


@pytest.mark.parametrize("limit", ["100/1m", "50/1s", "1000/1s"])
def test_a_limit_that_was_asked_for_is_kept(limit):
    kept, asked = limit_after(["--max-jobs-per-timespan", limit]), MaxJobsPerTimespan.parse_choice(limit)
    assert (kept.max_jobs, kept.timespan) == (asked.max_jobs, asked.timespan)


def test_jobs_of_a_cluster_are_submitted_by_its_rate():
    assert limit_after([], nodes=8) is not None


@pytest.mark.parametrize("settings", [None, SchedulingSettings()])
def test_a_start_that_runs_nothing_has_no_limit_to_drop(settings):
    start_jobs_at_once(SimpleNamespace(scheduling_settings=settings))
