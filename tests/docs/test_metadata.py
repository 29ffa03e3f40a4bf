"""Metadata for archives and indexes, as `make metadata` writes it."""

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


def test_metadata_has_the_required_fields(script):
    files = script.metadata()
    project = script.read_sources()[0]
    assert (ROOT / "LICENSE").read_text().startswith(f"{project['license']} License")
    assert json.loads(files["codemeta.json"])["version"] == project["version"]
    deposit = json.loads(files[".zenodo.json"])
    assert {"title", "upload_type", "description", "creators", "access_right", "license"} <= set(deposit)


@pytest.mark.whole
def test_the_citation_has_the_form_of_cff():
    words = ["-m", "check_jsonschema", "--builtin-schema", "vendor.citation-file-format", str(ROOT / "CITATION.cff")]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
