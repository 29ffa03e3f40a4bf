"""The files by which archives, indexes and readers know kdrbench agree, and are what their formats ask for."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
# What a deposit may hold, and the words for some of it (developers.zenodo.org, "Deposit metadata").
ZENODO = {"upload_type", "access_right", "title", "description", "version", "license", "creators", "keywords", "notes"}
ZENODO |= {"related_identifiers", "publication_date", "contributors", "references", "communities", "grants", "language"}
RELATIONS = {"references", "isSupplementTo", "isDerivedFrom", "cites", "documents", "isDescribedBy"}


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("write_metadata", ROOT / "docs" / "write_metadata.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def project(script):
    return script.read_sources()[0]


def read(name):
    return yaml.safe_load((ROOT / name).read_text())


def test_the_files_are_what_make_metadata_writes(script):
    for name, text in script.metadata().items():
        assert (ROOT / name).read_text() == text, f"{name}: make metadata"


def test_all_files_say_the_same(project):
    citation, codemeta, zenodo = read("CITATION.cff"), read("codemeta.json"), read(".zenodo.json")
    assert citation["title"] == zenodo["title"] == codemeta["alternateName"]
    assert citation["title"].partition(":")[0] == codemeta["name"] == project["name"]
    assert citation["version"] == codemeta["version"] == zenodo["version"] == project["version"]
    assert citation["license"] == zenodo["license"] == project["license"]
    assert codemeta["license"].rpartition("/")[2] == project["license"]
    assert citation["abstract"] == codemeta["description"] == zenodo["description"] == project["description"]
    assert citation["keywords"] == codemeta["keywords"] == zenodo["keywords"] == project["keywords"]
    names = [author["name"] for author in project["authors"]]
    for file, key in ((citation, "authors"), (codemeta, "author"), (zenodo, "creators")):
        assert [author["name"] for author in file[key]] == names
    assert citation.get("repository-code") == codemeta.get("codeRepository") == project["urls"].get("Repository")


def test_the_licence_is_the_one_of_the_licence_file(project):
    assert (ROOT / "LICENSE").read_text().startswith(f"{project['license']} License")


def test_the_citation_has_the_form_of_cff():
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed: make develop")
    words = ["-m", "check_jsonschema", "--builtin-schema", "vendor.citation-file-format", str(ROOT / "CITATION.cff")]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_deposit_has_the_fields_of_zenodo_and_their_words():
    deposit = json.loads((ROOT / ".zenodo.json").read_text())
    assert set(deposit) <= ZENODO
    assert {"title", "upload_type", "description", "creators", "access_right", "license"} <= set(deposit)
    assert (deposit["upload_type"], deposit["access_right"]) == ("software", "open")
    for one in deposit["related_identifiers"]:
        assert one["relation"] in RELATIONS
        assert re.match(r"https://|10\.\d+/", one["identifier"])
