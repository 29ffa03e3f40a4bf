"""A record that is packed half made goes on where it is unpacked: the other half is run, and nothing again."""

import re
import subprocess
import sys

import pytest
import yaml

from support.command_line import kdrbench
from support.made_up_results import two_experiments, write_results
from support.small_grid import ROOT


@pytest.mark.whole
def test_an_unpacked_record_lacks_the_other_half_alone(tmp_path):
    config = two_experiments()
    write_results(tmp_path / "results", config, ["first"])
    assert kdrbench("pack", tmp_path / "results", "--out", tmp_path / "packed").exit_code == 0
    assert kdrbench("unpack", tmp_path / "packed", "--out", tmp_path / "on/results").exit_code == 0
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump(config))
    words = ["--snakefile", ROOT / "Snakefile", "--configfile", tmp_path / "overlay.yaml", "--until", "merge"]
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", "--directory", tmp_path / "on", *map(str, words)],
        capture_output=True,
        text=True,
        check=True,
    )
    made = re.findall(r"^\s+output: (results/runs/\S+?\.jsonl)", done.stdout, re.M)
    assert made == ["results/runs/second/wine/gaussian/ism/0-3.jsonl"], done.stdout
