# Everything a fresh machine needs is Python 3.11 or newer, make, git and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CORES ?= all
# Users of an activated environment find its programs first; make does the same for its own commands.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: demo test lint types unit picture rulegraph bench lock clean

demo: $(READY)
	snakemake --cores $(CORES) --configfile config.demo.yaml --quiet rules
	kdrbench where results/runs.csv reports

test: lint types unit

lint: $(READY)
	ruff check src tests benchmarks docs .ci
	ruff format --check src tests benchmarks docs .ci
	snakefmt --check Snakefile rules

types: $(READY)
	mypy

unit: $(READY)
	OMP_NUM_THREADS=1 pytest -n 2 --dist loadscope

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kdrbench needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# The picture in the README.
picture: demo
	cp reports/figures/demo_supervised_cost_against_time.png docs/cost_against_time.png

# The picture of the rules in docs/experiments.md.
rulegraph: $(READY)
	snakemake --rulegraph --configfile config.demo.yaml > docs/rulegraph.dot
	python docs/draw_rulegraph.py < docs/rulegraph.dot > docs/rulegraph.svg
	rm docs/rulegraph.dot

# What the workflow adds to the work; where plain ISM fails; what the safeguards cost; fair rivals; how evaluators scale;
# bandwidths; LMNN; projections of low-rank kernels; the targets of large problems. Data come from KDRBENCH_MIRROR.
bench: $(READY)
	python benchmarks/overhead.py
	OMP_NUM_THREADS=1 python benchmarks/robustness.py
	OMP_NUM_THREADS=1 python benchmarks/ism_cells.py
	OMP_NUM_THREADS=1 python benchmarks/rivals.py
	OMP_NUM_THREADS=1 python benchmarks/evaluators.py
	OMP_NUM_THREADS=1 python benchmarks/bandwidth.py
	OMP_NUM_THREADS=1 python benchmarks/lmnn.py
	OMP_NUM_THREADS=1 python benchmarks/low_rank.py
	python benchmarks/at_the_limit.py

# One version of each package for every Python; the lock is the only place that names exact versions.
lock:
	uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --fork-strategy fewest --extra workflow --extra cluster --extra compiled --extra docs --extra dev \
	  --generate-hashes --no-header --no-annotate --output-file requirements.lock

clean:
	rm -rf results reports .snakemake
