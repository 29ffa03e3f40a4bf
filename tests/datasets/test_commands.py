"""`kdrbench data`: what it prints and how it ends; what the registry says of sets."""

import dataclasses

import pytest

from kdrbench.datasets import load_registry
from kdrbench.datasets.registry import facts_of
from support.command_line import kdrbench
from support.serving import whole

REGISTRY = load_registry()


@pytest.fixture
def run(monkeypatch, tmp_path, no_mirror):
    """Run a command with an empty cache and no mirror."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return lambda *words: kdrbench("data", *words)


def mirror_with(folder, entry, content=b""):
    for file in entry.files:
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).write_bytes(content)
    return folder


def test_list_says_of_every_set_where_it_is(run, tmp_path):
    mirror = mirror_with(tmp_path / "mirror", REGISTRY["iris"])
    mirror_with(tmp_path / "cache" / "kdrbench", REGISTRY["glass"])
    done = run("list", "--mirror", mirror)
    assert done.exit_code == 0
    head, *lines = done.output.splitlines()
    assert head.split() == ["name", "n", "d", "classes", "where", "licence"]
    rows = {line.split()[0]: line.split(maxsplit=4) for line in lines}
    assert list(rows) == list(REGISTRY)
    assert rows["iris"][1:] == ["150", "4", "3", "mirror       CC BY 4.0"]
    assert rows["glass"][4].startswith("cached")
    assert rows["wine"][4].startswith("bundled")
    assert rows["moons"][4].startswith("generated")
    assert rows["mnist"][4].startswith("to download")
    assert rows["flower"][3] == "-"
    assert rows["gyrb"][2:4] == ["kernel", "3"]
    assert rows["gyrb"][4].startswith("to supply")


def test_verify_reads_what_is_here_and_says_what_is_wrong(run, tmp_path):
    done = run("verify", "wine", "gyrb-standin")
    assert (done.exit_code, done.stdout) == (0, "wine: verified\ngyrb-standin: verified\n")
    done = run("verify")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [f"{name}: verified" for name, entry in REGISTRY.items() if entry.bundled]
    mirror = mirror_with(tmp_path / "mirror", REGISTRY["iris"], b"damaged")
    done = run("verify", "iris", "wine", "--mirror", mirror)
    assert done.exit_code == 2
    assert done.stdout == "wine: verified\n"
    assert done.stderr.startswith("kdrbench: data set 'iris' could not be fetched; tried: ")
    assert "SHA-256 is" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "http" not in done.stderr.split("Set data.mirror")[0]
    done = run("verify", "wine", "wines")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("kdrbench: unknown data set 'wines'. Did you mean 'wine'? ")


def test_fetch_puts_verified_files_into_the_cache(run, tmp_path, server, tiny, monkeypatch):
    registry = {"tiny": tiny, "gyrb": REGISTRY["gyrb"]}
    for module in ("datasets.load", "suite.commands.data"):
        monkeypatch.setattr(f"kdrbench.{module}.load_registry", lambda: registry)
    server.answers["/canonical/data.csv"] = [whole]
    assert run("list").stdout.splitlines()[1].split()[4:6] == ["to", "download"]
    done = run("fetch")
    assert (done.exit_code, done.stdout) == (0, "tiny: verified\n")
    assert (tmp_path / "cache" / "kdrbench" / "tiny" / "data.csv").is_file()
    assert run("list").stdout.splitlines()[1].split()[4] == "cached"
    server.answers.clear()
    assert run("verify", "tiny").stdout == "tiny: verified\n"


def test_facts_say_what_is_special_and_no_more():
    facts = {name: {fact.name: fact.text for fact in facts_of(entry)} for name, entry in REGISTRY.items()}
    always = {"How it was collected", "Biases", "Missing values", "Scaling", "Personal information"}
    for name, entry in REGISTRY.items():
        assert always <= set(facts[name])
        assert facts[name]["Citation"] == entry.citation
        # How a generated set came about follows from its being generated.
        assert bool(entry.collection) != entry.generated, name
    assert facts["cancer"]["Size"] == "683 samples, 9 features"
    assert facts["cancer"]["Classes"] == "2: benign 444, malignant 239"
    (source,) = [fact for fact in facts_of(REGISTRY["cancer"]) if fact.name == "Source"]
    assert REGISTRY["cancer"].files[0].sha256 in source.text
    assert REGISTRY["cancer"].files[0].urls[0] in source.links
    assert facts["face"]["Labelling 'pose'"] == "4: left 157, right 155, straight 156, up 156"
    assert facts["flower"]["Classes"] == "none: the samples have no labels"
    assert facts["gyrb"]["Size"] == "a kernel matrix of 52 samples"
    assert facts["iris"]["Biases"] == "None are recorded here."
    bare = dataclasses.replace(REGISTRY["wine"], notes="", differences="")
    assert not {"Notes", "Differences from the papers"} & {fact.name for fact in facts_of(bare)}
