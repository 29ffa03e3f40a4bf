"""Each reason of readings.toml explains, or names the search after which none is known; so do those of the record."""

import tomllib
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from kdrbench.commands.reports import read_systems
from kdrbench.packing.unpack import opened
from kdrbench.reports.ledger.published_vs_ours import compare, names_no_reason, searches_in, shares, unexplained
from kdrbench.reports.tables.verdicts import Verdict
from kdrbench.stages.config_file import read_config_file
from kdrbench.stages.results import read_frozen

ROOT = Path(__file__).resolve().parents[3]
WHYS = [
    reading["why"]
    for reading in tomllib.loads(
        files("kdrbench.reports.tables").joinpath("readings.toml").read_text(encoding="utf-8")
    )["reading"]
    if "why" in reading
]


@pytest.fixture(scope="module")
def experiments():
    return read_config_file(ROOT / "config.yaml")["experiments"]


@pytest.fixture(scope="module")
def ledger():
    """The published numbers beside those of the shipped record."""
    with opened(ROOT / "results/reference") as folder:
        config = read_frozen(folder / "config.json")
        return compare(read_systems(config, folder), config)


def is_there(name, experiments):
    return (ROOT / name).is_file() if "/" in name else name in experiments


def test_each_reason_explains_or_names_its_search(experiments):
    silent = [why for why in WHYS if names_no_reason(why) and not searches_in(why)]
    assert silent == []
    assert sum(map(names_no_reason, WHYS)) > 5
    for why in WHYS:
        assert all(is_there(name, experiments) for name in searches_in(why)), why


def test_searches_are_read_out_of_a_reason():
    assert searches_in("no setting is known (experiments one, two_3)") == ["one", "two_3"]
    assert searches_in("ten draws (experiment one); none (benchmarks/search.py)") == ["one", "benchmarks/search.py"]
    assert searches_in("no setting is known (of many)") == []


@pytest.mark.parametrize(
    ("why", "known"),
    [
        ("no reason is known", False),
        ("no reason is known; how this mean varies is not known", False),
        ("ten draws (experiment one): no setting is known that meets it", False),
        ("of 72 settings none meets the printed number (benchmarks/search.py)", False),
        ("the printed cost comes out with class numbers", True),
        ("the unit of the printed cost is not known", True),
    ],
)
def test_what_names_no_reason_is_seen(why, known):
    assert names_no_reason(why) is not known


def test_every_number_of_the_shipped_record_is_decided_and_has_a_reason(ledger, experiments):
    counts = Counter(one.verdict for one in ledger if one.first)
    assert counts[Verdict.NOT_RUN] == 0
    assert counts[Verdict.REPRODUCED] > 100
    unlike = [one for one in ledger if one.first and one.verdict in (Verdict.DIFFERS, Verdict.CLOSE)]
    assert [one for one in unlike if not one.why] == []
    unknown = unexplained(ledger)
    assert 0 < len(unknown) < len(unlike)
    for one in unknown:
        assert searches_in(one.why), one
        assert all(is_there(name, experiments) for name in searches_in(one.why)), one
    said = [line for line in shares(ledger) if "no reason that is known" in line]
    numbers = [line.partition("known: ")[2] for line in said]
    assert [words.split(", of which ")[0] for words in numbers] == [
        words.split(", of which ")[1].split()[0] for words in numbers
    ]
