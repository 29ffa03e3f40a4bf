"""The paper has the form that the Journal of Open Source Software asks for, and leaves numbers to records."""

import re
from pathlib import Path

import pytest
import yaml
from pybtex.database import parse_file

ROOT = Path(__file__).parents[2]
SECTIONS = ["Summary", "Statement of need", "State of the field", "Software design", "Research impact statement"]
SECTIONS += ["AI usage disclosure", "Acknowledgements", "References"]
FEWEST_WORDS, MOST_WORDS = 750, 1750
# What an entry of each type cannot do without, beside author, title and year; one of each group.
WHERE = {
    "article": [{"journal"}, {"volume"}],
    "inproceedings": [{"booktitle"}],
    "misc": [{"howpublished", "doi", "url"}],
}
_CITATIONS = re.compile(r"\[(@[^\]]+)\]")


@pytest.fixture(scope="module")
def paper():
    """Return the metadata and the text of the paper."""
    _, front, text = (ROOT / "paper" / "paper.md").read_text().split("---\n", 2)
    return yaml.safe_load(front), text


@pytest.fixture(scope="module")
def entries():
    return parse_file(ROOT / "paper" / "paper.bib").entries


def test_the_front_matter_names_title_authors_places_date_and_references(paper):
    front, _ = paper
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert front["title"] == citation["title"]
    assert [author["name"] for author in front["authors"]] == [author["name"] for author in citation["authors"]]
    places = {place["index"] for place in front["affiliations"] if place["name"]}
    assert {author["affiliation"] for author in front["authors"]} <= places
    assert re.fullmatch(r"\d{1,2} [A-Z][a-z]+ \d{4}", front["date"])
    assert (ROOT / "paper" / front["bibliography"]).is_file()
    assert len(front["tags"]) > 2


def test_the_sections_are_those_of_the_journal_in_their_order(paper):
    assert re.findall(r"^# (.*)$", paper[1], re.M) == SECTIONS


def test_the_paper_has_the_length_that_is_asked_for(paper):
    words = re.findall(r"\b[\w'-]+\b", _CITATIONS.sub("", paper[1]))
    assert FEWEST_WORDS <= len(words) <= MOST_WORDS


def test_every_citation_has_its_entry_and_every_entry_is_cited(paper, entries):
    cited = {key.strip().removeprefix("@") for group in _CITATIONS.findall(paper[1]) for key in group.split(";")}
    assert cited == set(entries)


def test_entries_are_complete(entries):
    for key, entry in entries.items():
        assert entry.persons["author"], key
        assert entry.fields["title"], key
        assert re.fullmatch(r"(19|20)\d\d", entry.fields["year"]), key
        for group in WHERE[entry.type]:
            assert group & set(entry.fields), f"{key} names none of {group}"
        if "doi" in entry.fields:
            assert re.fullmatch(r"10\.\d{4,9}/\S+", entry.fields["doi"]), key


def test_no_number_is_typed(paper):
    # Results belong to a record: what holds of one is generated from it.
    assert re.findall(r"^.*\d.*$", _CITATIONS.sub("", paper[1]), re.M) == []
