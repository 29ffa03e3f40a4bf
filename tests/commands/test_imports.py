"""Which heavy packages commands load: a job pays for each again."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from kdrbench.suite.cli import main
from support.made_up_results import two_experiments, write_results

HEAVY = ("autograd", "joblib", "jsonschema", "matplotlib", "pandas", "plotly", "pymanopt", "sklearn", "snakemake")
HEAVY += ("scipy", "scipy.optimize", "scipy.stats")
# Problems and the geometry of projections are computed with it, and definitions are next to them.
ALGEBRA = {"scipy"}
CODE = """
import sys
from kdrbench.suite.cli import main
main(sys.argv[1].split("|"), standalone_mode=False)
print("loaded", *({heavy!r} & set(sys.modules)))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imports") / "results"
    write_results(folder, two_experiments(), ["first", "second"])
    return folder


def loaded_by(*words):
    code = CODE.format(heavy=set(HEAVY))
    program = [sys.executable, "-c", code, "|".join(map(str, words))]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_help_loads_nothing():
    assert loaded_by("--help") == set()


@pytest.mark.slow("each command in a process of its own")
@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["merge", "{}/config.json", "first", "--results", "{}", "--out", "{}/again.csv"], {*ALGEBRA, "jsonschema"}),
        (["reports", "first", "--results", "{}", "--out", "{}/reports"], {*ALGEBRA, "jsonschema", "pandas"}),
        (["status", "{}"], {*ALGEBRA, "jsonschema", "pandas"}),
        (
            ["reports", "figures/first_cost_against_time", "first", "--results", "{}", "--out", "{}/reports"],
            {*ALGEBRA, "jsonschema", "pandas", "matplotlib"},
        ),
    ],
)
def test_commands_load_only_what_they_use(results, words, allowed):
    assert loaded_by(*(word.format(results) for word in words)) <= allowed


def test_a_failing_report_is_named_and_the_others_are_made(results, tmp_path):
    done = CliRunner().invoke(
        main, ["reports", "figures/nothing", "paired_tests", "--results", str(results), "--out", str(tmp_path)]
    )
    assert done.exit_code == 2
    assert "kdrbench: figures/nothing: unknown report 'figures/nothing'" in done.stderr
    assert done.stderr.endswith("kdrbench: not made: figures/nothing\n")
    assert (tmp_path / "paired_tests.html").is_file()
