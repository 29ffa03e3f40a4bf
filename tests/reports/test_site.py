"""Reports of several records: a page with their dashboards and claims side by side."""

import json
import re

import pytest

from kdrbench.suite.reports.site import claims_by_record
from support.command_line import kdrbench
from support.dashboard_grid import a_claim
from support.made_up_results import two_experiments, write_results

HOSTILE = "<b> onerror=alert(1)"


@pytest.mark.slow("makes all reports of two records")
def test_an_index_leads_to_the_dashboard_of_each_record(tmp_path):
    first = tmp_path / "laptop"
    for folder in (first, tmp_path / HOSTILE):
        write_results(folder, two_experiments())
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    config = json.loads((first / "config.json").read_text())
    config["solvers"]["ism"]["method"] = str(tmp_path / "own.py")
    (first / "config.json").write_text(json.dumps(config))
    done = kdrbench("report", first, tmp_path / HOSTILE, "--out", tmp_path / "site", "--jobs", 2)
    assert done.exit_code == 0, done.output
    index = (tmp_path / "site/index.html").read_text()
    pages = [f"{name}/dashboard.html" for name in ("laptop", "%3Cb%3E%20onerror%3Dalert%281%29")]
    assert re.findall(r'href="([^"]*)"', index) == pages
    assert all((tmp_path / "site" / name / "dashboard.html").is_file() for name in ("laptop", HOSTILE))
    assert "<b>" not in index
    # Code that a record names is not run.
    assert not (tmp_path / "ran").exists()


def test_records_of_one_name_are_refused(tmp_path):
    done = kdrbench("report", tmp_path / "a/results", tmp_path / "b/results", "--out", tmp_path / "site")
    assert (done.exit_code, "a folder of another name each" in done.output) == (2, True)


# What the first and the second record decide of each claim, and whether they agree; ``None`` where none asks.
DECIDED = {
    "ISM is lowest.": ("confirmed", "contradicted", "differ"),
    "ISM is quickest.": ("confirmed", "confirmed", "agree"),
    "DG is slow.": ("contradicted", None, "one decides"),
    "Kernels are alike.": ("mostly confirmed", "undecided", "one decides"),
    "It is open.": ("undecided", "undecided", "none decides"),
}


def test_claims_of_two_records_are_side_by_side():
    read = {
        name: [a_claim() | {"claim": claim, "verdict": of[place]} for claim, of in DECIDED.items() if of[place]]
        for place, name in enumerate(("first", "second"))
    }
    for row in (rows := claims_by_record(read)):
        assert DECIDED[row["claim"]] == (*(one and one["verdict"] for one in row["by"].values()), row["records"])
    assert len(rows) == len(DECIDED)
