# The front doors. Each does all the set-up it needs: Python 3.11, make and a package registry are enough.
# A package that cannot be installed stops the set-up, also where its output is filtered.
SHELL := bash
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3.11
CORES ?= $(shell nproc 2>/dev/null || echo 2)
VENV := .venv
BIN := $(VENV)/bin
# Two processes of one thread each beat one process of two: every numerical library is pinned to a single thread.
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export NUMBA_NUM_THREADS ?= 1
export TORCH
RUN := $(BIN)/python -m benchmarks run --cores $(CORES)

.DEFAULT_GOAL := help
.PHONY: FORCE help setup lock numbers quick small beyond paper verify test test-slow lint docs site pdf dist evidence speed clean

help:  ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# What a run needs; tests, checks and docs need more. Either is set up again only when its pins change.
STAMP := $(VENV)/pins-run
DEV := $(VENV)/pins-dev
setup: $(DEV)  ## make .venv from the exact pins, every wheel's hash checked (TORCH=cuda: torch with CUDA)
$(VENV)/pins-%: requirements.txt requirements-dev.txt requirements-torch-cpu.txt requirements-torch-cuda.txt pyproject.toml $(if $(TORCH),FORCE)
	@PYTHON=$(PYTHON) .ci/setup $*

lock: $(DEV)  ## requirements.in -> requirements*.txt and environment.yml
	@$(BIN)/python .ci/lock.py

quick: $(STAMP)  ## the whole study, small and real: every model, table and figure in minutes
	@$(RUN) quick

small: $(STAMP)  ## SUPPORT and METABRIC with 10 trials per split: 15 to 30 minutes on 2 cores
	@$(RUN) small

beyond: $(STAMP)  ## the paper's models and six it left out on six data sets: 30 to 60 minutes on 2 cores
	@$(RUN) beyond

paper: $(STAMP)  ## the full protocol: 100 trials per split, all data sets you have
	@$(RUN) paper

verify: $(STAMP)  ## the reference checked here: its chosen networks fitted again, all its cells made again
	@$(BIN)/python -m benchmarks verify reference --jobs $(CORES)

test: $(DEV)  ## the tests, every oracle among them: about ten minutes on 2 cores
	@$(BIN)/python -m pytest -n $(CORES) -m "not slow"

test-slow: $(DEV)  ## what is slow by nature: whole runs, kills, other processors, browsers, packages (SLOW=tests/report)
	@$(BIN)/python -m pytest -n $(CORES) -m slow $(SLOW)

lint: $(DEV)  ## ruff, mypy, snakefmt, snakemake --lint, and the numbers of README and docs
	@$(BIN)/python .ci/write_numbers.py --check && $(BIN)/python .ci/metadata.py --check
	@$(BIN)/python .ci/write_config.py --check
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
	@$(BIN)/snakefmt --check Snakefile workflow && $(BIN)/snakemake --lint

docs: $(DEV)  ## the library's documentation, examples executed: docs/_build/html/index.html
	@MPLBACKEND=Agg $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html && echo docs/_build/html/index.html

site: docs  ## one static site of all pages and the documentation: _site/index.html
	@$(BIN)/python .ci/write_site.py

pdf: $(STAMP)  ## the paper's tables as two PDFs, from the published numbers and from ours (needs LaTeX)
	@$(BIN)/python -m benchmarks report --published --out results/pdf/published --pdf
	@$(BIN)/python -m benchmarks report reference tables --out results/pdf/reference --pdf

numbers: $(DEV)  ## numbers of README and docs/findings.rst from results/, and CITATION, codemeta, zenodo from pyproject
	@$(BIN)/python .ci/write_numbers.py && $(BIN)/python .ci/metadata.py
	@$(BIN)/python .ci/write_config.py
	@$(BIN)/python .ci/write_pages.py

dist: $(DEV)  ## the wheel and source archive of soden, the same bytes every time
	@$(BIN)/python .ci/dist.py

evidence: $(DEV)  ## what an artifact committee asks for, by others' validators (FULL=1: a dry install, a bare Debian)
	@$(BIN)/python .ci/evidence.py $(if $(FULL),--full)

speed: $(DEV)  ## time us against our peers (ratios)
	@$(BIN)/python -m benchmarks.speed all --quick

clean:  ## remove the environment and generated caches, never results
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build _site docs/_build docs/gallery *.egg-info
