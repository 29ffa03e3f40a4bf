"""Two schedulers on one folder of results: nothing is doubled, nothing is lost."""

import os
import platform

import pytest

from kdrbench.suite.engine.isolation.supervisor import SupervisionError
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.publish import publish
from support.one_batch import alone, context_of, files_in
from support.tiny_system import DATA, TinySystem, tiny_batch

ME = f"{os.getpid()} on {platform.node()}"


def test_a_job_is_made_by_one_process_until_it_is_published(tmp_path, monkeypatch):
    files, batch = files_in(tmp_path), tiny_batch(runs=[0])
    lock = files.workspaces / f"{batch.path}.job.lock"

    def make():
        run_job(TinySystem(), alone(batch), lambda name: DATA, context_of(), files)

    def meanwhile(*words):
        with pytest.raises(SupervisionError, match=rf"another process works on .*rows.jsonl; .* process {ME}"):
            make()
        return publish(*words)

    monkeypatch.setattr("kdrbench.suite.engine.job.publish", meanwhile)
    lock.parent.mkdir(parents=True)
    lock.write_text("1 on a machine where it was killed")
    make()
    assert files.records.read_text().count("\n") == 2
    assert lock.read_text() == ""
