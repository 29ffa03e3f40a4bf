"""Snakemake starts jobs of this machine as soon as it can: the timers of its limit took time beside timed runs."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
from snakemake.cli import get_argument_parser
from snakemake.settings.types import SchedulingSettings

from kdrbench.suite.experiments.workflow import start_jobs_at_once

# Two jobs, one after the other, and a count of the timers that are left.
SNAKEFILE = """
import sys, threading
from kdrbench.suite.experiments.workflow import start_jobs_at_once

onstart:
    start_jobs_at_once(workflow)

onsuccess:
    left = sum(isinstance(one, threading.Timer) for one in threading.enumerate())
    print("timers left:", left, file=sys.stderr)

rule all:
    input: "0.txt", "1.txt"

rule one:
    output: "{name}.txt"
    shell: "touch {output}"
"""


def kept(words, local=True):
    """Whether the limit that the command line sets stays."""
    given = get_argument_parser().parse_args(["--cores", "1", *words]).max_jobs_per_timespan
    settings = SchedulingSettings(max_jobs_per_timespan=given)
    scheduler = SimpleNamespace(job_rate_limiter="a limit")
    start_jobs_at_once(SimpleNamespace(scheduling_settings=settings, local_exec=local, scheduler=scheduler))
    return scheduler.job_rate_limiter is not None


def test_the_limit_that_snakemake_sets_by_itself_is_dropped():
    assert not kept([])


def test_a_limit_that_was_asked_for_is_kept():
    for limit in ["100/1m", "50/1s", "1000/1s"]:
        assert kept(["--max-jobs-per-timespan", limit])


def test_jobs_of_a_cluster_are_submitted_by_its_rate():
    assert kept([], local=False)


@pytest.mark.whole
@pytest.mark.parametrize(("words", "there"), [([], False), (["--max-jobs-per-timespan", "99/1s"], True)])
def test_no_timer_is_left_after_a_real_run(tmp_path, words, there):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    run = [sys.executable, "-m", "snakemake", "--cores", "1", *words]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("timers left:")]
    assert (line != "timers left: 0") is there
