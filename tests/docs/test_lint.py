"""The linter of the pages finds planted faults, and lets sound pages pass."""

import importlib.util

import pytest

from support.checkout import ROOT

README = ROOT / "README.md"


@pytest.fixture(scope="module")
def lint():
    spec = importlib.util.spec_from_file_location("lint_of_docs", ROOT / "docs" / "lint.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Planning the demo takes seconds.
    module.n_runs_of_demo = lambda: "64"
    return module


LONG = "A" + 30 * " word"
FAULTS = {
    "It is so\nmany.": (1, "private word 'so\\nmany'"),
    f"Short one. {LONG}.": (1, "31 words in a sentence"),
    f"- An item.\n\n- {LONG}": (3, "31 words in a sentence"),
    "See\n[this](nowhere.md#part).": (2, "there is no nowhere.md to link to"),
    "Give\n\n```console\n$ kdrbench lsit kernels\n```\n": (4, "there is no command kdrbench lsit"),
    "Give `kdrbench pack x --put y`.": (1, "kdrbench pack has no --put"),
    "Give `make demmo`.": (1, "there is no target make demmo"),
    "    $ snakemake --cores 2 --quiet rules -- table44": (1, "Snakemake has no target table44"),
    "See `src/kdrbench/nowhere.py`.": (1, "there is no file src/kdrbench/nowhere.py"),
    "The demo has 7 runs in all.": (1, "64 runs, not 7"),
    "# Out\n\n| data | as printed |\n|---|---|\n| Wine | -1.5 |\n": (5, "typed result"),
}


def test_planted_faults_are_found_in_their_lines(lint):
    for text, (line, message) in FAULTS.items():
        ((found_line, found),) = lint.of_page(README, text)
        assert found_line == line, text
        assert message in found, text


def test_a_sound_page_passes(lint):
    text = f"""# Heading

The demo has 64 runs, by Eq. 5 and [a link](CONTRIBUTING.md#part). The
second has `{LONG}` and $f(x). g$!

| a table. | {LONG} |
|---|---|

    {LONG}

```console
$ kdrbench list kernels
$ make test
$ snakemake --cores 2 --configfile config.demo.yaml
```

`make bench` prints this, as printed:

| data | cost |
|---|---|
| Wine | -1.5 |
"""
    assert list(lint.of_page(README, text)) == []


def test_faults_of_the_project_are_found(lint, tmp_path, monkeypatch):
    for folder in ("docs", ".github/workflows"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "Makefile").write_text("test:\n")
    (tmp_path / ".github/workflows/ci.yml").write_text(
        "jobs:\n  one:\n    steps:\n      - uses: other/action@v1\n      - run: make test && make tset && .ci/nothing\n"
    )
    for lock in ("requirements.lock", "requirements-dev.lock"):
        (tmp_path / lock).write_text("numpy==1.0 \\\n    --hash=sha256:0\nwinpty==1 ; sys_platform == 'win32' \\\n")
    (tmp_path / "docs/dependencies.md").write_text("| `make demo` | 2 | 1 |\n| `make test` | 3 | 1 |\n")
    (tmp_path / "docs/index.md").write_text("results\ndependencies\n")
    (tmp_path / "docs/lost.md").write_text("")
    (tmp_path / "docs/results.md").write_text("## Columns\n\n`*_s`, `cost`\n")
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    found = [f"{path.name}:{line}: {message}" for path, line, message in (*lint.contents(), *lint.workflows())]
    found += [f"{path.name}: {message}" for path, _, message in lint.packages()]
    assert "results.md:1: column quality" in found
    assert not {"results.md:1: column cost", "results.md:1: column time_s"} & set(found)
    assert [one for one in found if "column" not in one] == [
        "lost.md:1: add it to a toctree of docs/index.md",
        "ci.yml:1: action other/action@v1",
        "ci.yml:1: there is no target make tset",
        "ci.yml:1: .ci/nothing",
        "dependencies.md: `make test` installs 2 packages",
    ]
