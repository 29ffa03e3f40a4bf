"""What a site says of claims, of data sets, and how to cite it."""

import re
from dataclasses import replace
from html import unescape

import pytest

from kdrbench.suite.reports.records import read_results
from kdrbench.suite.reports.site.pages import write_site
from kdrbench.suite.reports.site.record import site_record
from support.dashboard_grid import a_claim
from support.record_folders import folder_of

# What the first and the second record decide of each claim; ``None`` where no experiment asks.
DECIDED = {
    "ISM is lowest.": ("confirmed", "contradicted"),
    "ISM is quickest.": ("confirmed", "confirmed"),
    "DG is slow.": ("contradicted", None),
    "Kernels are alike.": ("mostly confirmed", "undecided"),
    "It is open.": ("undecided", "undecided"),
}


def claims(place):
    return [
        a_claim() | {"claim": words, "verdict": verdicts[place], "measure": f"{place + 1} of 9", "note": "A note."}
        for words, verdicts in DECIDED.items()
        if verdicts[place]
    ]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    records = []
    for place, name in enumerate(("first", "second")):
        made = site_record(name, read_results(folder_of(folder / name)), folder / "site/records" / name)
        records.append(replace(made, claims=claims(place)))
    write_site(folder / "site", records)
    return folder / "site"


def words_of(part):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", part))).strip()


def rows_of(page, table):
    """The cells of a table's body, in words; ``table`` is part of its caption."""
    body = re.search(rf"{table}</caption>.*?<tbody>(.*?)</tbody>", page, re.DOTALL)[1]
    cells = [re.findall(r"<t[dh]\b[^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in body.split("<tr>")[1:]]
    return [list(map(words_of, row)) for row in cells]


def test_claims_of_two_records_are_side_by_side(site):
    page = (site / "claims.html").read_text()
    rows = {row[0]: row[3:] for row in rows_of(page, "Claims by record")}
    assert {claim: row[0] for claim, row in rows.items()} == {
        "ISM is lowest.": "differ",
        "ISM is quickest.": "agree",
        "DG is slow.": "one decides",
        "Kernels are alike.": "one decides",
    }
    first, second = rows["ISM is lowest."][1:]
    assert first == "confirmed 1 of 9 Evidence 1 s in place of 2 s A note."
    assert second.startswith("contradicted 2 of 9 Evidence")
    assert rows["DG is slow."][2] == "not asked"
    assert rows["Kernels are alike."][2].startswith("undecided")
    (_, open_ones) = page.split("Claims that no record decides")
    assert "It is open. NeurIPS 2019, Table 4" in words_of(open_ones)


def test_claims_decided_otherwise_are_among_what_changed(site):
    rows = rows_of((site / "changes-first-and-second.html").read_text(), "Claims")
    assert rows == [
        ["ISM is lowest.", "confirmed: 1 of 9", "contradicted: 2 of 9"],
        ["ISM is quickest.", "confirmed: 1 of 9", "confirmed: 2 of 9"],
        ["Kernels are alike.", "mostly confirmed: 1 of 9", "undecided: 2 of 9"],
        ["It is open.", "undecided: 1 of 9", "undecided: 2 of 9"],
    ]
