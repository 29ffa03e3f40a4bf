import os

import pytest


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
