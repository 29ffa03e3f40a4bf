"""The paper and the citation have the form that journals and archives ask for; numbers are left to records."""

import re
import subprocess
import sys

import pytest
import yaml
from pybtex.database import parse_file

from support.checkout import ROOT

pytestmark = pytest.mark.whole

SECTIONS = ["Summary", "Statement of need", "State of the field", "Software design", "Research impact statement"]
SECTIONS += ["AI usage disclosure", "Acknowledgements", "References"]
# An entry of each type names one of each group, beside author, title and year.
WHERE = {"article": [{"journal"}, {"volume"}], "inproceedings": [{"booktitle"}]}
WHERE |= {"misc": [{"howpublished", "doi", "url"}]}
_CITATIONS = re.compile(r"\[(@[^\]]+)\]")


def test_the_paper_has_the_form_of_the_journal():
    _, front, text = (ROOT / "docs/paper/paper.md").read_text().split("---\n", 2)
    front, citation = yaml.safe_load(front), yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert front["title"] == citation["title"]
    assert [author["name"] for author in front["authors"]] == [author["name"] for author in citation["authors"]]
    assert re.findall(r"^# (.*)$", text, re.M) == SECTIONS
    prose = _CITATIONS.sub("", text)
    assert 750 <= len(re.findall(r"\b[\w'-]+\b", prose)) <= 1750
    # Results belong to a record.
    assert re.findall(r"^.*\d.*$", prose, re.M) == []
    entries = parse_file(ROOT / "docs/paper" / front["bibliography"]).entries
    assert {key.strip(" @") for group in _CITATIONS.findall(text) for key in group.split(";")} == set(entries)
    for key, entry in entries.items():
        assert entry.persons["author"], key
        assert {"title", "year"} <= set(entry.fields), key
        assert all(group & set(entry.fields) for group in WHERE[entry.type]), key


def test_the_citation_has_the_form_of_cff():
    words = ["-m", "check_jsonschema", "--builtin-schema", "vendor.citation-file-format", str(ROOT / "CITATION.cff")]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
