"""State of a job that was killed with two of its three runs finished, and then damaged: what is made again."""

import json
import os
import shutil
import signal
from functools import cache

import numpy as np
import pytest

from kdrbench.datasets import PreparedFolder, load_dataset, save_prepared
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.workspace import Workspace
from kdrbench.suite.systems.ikdr import monitor
from support.damage import DAMAGES, flip_bit, strike
from support.one_batch import IKDR, alone, batch_of, context_of, files_in, wait_until_free

# What does not depend on when and where a run was made.
COMPARED = ("status", "message", "iterations", "value_calls", "gradient_calls", "surrogate_calls", "cost", "quality")
LIMITS = Limits(time_s=60.0, memory_mib=512)


@cache
def batch():
    return batch_of("support.misbehaving:IsKilledOnTheWay", folds=3, options={"victim": "batch"})


def run(folder):
    """Run the job; return its rows, without times, and its arrays."""
    prepared = PreparedFolder(folder / "data", {"wine": batch().data_sha256})
    context = context_of(LIMITS)
    rows = run_job(IKDR, alone(batch()), prepared.load, context, files_in(folder))
    with np.load(folder / "findings.npz") as findings:
        arrays = {name: array.tobytes() for name, array in findings.items()}
    return {row.axes: [getattr(row, name) for name in COMPARED] for row in rows}, arrays


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Return a folder in which the third run was killed, with its job, and what an undisturbed job gives."""
    base = tmp_path_factory.mktemp("kept")
    state, clean, note = base / "state", base / "clean", base / "note"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KILLED_NOTE", str(note))
        patch.setattr(monitor, "CHECKPOINT_EVERY_S", 0.0)
        note.touch()
        for folder in (state, clean):
            (folder / "data").mkdir(parents=True)
            save_prepared(load_dataset("wine"), folder / "data/wine.npz")
        expected = run(clean)
        child = os.fork()
        if child == 0:
            _kill_in_the_third(patch, note, state)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    workspace = files_in(state).workspace(batch(), IKDR.record)
    wait_until_free(workspace.lock)
    assert [row.run for row in workspace.records()] == [0, 1]
    assert workspace.run(2).checkpoint.exists()
    return state, expected


def _kill_in_the_third(patch, note, folder):
    append, ended = Workspace.append, []

    def appended(workspace, records):
        append(workspace, records)
        ended.append(records)
        if len(ended) == 2:
            note.unlink()

    patch.setattr(Workspace, "append", appended)
    run(folder)
    os._exit(0)


@pytest.fixture
def state(kept, tmp_path, monkeypatch):
    """A copy of that folder, to be damaged."""
    monkeypatch.setenv("KILLED_NOTE", str(tmp_path))
    shutil.copytree(kept[0], tmp_path / "state", symlinks=True)
    return tmp_path / "state"


@pytest.fixture
def healed(kept, state, capfd):
    """Return what runs the job again: it must give what the undisturbed one gave; returns runs made and sentences."""

    def again():
        capfd.readouterr()
        assert run(state) == kept[1]
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return json.loads(out.splitlines()[-1])["runs_made"], [
            line for line in err.splitlines() if line.startswith("kdrbench: ")
        ]

    return again


@pytest.mark.slow("makes the two jobs that the tests of this module compare")
def test_a_job_that_was_killed_goes_on_with_its_third_run(healed):
    assert healed() == (1, [])
    assert healed() == (0, [])


PLACE = ".workspace/table4_supervised/wine/gaussian/it/0-2"
GARBAGE = bytes(range(256)) * 4


def garbage(path):
    path.write_bytes(GARBAGE)


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def gone(path):
    path.unlink()


def garbage_first(path):
    path.write_bytes(b"{]\n" + path.read_bytes())


def doubled(path):
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + first + second)


def not_utf8(path):
    path.write_bytes(path.read_bytes().replace(b"converged", b"converge\xff", 1))


def other_digit(path):
    """Change one digit of the first row's cost: still a row."""
    text = path.read_text()
    at = text.index('"cost":-') + len('"cost":-')
    path.write_text(f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}")


def flipped(path):
    flip_bit(path, 8 * (path.stat().st_size // 2))


# What is damaged, how, and how many runs are made again; 1 is the run that was killed.
WAYS = [
    ("run-0/trace.jsonl", garbage, 2),
    ("run-0/projection.npy", cut, 2),
    ("run-0/projection.npy", gone, 2),
    ("run-0/evidence.json", garbage, 2),
    ("rows.jsonl", garbage_first, 1),
    ("rows.jsonl", doubled, 1),
    ("rows.jsonl", not_utf8, 2),
    ("rows.jsonl", other_digit, 2),
    ("data", cut, 1),
    ("data", flipped, 1),
    ("run-2/checkpoint.npz", garbage, 1),
]
PLACES = {"data": "data/wine.npz"}


@pytest.mark.attack("state: damaged in a known way")
@pytest.mark.parametrize(("part", "damage", "n_made"), WAYS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_what_is_damaged_is_named_and_made_again(state, healed, part, damage, n_made):
    path = state / PLACES.get(part, f"{PLACE}/{part}")
    damage(path)
    made, sentences = healed()
    assert made == n_made
    assert len(sentences) == 1
    assert str(path if part in PLACES else state / PLACE) in sentences[0]
    assert sentences[0].endswith("made again")
    # What was healed is whole.
    assert healed() == (0, [])


@pytest.mark.whole
@pytest.mark.attack("state: damaged at random")
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
def test_any_damage_to_any_file_heals(state, healed, attack_rng, damage):
    struck = strike(damage, state, attack_rng)
    made, sentences = healed()
    assert 1 <= made <= 3, struck
    assert len(sentences) <= 2, (struck, sentences)
    assert healed() == (0, []), struck
