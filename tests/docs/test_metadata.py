"""The files by which archives, indexes and readers know kdrbench are those that `make metadata` writes."""

import importlib.util
import json
import subprocess
import sys

import pytest

from support.checkout import ROOT


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("write_metadata", ROOT / "docs" / "write_metadata.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_are_what_make_metadata_writes(script):
    for name, text in script.metadata().items():
        assert (ROOT / name).read_text() == text, f"{name}: make metadata"
    project = script.read_sources()[0]
    assert (ROOT / "LICENSE").read_text().startswith(f"{project['license']} License")
    deposit = json.loads((ROOT / ".zenodo.json").read_text())
    assert {"title", "upload_type", "description", "creators", "access_right", "license"} <= set(deposit)


@pytest.mark.whole
def test_the_citation_has_the_form_of_cff():
    words = ["-m", "check_jsonschema", "--builtin-schema", "vendor.citation-file-format", str(ROOT / "CITATION.cff")]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
