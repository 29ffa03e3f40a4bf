import pytest

from slurm_cluster import SlurmCluster
from slurm_runs import quickly
from small_grid import ROOT, Workflow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A Slurm of one node; each module has its own, so that modules do not queue for it."""
    with SlurmCluster(tmp_path_factory.mktemp("slurm") / "cluster") as cluster:
        yield cluster


@pytest.fixture
def through_slurm(cluster, tmp_path):
    """The small grid's workflow with the profile for Slurm."""
    # A job starts Snakemake, and that starts it once more: it takes ten seconds.
    words = ["--profile", ROOT / "profiles" / "slurm", *quickly(first_check_s=10)]
    return Workflow(tmp_path / "run", cluster.environment, words)


@pytest.fixture
def sleeping_through_slurm(through_slurm, tmp_path):
    """The same for runs that sleep for minutes: no other test waits for the core that such a run owns."""
    (tmp_path / "tmp").mkdir()
    through_slurm.environment["TMPDIR"] = str(tmp_path / "tmp")
    return through_slurm
