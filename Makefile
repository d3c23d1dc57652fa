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
RUN := $(BIN)/python -m benchmarks run --cores $(CORES)

.DEFAULT_GOAL := help
.PHONY: help setup lock quick small beyond paper verify test lint docs pdf speed clean

help:  ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The stamp holds the pins it was made from, so the environment is rebuilt only when they change.
STAMP := $(VENV)/pins
setup: $(STAMP)  ## make .venv from the exact pins
$(STAMP): requirements.txt pyproject.toml
	@cmp -s requirements.txt $(STAMP) && touch $(STAMP) || { \
	  echo "Setting up $(VENV) from requirements.txt (about 3 minutes, once) ..." && \
	  { [ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV); } && \
	  $(BIN)/python -m pip install -q --disable-pip-version-check -r requirements.txt 2>&1 | { grep -v 'is ignored' || true; } && \
	  $(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e . && \
	  $(BIN)/python -m pip check && cp requirements.txt $(STAMP); }

lock: $(STAMP)  ## requirements.in -> requirements.txt and environment.yml
	@$(BIN)/python .ci/lock.py

quick: $(STAMP)  ## the whole study, small and real: every model, table and figure in minutes
	@$(RUN) quick

small: $(STAMP)  ## SUPPORT and METABRIC with 10 trials per split: an hour or two on 2 cores
	@$(RUN) small

beyond: $(STAMP)  ## the paper's models and six it left out on six data sets: about an hour on 2 cores
	@$(RUN) beyond

paper: $(STAMP)  ## the full protocol: 100 trials per split, all data sets you have
	@$(RUN) paper

verify: $(STAMP)  ## the reference checked here: its chosen networks fitted again, all its cells made again
	@$(BIN)/python -m benchmarks verify reference --jobs $(CORES)

test: $(STAMP)  ## all tests
	@$(BIN)/python -m pytest -n $(CORES)

lint: $(STAMP)  ## ruff, mypy, snakefmt and snakemake --lint
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
	@$(BIN)/snakefmt --check Snakefile workflow && $(BIN)/snakemake --lint

docs: $(STAMP)  ## the library's documentation, examples executed: docs/_build/html/index.html
	@MPLBACKEND=Agg $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html && echo docs/_build/html/index.html

pdf: $(STAMP)  ## the paper's tables from the published numbers as a PDF (needs LaTeX)
	@$(BIN)/python -m benchmarks tables --published --out results/pdf --pdf

speed: $(STAMP)  ## time us against our peers (ratios)
	@$(BIN)/python -m benchmarks.speed all --quick

clean:  ## remove the environment and generated caches, never results
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build docs/_build docs/gallery *.egg-info
