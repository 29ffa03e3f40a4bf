"""Each reason of readings.toml explains, or names the search after which none is known."""

import tomllib
from importlib.resources import files

import pytest

from kdrbench.suite.experiments.config_file import read_config_file
from kdrbench.suite.findings.ledger import NONE_KNOWN
from support.checkout import ROOT, is_there, searches_in

WHYS = [
    reading["why"]
    for reading in tomllib.loads(
        files("kdrbench.suite.reports.tables").joinpath("readings.toml").read_text(encoding="utf-8")
    )["reading"]
    if "why" in reading
]


@pytest.fixture(scope="module")
def experiments():
    return read_config_file(ROOT / "config.yaml")["experiments"]


def test_each_reason_explains_or_names_its_search(experiments):
    silent = [why for why in WHYS if NONE_KNOWN.search(why) and not searches_in(why)]
    assert silent == []
    assert any(map(NONE_KNOWN.search, WHYS))
    for why in WHYS:
        assert all(is_there(name, experiments) for name in searches_in(why)), why


def test_what_names_no_reason_is_seen():
    whys = {
        "no reason is known; how this mean varies is not known": False,
        "ten draws (experiment one): no setting is known that meets it": False,
        "of 72 settings none meets the printed number (benchmarks/search.py)": False,
        "the printed cost comes out with class numbers": True,
        "the unit of the printed cost is not known": True,
    }
    assert {why: NONE_KNOWN.search(why) is None for why in whys} == whys
