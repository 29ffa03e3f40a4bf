"""A folder of made-up results, and the record that is packed of it; both are made once."""

import pytest

from support.command_line import kdrbench
from support.made_up_results import two_experiments, write_results


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "results"
    write_results(folder, two_experiments())
    return folder


@pytest.fixture(scope="session")
def packed(results):
    place = results.parent / "packed"
    done = kdrbench("pack", results, "--out", place)
    assert done.exit_code == 0, done.output
    return place
