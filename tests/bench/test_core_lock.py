import os
import subprocess
import sys

import pytest

from kdrbench.bench.isolation.core_lock import owned_cores
from kdrbench.errors import InputError


def test_the_owner_runs_on_its_cores_alone_and_gives_them_back(tmp_path):
    before = os.sched_getaffinity(0)
    with owned_cores(1, tmp_path) as cores:
        assert os.sched_getaffinity(0) == set(cores)
        assert len(cores) == 1
    assert os.sched_getaffinity(0) == before


def test_two_owners_never_share_a_core(tmp_path):
    count = len(os.sched_getaffinity(0))
    script = (
        "from pathlib import Path; from kdrbench.bench.isolation.core_lock import owned_cores\n"
        f"with owned_cores({count}, Path({str(tmp_path)!r})): print('mine', flush=True)"
    )
    with owned_cores(count, tmp_path):
        # The other process sees every core, as jobs of another Snakemake would.
        other = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(timeout=1.5)
    assert other.communicate(timeout=60)[0] == "mine\n"


def test_more_threads_than_cores_are_refused(tmp_path):
    with pytest.raises(InputError, match="asks for 1000 threads, this machine lends"), owned_cores(1000, tmp_path):
        pass
