"""The formats' own validators, without a network.

The validator of RO-Crate has the profiles in its package, but asks the network for the context of RO-Crate. It gets the
one that the package rocrate ships, which is a later version, with the four names that this version has moved.
"""

import json
import types
from importlib.resources import files

import pytest
from click.testing import CliRunner

from kdrbench.suite.cli import main

# The validator uses a class of rdflib that is to be replaced.
pytestmark = [pytest.mark.whole, pytest.mark.filterwarnings("default:ConjunctiveGraph:DeprecationWarning")]
CONTEXT = "https://w3id.org/ro/crate/1.1/context"
BIOSCHEMAS = "https://bioschemas.org/"
MOVED = {name: f"{BIOSCHEMAS}{name}" for name in ("ComputationalWorkflow", "FormalParameter")}
MOVED |= {name: f"{BIOSCHEMAS}ComputationalWorkflow#{name}" for name in ("input", "output")}
# What a record cannot say: no address of kdrbench, no version of Snakemake, no publisher, and no employer of an author.
# The fourth is said of a term of Bioschemas, not of the crate.
NOT_SAID = {
    "The Application SHOULD have a url",
    "The SoftwareApplication SHOULD have a version or softwareVersion",
    "The `publisher` property of a `Root Data Entity` SHOULD be an `Organization`",
    "The SoftwareApplication id SHOULD be an absolute URI",
    "The author SHOULD have an organizational affiliation.",
    "The author SHOULD have a Contextual Entity which specifies the organizational `affiliation`.",
}


@pytest.fixture
def validate(monkeypatch, tmp_path):
    """Return the messages of required, or of required and recommended, checks that a crate fails."""
    models = pytest.importorskip("rocrate_validator.models", reason="roc-validator is not installed: make develop")
    pytest.importorskip("rocrate", reason="rocrate is not installed: make develop")
    from rocrate_validator import services
    from rocrate_validator.utils.http import HttpRequester

    context = json.loads((files("rocrate") / "data" / "ro-crate.jsonld").read_text())
    context["@context"] |= MOVED

    def get(_, url, **__):
        assert url == CONTEXT
        headers = {"Content-Type": "application/ld+json"}
        return types.SimpleNamespace(status_code=200, headers=headers, json=lambda: context, text=json.dumps(context))

    monkeypatch.setattr(HttpRequester, "get", get, raising=False)

    def validate(crate):
        settings = models.ValidationSettings(
            rocrate_uri=str(crate),
            profile_identifier="provenance-run-crate",
            requirement_severity=models.Severity.RECOMMENDED,
            offline=True,
            cache_path=tmp_path / "cache",
        )
        return {issue.message for issue in services.validate(settings).get_issues()}

    return validate


@pytest.fixture
def crate(record, tmp_path):
    words = ["crate", str(record), "--out", str(tmp_path / "crate.zip"), "--author", "A. Person"]
    assert CliRunner().invoke(main, words).exit_code == 0
    return tmp_path / "crate.zip"


def test_a_crate_is_a_provenance_run_crate(crate, validate):
    assert validate(crate) <= NOT_SAID
