"""Croissant metadata of every registered set: what the registry says, in the form that the format asks for."""

import json

import pytest
from click.testing import CliRunner

from kdrbench.datasets.card import collection_of, facts_of
from kdrbench.datasets.croissant import croissant, croissant_text
from kdrbench.datasets.registry import load_registry
from kdrbench.suite.cli import main

# The validator uses a class of rdflib that is to be replaced.
pytestmark = pytest.mark.filterwarnings("default:ConjunctiveGraph:DeprecationWarning")
ENTRIES = load_registry()
RESPONSIBLE = ("Collection", "Biases", "ImputationProtocol", "PreprocessingProtocol", "UseCases")


def test_every_set_says_what_responsible_use_needs():
    for entry in ENTRIES.values():
        made = croissant(entry)
        assert all(made[f"rai:data{field}"] for field in RESPONSIBLE), entry.name
        assert made["rai:personalSensitiveInformation"], entry.name
        # How a generated set came about follows from its being generated.
        assert bool(entry.collection) != entry.generated, entry.name


def test_what_is_said_is_said_by_the_data_card_as_well():
    for entry in ENTRIES.values():
        card = {text for _, text, _ in facts_of(entry)}
        made = croissant(entry)
        said = [value for name, value in made.items() if name.startswith("rai:") and name != "rai:dataUseCases"]
        assert {*said, made["citeAs"]} <= card, entry.name


def test_files_have_their_registered_hashes_and_addresses():
    made = croissant(ENTRIES["ionosphere"])
    (file,) = made["distribution"]
    (source,) = ENTRIES["ionosphere"].files
    assert (file["sha256"], file["contentUrl"], file["contentSize"]) == (
        source.sha256,
        source.urls[0],
        f"{source.size} B",
    )
    assert [row["classes/samples"] for row in made["recordSet"][0]["data"]] == [126, 225]
    assert made["license"] == "https://creativecommons.org/licenses/by/4.0/"
    assert ENTRIES["ionosphere"].content_sha256 in made["description"]


def test_what_is_known_of_a_set_is_said_and_no_more():
    assert "20 persons" in croissant(ENTRIES["face-20"])["rai:personalSensitiveInformation"]
    assert croissant(ENTRIES["wine"])["creator"]["name"] == ENTRIES["wine"].citation.partition(":")[0]
    assert "creator" not in croissant(ENTRIES["flower"])
    assert croissant(ENTRIES["iris"])["rai:dataBiases"] == "None are recorded here."
    assert collection_of(ENTRIES["scaling-125"]) == "Drawn by a seeded generator of kdrbench."


def test_the_command_prints_the_document():
    done = CliRunner().invoke(main, ["data", "croissant", "wine"])
    assert json.loads(done.output) == croissant(ENTRIES["wine"])
    done = CliRunner().invoke(main, ["data", "croissant", "wina"])
    assert done.exit_code == 2
    assert "wine" in done.output


@pytest.mark.whole
def test_the_formats_own_validator_finds_no_fault(tmp_path):
    import mlcroissant

    for entry in ENTRIES.values():
        issues = mlcroissant.Dataset(_written(entry, tmp_path)).metadata.ctx.issues
        # A generated set has no date and no page.
        allowed = ("datePublished", "url") if entry.generated else ()
        warnings = [one for one in issues.warnings if not any(f'schema.org/{name}"' in one for name in allowed)]
        assert (sorted(issues.errors), warnings) == ([], []), entry.name


def _written(entry, folder):
    path = folder / f"{entry.name}.json"
    path.write_text(croissant_text(entry), encoding="utf-8")
    return str(path)
