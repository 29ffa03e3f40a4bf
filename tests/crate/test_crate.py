"""What a crate holds and says, also of records that were written to deceive."""

import hashlib
import json
import os
import re
import zipfile

import pytest
from click.testing import CliRunner

from kdrbench.datasets.registry import load_registry
from kdrbench.suite.cli import main
from kdrbench.suite.crate.contents import METADATA
from kdrbench.suite.verification.record import Record
from support.crates import change, entities_of
from support.record_folders import folder_of

FAILED = "http://schema.org/FailedActionStatus"


@pytest.fixture
def write(record, tmp_path):
    """Write a crate of the record by the command, and return its folder."""

    def write(*words, out="crate", code=0):
        done = CliRunner().invoke(main, ["crate", str(record), "--out", str(tmp_path / out), *words])
        assert done.exit_code == code, done.output
        return tmp_path / out if code == 0 else done.output

    return write


def is_of(entity, kind):
    return kind in (entity["@type"] if isinstance(entity["@type"], list) else [entity["@type"]])


def references_in(value):
    if isinstance(value, dict):
        if set(value) == {"@id"}:
            yield value["@id"]
        for one in value.values():
            yield from references_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from references_in(one)


def check_sound(crate):
    """Every reference within the crate leads to an entity, and every file is as described and described."""
    entities = entities_of(crate)
    for entity in entities.values():
        for place in references_in({name: value for name, value in entity.items() if name != "@id"}):
            assert place in entities or place.startswith("https://"), place
    files = {one: entity for one, entity in entities.items() if is_of(entity, "File")}
    there = {str(path.relative_to(crate)) for path in crate.rglob("*") if path.is_file()}
    assert there == {*files, METADATA, ".kdrbench-crate"}
    for name, entity in files.items():
        content = (crate / name).read_bytes()
        assert (entity["contentSize"], entity["sha256"]) == (str(len(content)), hashlib.sha256(content).hexdigest())
    return entities


def test_a_crate_describes_every_file_and_has_no_dead_reference(write):
    entities = check_sound(write("--author", "A. Person", "--licence", "CC0-1.0"))
    root = entities["./"]
    assert root["license"] == {"@id": "https://spdx.org/licenses/CC0-1.0"}
    assert root["author"] == {"@id": "#person/A.%20Person"}
    assert re.fullmatch(r"swh:1:dir:[0-9a-f]{40}", entities["Snakefile"]["identifier"])


def test_failed_and_stopped_runs_are_failed_actions(write):
    entities = entities_of(write())
    actions = [one for one in entities.values() if is_of(one, "CreateAction") and one["@id"] != "#run"]
    failed = {(one["error"], one["name"]): one for one in actions if one["actionStatus"] == FAILED}
    assert {error for error, _ in failed} == {"failed: LinAlgError: singular", "time_limit: killed at 9 s"}
    for (error, _), action in failed.items():
        inputs = [entities[place["@id"]] for place in action["object"]]
        run = "1" if error.startswith("failed") else "2"
        assert {one["name"]: one.get("value") for one in inputs if is_of(one, "PropertyValue")}["run"] == run
    # Both kinds of end come with two kernels; the runs of a cell that were not stopped are one action.
    assert (len(failed), len(actions)) == (4, 4 + len({one["name"] for one in actions}))
    assert all("error" not in one for one in actions if one["actionStatus"] != FAILED)


def test_an_action_has_inputs_results_times_and_environment(write):
    entities = entities_of(write())
    (action,) = [one for name, one in entities.items() if name.startswith("#action/first/wine/gaussian/ism/")]
    inputs = [entities[place["@id"]] for place in action["object"]]
    assert {"data/wine/", "results/named/config.json"} <= {one["@id"] for one in inputs}
    said = {one["name"]: one["value"] for one in inputs if is_of(one, "PropertyValue")}
    assert (said["kernel"], said["method"]) == ("gaussian", "ism")
    assert (said["run"], said["time_limit_s"], said["definition_sha256"]) == ("0, 1, 2", 9.0, "d" * 64)
    results = {place["@id"] for place in action["result"]}
    assert results >= {"results/named/merged/first.csv", "results/traces/wine-ism.jsonl"}
    used = {one["name"]: one["value"] for one in (entities[place["@id"]] for place in action["environment"])}
    assert (used["source"], used["processor"]) == (f"swh:1:rev:{'c' * 40}", "processor one")
    usage = {entities[place["@id"]]["name"]: entities[place["@id"]]["value"] for place in action["resourceUsage"]}
    assert usage == {"wall_s": 6.0, "memory_mib": 64.0}
    assert (action["startTime"], action["endTime"]) == ("2026-01-02T03:04:05+00:00", "2026-01-02T03:04:07+00:00")


def test_a_data_set_has_its_metadata_and_the_hash_of_the_run(write):
    crate = write()
    entities = entities_of(crate)
    wine = entities["data/wine/"]
    assert entities[wine["identifier"]["@id"]]["value"] == "e" * 64
    metadata = json.loads((crate / "data" / "wine" / "croissant.json").read_text())
    assert metadata["citeAs"] == load_registry()["wine"].citation


def test_the_record_in_a_crate_is_one_that_is_read_as_before(write, record):
    held = Record(write() / "results", "named")
    assert held.rows() == Record(record.parent, "named").rows()
    (row, *_) = held.rows()["ikdr"]
    assert (held.results / "traces" / row["trace_file"]).is_file()


def test_an_archive_holds_what_a_folder_does_byte_by_byte(write):
    folder, first, second = write(), write(out="first.zip"), write(out="second.zip")
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
        assert "data/wine/" in archive.namelist()
    assert held == {name: (folder / name).read_bytes() for name in held}
    assert write(out="first.zip")


def test_what_is_no_crate_is_not_replaced(write, tmp_path):
    (tmp_path / "mine.zip").write_text("mine")
    assert "mine.zip is there and is no crate; name another file" in write(out="mine.zip", code=2)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    assert "was not made by this command" in write(out="mine", code=2)
    assert (tmp_path / "mine.zip").read_text() == (tmp_path / "mine" / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--licence", "free, as in beer"], "--licence is 'free, as in beer'; it must be a word of the SPDX list"),
        (["--source", "."], "has no Snakefile, which a crate holds; name a checkout: --source"),
    ],
)
def test_what_cannot_be_written_is_said_in_a_sentence(write, words, said, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert said in write(*words, code=2)


def test_a_single_table_is_refused(record, tmp_path):
    words = ["crate", str(record / "ikdr.csv"), "--out", str(tmp_path / "crate")]
    assert "name the folder of results" in CliRunner().invoke(main, words).output


def test_a_users_own_data_set_is_known_by_name_and_hash(tmp_path):
    place = folder_of(tmp_path / "results", datasets=("mine", "wine"))
    done = CliRunner().invoke(main, ["crate", str(place), "--out", str(tmp_path / "crate")])
    assert done.exit_code == 0, done.output
    entities = check_sound(tmp_path / "crate")
    own = entities["#data/mine"]
    assert (own["@type"], own["name"], own["identifier"]) == (
        "CreativeWork",
        "mine",
        entities["data/wine/"]["identifier"],
    )


HOSTILE = '"}], "@id": "./", "@type": "Dataset" <script>\n\x1b[2J' + "x" * 5000


def test_words_of_a_record_stay_words(write, record):
    change(record, lambda row: row.run == 0, status="failed", message=HOSTILE, machine=HOSTILE, git_commit="../../etc")
    change(record, lambda row: row.run == 1, started_at="yesterday", wall_s=1e300, numpy_version='2"}]')
    entities = check_sound(write("--author", HOSTILE))
    assert sum(one["@id"] == "./" for one in entities.values()) == 1
    assert not any("<script>" in one or '"' in one for one in entities)
    reasons = {one["error"] for one in entities.values() if "error" in one and "script" in one["error"]}
    (reason,) = reasons
    assert reason.startswith('failed: "}], "@id": "./", "@type": "Dataset" <script>\\n\\x1b[2J')
    assert len(reason) < 1100
    assert not any(one.get("value", "") == "swh:1:rev:../../etc" for one in entities.values())


@pytest.mark.parametrize("trace", ["../../secret.jsonl", "linked.jsonl", "pipe.jsonl", "a\0b"])
def test_only_files_of_the_record_come_into_a_crate(write, record, tmp_path, trace):
    (tmp_path / "secret.jsonl").write_text("secret")
    (record.parent / "traces" / "linked.jsonl").symlink_to(tmp_path / "secret.jsonl")
    os.mkfifo(record.parent / "traces" / "pipe.jsonl")
    change(record, lambda row: True, trace_file=trace.format(tmp=tmp_path))
    crate = write()
    check_sound(crate)
    assert not any(b"secret" in path.read_bytes() for path in crate.rglob("*.jsonl"))
    assert not [path for path in crate.rglob("*.jsonl")]
