# Everything sets itself up: nothing but python3 (3.11 or later) with pip and venv, and make, is needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH ?= --out benchmarks/RESULTS.md --force
# A file of tests, or a page of the documents, stays with one process; conftest.py says which files come first.
# Python would otherwise compile every file anew for every process, where the environment says so.
export PYTHONDONTWRITEBYTECODE :=
PARALLEL := -n auto --dist loadfile --no-loadscope-reorder

.PHONY: help demo serve check test lint docs bench audit reproduce vectors dist clean

help:  ## Show what there is to make
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

demo: $(VENV)/base  ## Run the pipeline on real data and show what it learns
	$(BIN)/localdp demo
	@echo "  . $(BIN)/activate                        # puts localdp on your path"

serve: $(VENV)/collector  ## Show the collector's dashboard with simulated users (Ctrl+C stops it)
	$(BIN)/localdp serve --demo

check: lint  ## Run the linters, the type checker and the tests that take less than five seconds each, without browsers
	$(BIN)/python -m pytest -q $(PARALLEL) -m "not slow" --ignore=tests/js tests src

test: lint $(VENV)/js  ## Run the linters, the type checker and every test: about a quarter of an hour on two processors, with set-up
	$(BIN)/python -m pytest -q $(PARALLEL) --durations=5

lint: $(VENV)/test  ## Check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/docs  ## Build the documentation into docs/_build
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build

bench: $(VENV)/fast  ## Measure us, other libraries and the machine in one run, ten minutes (BENCH=--quick: one)
	$(BIN)/localdp bench --peers benchmarks/.peers $(BENCH)

audit: $(VENV)/test $(VENV)/js  ## Audit privacy: statistics, mutants that must be caught, damaged input that must be refused
	$(BIN)/python audits/run.py

reproduce: $(VENV)/base  ## Run the paper's evaluation (24 trials) into docs/reproduction
	$(BIN)/localdp reproduce --out docs/reproduction

vectors: $(VENV)/base  ## Write the golden vectors anew (they must not change: look at the diff)
	$(BIN)/python vectors/generate.py

dist: $(VENV)/test $(VENV)/js  ## Make what a release consists of, and try it in empty environments
	$(BIN)/python scripts/make_dist.py

clean:  ## Remove the environment and everything built
	rm -rf $(VENV) js/node_modules js/dist benchmarks/.peers docs/_build build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# The extras are those that the demo and the tutorial need.
$(VENV)/base: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "localdp needs Python 3.11 or later; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[files,plots]'
	@touch $@

$(VENV)/collector: $(VENV)/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[collector]'
	@touch $@

$(VENV)/fast: $(VENV)/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fast]'
	@touch $@

$(VENV)/test: $(VENV)/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(VENV)/docs: $(VENV)/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

# The JavaScript client needs Node; without it, its tests are skipped.
$(VENV)/js: js/package.json js/tsconfig.json $(wildcard js/src/*.js js/src/*/*.js) | $(VENV)/base
	@if command -v npm > /dev/null; then \
		cd js && npm install --no-package-lock --no-audit --no-fund --loglevel=error && npm run --silent build && touch ../$@; \
	else \
		echo "Node is not installed, so the tests of the JavaScript client are skipped"; \
	fi
