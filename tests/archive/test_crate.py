"""The RO-Crate of a record: which files it holds, what it says of them, and whether its profile's validator agrees."""

import hashlib
import json
import types
import zipfile
from dataclasses import replace
from importlib.resources import files

import pytest

from kdrbench.suite.archive.crate import METADATA
from kdrbench.suite.experiments.results import read_results, write_results
from support.command_line import kdrbench
from support.record_folders import folder_of

FAILED = "http://schema.org/FailedActionStatus"
CONTEXT = "https://w3id.org/ro/crate/1.1/context"
# What a record cannot say: no address of kdrbench, no publisher, and no employer of an author.
NOT_SAID = {
    "The Application SHOULD have a url",
    "The `publisher` property of a `Root Data Entity` SHOULD be an `Organization`",
    "The SoftwareApplication id SHOULD be an absolute URI",
    "The author SHOULD have an organizational affiliation.",
    "The author SHOULD have a Contextual Entity which specifies the organizational `affiliation`.",
}


@pytest.fixture
def record(tmp_path):
    """The folder of a configuration called ``named``, beside the traces of its methods; some of its runs failed."""
    said = {"started_at": "2026-01-02T03:04:05+00:00", "wall_s": 2.0, "memory_mib": 64.0, "time_limit_s": 9.0}
    place = folder_of(tmp_path / "results" / "named", datasets=("wine", "mine"), **said)
    results, rows = read_results(place), []
    ends = {1: ("failed", "LinAlgError: singular"), 2: ("time_limit", "killed at 9 s")}
    for row in results.records["first"]:
        status, message = ends.get(row.run, ("", "")) if row.method == "dg" else ("", "")
        rows.append(replace(row, status=status, message=message) if status else row)
    write_results(place, replace(results, records={"first": rows}))
    (place.parent / "traces").mkdir()
    for method in ("ism", "dg"):
        (place.parent / "traces" / f"wine-{method}.jsonl").write_text("{}\n")
    return place


@pytest.fixture
def write(record, tmp_path):
    """Write a crate of the record by the command, and return its folder, or what the command says."""

    def write(*words, out="crate", code=0):
        done = kdrbench("pack", record, "--crate", "--out", tmp_path / out, *words)
        assert done.exit_code == code, done.output
        return tmp_path / out if code == 0 else done.output

    return write


def entities_of(crate):
    graph = json.loads((crate / METADATA).read_text())["@graph"]
    entities = {one["@id"]: one for one in graph}
    assert len(entities) == len(graph)
    return entities


def is_of(entity, kind):
    return kind in (entity["@type"] if isinstance(entity["@type"], list) else [entity["@type"]])


def references_in(value):
    if isinstance(value, dict):
        yield from [value["@id"]] if set(value) == {"@id"} else ()
        value = [*value.values()]
    if isinstance(value, list):
        for one in value:
            yield from references_in(one)


def test_a_crate_describes_every_file_and_has_no_dead_reference(write):
    crate = write("--author", "A. Person", "--licence", "CC0-1.0")
    entities = entities_of(crate)
    for entity in entities.values():
        for place in references_in({name: value for name, value in entity.items() if name != "@id"}):
            assert place in entities or place.startswith("https://"), place
    described = {name: entity for name, entity in entities.items() if is_of(entity, "File")}
    there = {str(path.relative_to(crate)) for path in crate.rglob("*") if path.is_file()}
    assert there == {*described, METADATA, ".kdrbench-crate"}
    for name, entity in described.items():
        content = (crate / name).read_bytes()
        assert (entity["contentSize"], entity["sha256"]) == (str(len(content)), hashlib.sha256(content).hexdigest())
    assert entities["./"]["license"] == {"@id": "https://spdx.org/licenses/CC0-1.0"}
    assert entities["./"]["author"] == {"@id": "#person/A.%20Person"}


def test_actions_and_rows_say_how_runs_ended_and_were_made(write, record):
    entities = entities_of(write())
    actions = [one for one in entities.values() if is_of(one, "CreateAction")]
    failed = [one for one in actions if one["actionStatus"] == FAILED]
    assert {one["error"] for one in failed} == {"failed: LinAlgError: singular", "time_limit: killed at 9 s"}
    # Two data sets and two kernels; the runs of a cell that were not stopped are one action.
    assert (len(failed), len(actions)) == (8, 8 + len({one["name"] for one in actions}))

    (action,) = [one for name, one in entities.items() if name.startswith("#action/first/wine/gaussian/ism/")]
    inputs = [entities[one["@id"]] for one in action["object"]]
    assert "results/named/config.json" in {one["@id"] for one in inputs}
    said = {one["name"]: one["value"] for one in inputs if is_of(one, "PropertyValue")}
    assert (said["kernel"], said["method"], said["run"]) == ("gaussian", "ism", "0, 1, 2")
    assert (said["time_limit_s"], said["definition_sha256"], said["data"]) == ("9.0", "d" * 64, "wine")
    assert (said["git_commit"], said["processor"]) == ("c" * 40, "processor one")
    made = {one["@id"] for one in action["result"]}
    assert made >= {"results/named/merged/first.csv", "results/traces/wine-ism.jsonl"}
    assert (action["startTime"], action["endTime"]) == ("2026-01-02T03:04:05+00:00", "2026-01-02T03:04:07+00:00")
    # Of a data set that is not registered name and hash are known.
    assert {entities[f"#data/{name}/{'e' * 64}"]["identifier"] for name in ("wine", "mine")} == {"e" * 64}
    crate = write()
    held = read_results(crate / "results/named").records["first"]
    assert held == read_results(record).records["first"]
    assert (crate / "results/traces" / held[0].provenance.trace_file).is_file()


def test_an_archive_holds_a_folders_files_and_replaces_archives(write, tmp_path):
    folder, archive = write(), write(out="crate.zip")
    with zipfile.ZipFile(archive) as opened:
        held = {name: opened.read(name) for name in opened.namelist()}
    assert held == {name: (folder / name).read_bytes() for name in held}
    assert METADATA in held
    assert write(out="crate.zip")
    (tmp_path / "mine.zip").write_text("mine")
    assert "mine.zip is there and is no crate; name another file" in write(out="mine.zip", code=2)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    assert "was not made by this command" in write(out="mine", code=2)
    assert (tmp_path / "mine.zip").read_text() == (tmp_path / "mine" / "thesis.txt").read_text() == "mine"


def test_what_cannot_be_written_is_said_in_a_sentence(write, record, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for words, message in (
        (["--licence", "free, as in beer"], "--licence is 'free, as in beer'; it must be a word of the SPDX list"),
        (["--layer", "1"], "--crate needs --out (FILE.zip or a folder), without --layer"),
    ):
        assert message in write(*words, code=2)
    done = kdrbench("pack", record / "ikdr.csv", "--crate", "--out", tmp_path / "crate")
    assert "name the folder of results" in done.output
    monkeypatch.setattr("kdrbench.suite.archive.crate.checkout", lambda: None)
    assert "there is no Snakefile, which a crate holds; work in a checkout" in write(code=2)


def test_the_crate_of_a_packed_record_has_its_licence(results, tmp_path):
    packed, crate = tmp_path / "packed", tmp_path / "crate"
    assert kdrbench("pack", results, "--out", packed, "--licence", "CC0-1.0").exit_code == 0
    assert kdrbench("pack", packed, "--crate", "--out", crate).exit_code == 0
    assert entities_of(crate)["./"]["license"] == {"@id": "https://spdx.org/licenses/CC0-1.0"}
    refused = kdrbench("pack", packed, "--crate", "--out", tmp_path / "other", "--licence", "MIT")
    assert f"{packed} is under CC0-1.0, not MIT: leave --licence out" in refused.output


@pytest.mark.whole
@pytest.mark.filterwarnings("default:ConjunctiveGraph:DeprecationWarning")
def test_a_crate_is_a_process_run_crate(write, monkeypatch, tmp_path):
    models = pytest.importorskip("rocrate_validator.models", reason="roc-validator is not installed: make develop")
    from rocrate_validator import services
    from rocrate_validator.utils.http import HttpRequester

    # The validator asks the network for the context of RO-Crate.
    context = json.loads((files("rocrate") / "data" / "ro-crate.jsonld").read_text())

    def get(_, url, **__):
        assert url == CONTEXT
        headers = {"Content-Type": "application/ld+json"}
        return types.SimpleNamespace(status_code=200, headers=headers, json=lambda: context, text=json.dumps(context))

    monkeypatch.setattr(HttpRequester, "get", get, raising=False)
    settings = models.ValidationSettings(
        rocrate_uri=str(write("--author", "A. Person", out="crate.zip")),
        profile_identifier="process-run-crate",
        requirement_severity=models.Severity.RECOMMENDED,
        offline=True,
        cache_path=tmp_path / "cache",
    )
    assert {issue.message for issue in services.validate(settings).get_issues()} <= NOT_SAID
