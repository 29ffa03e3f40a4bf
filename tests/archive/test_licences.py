"""The licence of a packed record is its makers' to give: said once, it is in all that the record says of itself."""

import json

import pytest

from archive.conftest import kdrbench
from kdrbench.suite.archive import MANIFEST


def licence_of_crate(record, out, *words):
    done = kdrbench("pack", record, "--crate", "--out", out, *words)
    assert done.exit_code == 0, done.output
    entities = json.loads((out / "ro-crate-metadata.json").read_text())["@graph"]
    return next(one["license"]["@id"] for one in entities if one["@id"] == "./")


@pytest.mark.parametrize("word", ["CC-BY-4.0", "CC0-1.0"])
def test_a_record_and_its_crate_have_the_licence_given(results, packed, tmp_path, word):
    record = packed
    if word != "CC-BY-4.0":
        record = tmp_path / "record"
        assert kdrbench("pack", results, "--out", record, "--licence", word).exit_code == 0
    assert (record / "LICENSE").read_text().startswith(f"SPDX-License-Identifier: {word}\n")
    assert f"The licence is {word}, see LICENSE." in (record / "README.md").read_text()
    assert json.loads((record / MANIFEST).read_text())["licence"] == word
    assert licence_of_crate(record, tmp_path / "crate") == f"https://spdx.org/licenses/{word}"


def test_a_crate_gives_a_packed_record_no_other_licence(packed, tmp_path):
    done = kdrbench("pack", packed, "--crate", "--out", tmp_path / "crate", "--licence", "MIT")
    assert done.exit_code == 2
    assert f"{packed} is under CC-BY-4.0, not MIT: leave --licence out" in done.stderr
