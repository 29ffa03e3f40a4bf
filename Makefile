# Everything a fresh machine needs is Python 3.11 or newer, make, git and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CORES ?= all
# Users of an activated environment find its programs first; make does the same for its own commands.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: demo test lint types unit lock clean

demo: $(READY)
	snakemake --cores $(CORES) --configfile config.demo.yaml --quiet rules progress
	kdrbench where results/runs.csv reports

test: lint types unit

lint: $(READY)
	ruff check src tests
	ruff format --check src tests
	snakefmt --check Snakefile rules

types: $(READY)
	mypy

unit: $(READY)
	pytest -n 2

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kdrbench needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# One version of each package for every Python; the lock is the only place that names exact versions.
lock:
	uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --fork-strategy fewest --extra workflow --extra dev \
	  --generate-hashes --no-header --no-annotate --output-file requirements.lock

clean:
	rm -rf results reports .snakemake
