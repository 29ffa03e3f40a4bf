import os

import pytest

from support.slurm_cluster import SlurmCluster
from support.slurm_runs import quickly
from support.small_grid import ROOT, Workflow


@pytest.fixture(scope="module", autouse=True)
def own_cores(tmp_path_factory):
    """Let no timed batch of another checkout make a run wait: the locks of cores are in the temporary folder."""
    base = tmp_path_factory.getbasetemp()
    # Runs of this session, whichever worker of pytest-xdist starts them, keep apart as ever.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "tmp"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        yield


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A Slurm of one node; each module has its own, so that modules do not queue for it."""
    with SlurmCluster(tmp_path_factory.mktemp("slurm") / "cluster") as cluster:
        yield cluster


@pytest.fixture
def through_slurm(cluster, tmp_path):
    """The small grid's workflow with the profile for Slurm; its jobs share no locks of cores with other tests."""
    # A job starts Snakemake, and that starts it once more: it takes ten seconds.
    words = ["--profile", ROOT / "profiles" / "slurm", *quickly(first_check_s=10)]
    (tmp_path / "tmp").mkdir()
    return Workflow(tmp_path / "run", cluster.environment | {"TMPDIR": str(tmp_path / "tmp")}, words)
