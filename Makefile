# Everything a fresh machine needs is Python 3.11 or newer, make, git and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What users of the workflow need, and with that what developers do.
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
CORES ?= all
# Users of an activated environment find its programs first; make does the same for its own commands.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Hundreds of processes read the bytecode that the first one writes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo papers test contract contract-speed develop develop-oldest lint types unit attack whole test-marked test-pythons soak docs record-pages test-oldest test-processors
.PHONY: picture pictures metadata bench lock lock-oldest clean

demo: $(READY)
	@# Runs come before reports, which then keep all cores at work to the end.
	snakemake --cores $(CORES) --configfile config.demo.yaml --quiet rules --prioritize merge
	kdrbench status results/demo

# All reports of the record of the papers that is packed in results/reference, without data: docs/reference.md.
papers: $(READY)
	kdrbench report results/reference --jobs 2

# Lints and types take a core each, tests all of them.
test: $(READY_DEV)
	@$(MAKE) --no-print-directory -j2 --output-sync lint types
	@$(MAKE) --no-print-directory unit

lint: $(READY_DEV)
	ruff check src tests benchmarks docs envs .ci
	ruff format --check src tests benchmarks docs envs .ci
	snakefmt --check Snakefile rules
	python docs/lint.py

types: $(READY_DEV)
	mypy

# Small runs of every component beside their stored results (docs/measuring.md); LIST=1 lists what none of them executes.
contract: $(READY_DEV)
	PYTHONPATH=tests python -m contract $(if $(UPDATE),--update) $(if $(LIST),--list)

# Their CPU seconds beside those at the merge base with main, or at the commit BASE, in turn.
contract-speed: $(READY_DEV)
	PYTHONPATH=tests python -m contract.speed $(if $(BASE),--base $(BASE))

# Daily tests, within a budget of CPU seconds (tests/support/budget.py).
WORKERS := $(shell nproc)
unit: $(READY_DEV)
	OMP_NUM_THREADS=1 pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder

# What is too long for every day, or needs more than the locks install: nightly, and before a release.
whole: test-marked attack test-pythons test-oldest test-processors docs

# Tests marked `whole` or `needs(...)`; a list at the end says what was skipped and why. WHOLE has options of pytest.
WHOLE ?=
test-marked: $(READY_DEV)
	OMP_NUM_THREADS=1 pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder -m whole $(WHOLE)

# Everything that tries to break kdrbench, with new random seeds; prints how often each was tried and held.
ATTACK_ROUNDS ?= 5
ATTACK_SEED ?= $(shell od -An -N3 -tu4 /dev/urandom)
attack: $(READY_DEV)
	OMP_NUM_THREADS=1 pytest -n $(WORKERS) --dist loadscope -m attack --attack-rounds $(ATTACK_ROUNDS) --attack-seed $(ATTACK_SEED)

# The daily tests with every further Python that is here.
PYTHONS ?= python3.12 python3.13 python3.14
test-pythons: $(READY_DEV)
	@for python in $(PYTHONS); do \
	  if ! command -v $$python > /dev/null; then echo "skipped: $$python is not installed"; continue; fi; \
	  $$python -m venv --clear --without-pip .venv-$$python && $$python envs/install.py .venv-$$python envs/requirements-dev.lock --editable . && \
	  OMP_NUM_THREADS=1 .venv-$$python/bin/python -m pytest -n $(WORKERS) --dist loadscope || exit 1; \
	done

# 20,000 tiny runs, something killed every 30 s for half an hour.
soak: $(READY_DEV)
	python benchmarks/soak.py

# The pages, and the examples in them, which are run. A page, link or formula that does not come out is an error.
docs: $(READY_DEV)
	rm -rf docs/_build docs/gallery docs/_reports
	kdrbench report results/reference --jobs 2 --out docs/_reports/record/reports
	sphinx-build -q -W --keep-going -n -b html docs docs/_build/html
	@echo "docs: docs/_build/html/index.html"

# The documentation's pages on what was found, from the packed record.
record-pages: $(READY)
	kdrbench summary results/reference --reports reports --out docs/record

# What Zenodo and indexes of software read, made from CITATION.cff, which is validated first: part of a release.
CFFCONVERT := $(BIN)/uvx --from cffconvert==2.0.0 cffconvert
metadata: $(READY)
	mkdir -p dist
	$(CFFCONVERT) --validate
	$(CFFCONVERT) --format codemeta --outfile dist/codemeta.json
	$(CFFCONVERT) --format zenodo --outfile dist/zenodo.json

# The library's tests with the oldest versions of everything that pyproject.toml allows.
OLDEST := .venv-oldest
test-oldest: $(READY_DEV) $(OLDEST)/.ready
	rm -rf $(OLDEST)/wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir $(OLDEST)/wheel .
	$(BIN)/uv pip install --quiet --python $(OLDEST)/bin/python --no-deps --reinstall $(OLDEST)/wheel/*.whl
	OMP_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n 2 --dist loadscope $(addprefix tests/,$(LIBRARY))
LIBRARY := kernels problems lowrank evaluation solvers paradigms metric_learning estimators baselines

# The library's tests with the rounding of other processors, by OpenBLAS's names of those that this one can stand for,
# and machine code of numba for any; PROCESSORS_TESTS names other tests.
PROCESSORS_TESTS ?= $(addprefix tests/,$(LIBRARY))
able = $(shell grep -qw $(1) /proc/cpuinfo && echo $(2))
PROCESSORS ?= $(call able,sse4_2,Nehalem) $(call able,avx2,Haswell) $(call able,avx512vl,SkylakeX) $(call able,amx_bf16,SapphireRapids)
test-processors: $(READY_DEV)
	@for type in $(PROCESSORS); do echo "as a $$type"; \
	  OPENBLAS_CORETYPE=$$type NUMBA_CPU_NAME=generic OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
	    pytest -n 2 -p no:cacheprovider $(PROCESSORS_TESTS) || exit 1; done

# Numba, tools and what builds the pages: everything but what graphics processors need.
develop: $(READY_DEV)

# The environment of `make test-oldest`, which may be made beside the other one: make -j2 develop develop-oldest
develop-oldest: $(OLDEST)/.ready

$(OLDEST)/.ready: envs/requirements-oldest.lock
	$(PYTHON) -m venv --clear --without-pip $(OLDEST)
	$(PYTHON) envs/install.py $(OLDEST) envs/requirements-oldest.lock
	@touch $@

$(READY): envs/requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kdrbench needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12")'
	$(PYTHON) -m venv --clear --without-pip $(VENV)
	$(PYTHON) envs/install.py $(VENV) envs/requirements.lock --editable .
	@touch $@

$(READY_DEV): $(READY) envs/requirements-dev.lock
	$(PYTHON) envs/install.py $(VENV) envs/requirements-dev.lock
	@touch $@

# The pictures in the README and in docs/metric_learning.md; the second needs data that are not bundled.
picture: demo
	cp reports/demo/figures/demo_supervised_cost_against_time.png docs/cost_against_time.png
	snakemake --cores $(CORES) --quiet rules -- kpca_figure5
	cp reports/figures/kpca_figure5.png docs/kpca_trick_two_tricks.png

# Those of the tutorials, which docs/systems.md shows too, with what the tutorials print; and that of docs/quick_start.md.
pictures: docs
	python docs/draw_pictures.py --fill
	cp docs/gallery/images/sphx_glr_plot_5_loadings_001.png docs/pictures/loadings.png

# Every measured table of the pages; data come from KDRBENCH_MIRROR.
bench: $(READY_DEV)
	OMP_NUM_THREADS=1 python benchmarks/accuracies.py
	OMP_NUM_THREADS=1 python benchmarks/robustness.py
	OMP_NUM_THREADS=1 python benchmarks/rivals.py
	OMP_NUM_THREADS=1 python benchmarks/estimators.py LMNN NCA DNE KPCATrick: InterpretableKDR:
	OMP_NUM_THREADS=1 python benchmarks/estimators.py --limit 60 size:
	OMP_NUM_THREADS=1 python benchmarks/printed_accuracies.py
	OMP_NUM_THREADS=1 python benchmarks/low_rank.py
	python benchmarks/at_the_limit.py
	python benchmarks/graphics_processor.py
	python benchmarks/larger_than_memory.py

# One version of each package for every Python. The locks alone name exact versions: requirements.lock holds what users of
# the workflow need, requirements-dev.lock that and all else; versions are chosen for the larger one.
LOCKING := uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
lock:
	$(LOCKING) --fork-strategy fewest --group build --extra dev --output-file envs/requirements-dev.lock
	$(LOCKING) --fork-strategy fewest --group build --extra cluster --constraints envs/requirements-dev.lock --output-file envs/requirements.lock

# The oldest versions allowed of what is named, with hashes; the newest of what these bring along.
lock-oldest:
	$(LOCKING) --resolution lowest-direct --extra test --output-file envs/requirements-oldest.lock

# The packed record of the papers stays.
clean:
	find results -mindepth 1 -maxdepth 1 ! -name reference -exec rm -rf {} + 2> /dev/null || true
	rm -rf reports .snakemake docs/_build docs/gallery
